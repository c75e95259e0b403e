package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"loopx/adapters/chat"
)

// emojiOf is how a sign looks on Discord.
func emojiOf(s chat.Sign) string {
	switch s {
	case chat.SignSeen:
		return "👀"
	case chat.SignWorking:
		return "⏳"
	case chat.SignDone:
		return "✅"
	case chat.SignFailed:
		return "❌"
	}
	return ""
}

// Mark implements chat.Marker. It needs the permission Add Reactions.
func (a *Adapter) Mark(ctx context.Context, ref chat.Ref, sign chat.Sign, on bool) error {
	emoji := emojiOf(sign)
	if emoji == "" {
		return chat.NoSign()
	}
	target, verb, err := toggled(ref, on)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	// All reactions of a channel share one limit (docs, "Rate Limits").
	return a.rest.do(ctx, call{
		verb: verb, path: "channels/" + target + "/messages/" + ref.Message + "/reactions/" + url.PathEscape(emoji) + "/@me",
		route: "reactions", major: target, what: setting,
	}, nil)
}

// toggled is the channel of a message on which something of ours is put or taken
// away, and the verb that does it.
func toggled(ref chat.Ref, on bool) (target, verb string, err error) {
	if target, err = targetOf(ref.Place); err != nil {
		return "", "", err
	}
	if !isID(ref.Message) {
		return "", "", &chat.Error{Kind: chat.Gone, Code: "no_such_message", Err: errors.New("the message's id is none of Discord's")}
	}
	if on {
		return target, http.MethodPut, nil
	}
	return target, http.MethodDelete, nil
}
