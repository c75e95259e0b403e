package slack

import (
	"context"
	"errors"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
)

// emojiOf is how a sign looks on Slack.
func emojiOf(s chat.Sign) string {
	switch s {
	case chat.SignSeen:
		return "eyes"
	case chat.SignWorking:
		return "hourglass_flowing_sand"
	case chat.SignDone:
		return "white_check_mark"
	case chat.SignFailed:
		return "x"
	}
	return ""
}

// Mark implements chat.Marker. It needs the scope reactions:write.
func (a *Adapter) Mark(ctx context.Context, ref chat.Ref, sign chat.Sign, on bool) error {
	name := emojiOf(sign)
	if name == "" {
		return chat.NoSign()
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	to := api.NewRefToMessage(ref.Place.Conversation, ref.Message)
	var err error
	if on {
		err = a.web.AddReactionContext(ctx, name, to)
	} else {
		err = a.web.RemoveReactionContext(ctx, name, to)
	}
	if e, ok := errors.AsType[api.SlackErrorResponse](err); ok && (e.Err == "already_reacted" || e.Err == "no_reaction") {
		return nil // it is as wanted
	}
	return a.classify(err, setting)
}
