package lark

import (
	"context"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"loopx/adapters/chat"
)

// emojiOf is how a sign looks on Lark (docs, "Emoji types").
func emojiOf(s chat.Sign) string {
	switch s {
	case chat.SignSeen:
		return "Get"
	case chat.SignWorking:
		return "OnIt"
	case chat.SignDone:
		return "DONE"
	case chat.SignFailed:
		return "CrossMark"
	}
	return ""
}

// Mark implements chat.Marker. Lark takes the same reaction twice and removes one
// by its id, so it is looked first what is there.
func (a *Adapter) Mark(ctx context.Context, ref chat.Ref, sign chat.Sign, on bool) error {
	emoji := emojiOf(sign)
	if emoji == "" {
		return chat.NoSign()
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	own, err := ownReactions(ctx, a.rest, ref.Message, emoji)
	switch {
	case err != nil:
		return err
	case on && len(own) > 0:
		return nil // it is as wanted
	case on:
		return addReaction(ctx, a.rest, ref.Message, emoji)
	}
	for _, id := range own {
		if err := removeReaction(ctx, a.rest, ref.Message, id); err != nil {
			return err
		}
	}
	return nil
}

// ownReactions lists the ids of this app's reactions of a kind on a message.
func ownReactions(ctx context.Context, r *rest, message, emoji string) ([]string, error) {
	req := larkim.NewListMessageReactionReqBuilder().MessageId(message).ReactionType(emoji).PageSize(50).Build()
	var out []string
	err := r.call(ctx, reading, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		resp, err := r.im.MessageReaction.List(ctx, req, token)
		if err != nil {
			return err
		}
		if resp.Data == nil {
			return errNoData
		}
		out = nil
		for _, x := range resp.Data.Items {
			if x == nil || x.Operator == nil || x.ReactionType == nil || str(x.ReactionType.EmojiType) != emoji {
				continue
			}
			if str(x.Operator.OperatorType) == "app" && str(x.Operator.OperatorId) == r.cfg.AppID {
				out = append(out, str(x.ReactionId))
			}
		}
		return nil
	})
	return out, err
}

func addReaction(ctx context.Context, r *rest, message, emoji string) error {
	body := larkim.NewCreateMessageReactionReqBodyBuilder().ReactionType(larkim.NewEmojiBuilder().EmojiType(emoji).Build()).Build()
	req := larkim.NewCreateMessageReactionReqBuilder().MessageId(message).Body(body).Build()
	return r.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		_, err := r.im.MessageReaction.Create(ctx, req, token)
		return err
	})
}

func removeReaction(ctx context.Context, r *rest, message, id string) error {
	req := larkim.NewDeleteMessageReactionReqBuilder().MessageId(message).ReactionId(id).Build()
	return r.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		_, err := r.im.MessageReaction.Delete(ctx, req, token)
		return err
	})
}
