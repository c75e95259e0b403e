package discord

import (
	"context"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
)

// pinFix mends a refused pin. Discord split Pin Messages off Manage Messages
// (docs, "Permissions": PIN_MESSAGES is 1 << 51).
const pinFix = "let the bot pin messages in the channel (Pin Messages, in the channel's permissions)"

// Pin implements chat.Pinner (docs, "Pin Message": PUT
// /channels/{channel.id}/messages/pins/{message.id}). It needs the permission Pin
// Messages; pinning twice changes nothing.
func (a *Adapter) Pin(ctx context.Context, ref chat.Ref, on bool) error {
	target, verb, err := toggled(ref, on)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	err = a.rest.do(ctx, call{verb: verb, path: "channels/" + target + "/messages/pins/" + ref.Message, route: "pins", major: target, what: setting}, nil)
	switch codeOf(err) {
	case dg.ErrCodeMissingPermissions:
		return &chat.Error{Kind: chat.Gone, Code: "50013", Fix: pinFix}
	case dg.ErrCodeMaximumPinsReached:
		return &chat.Error{Kind: chat.Gone, Code: "30003", Fix: "unpin something in the channel: it holds no more pins"}
	}
	return err
}
