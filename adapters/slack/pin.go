package slack

import (
	"context"
	"errors"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
)

// Pin implements chat.Pinner with pins.add and pins.remove, which need the scope
// pins:write (docs, methods "pins.add" and "pins.remove").
func (a *Adapter) Pin(ctx context.Context, ref chat.Ref, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	to := api.NewRefToMessage(ref.Place.Conversation, ref.Message)
	var err error
	if on {
		err = a.web.AddPinContext(ctx, ref.Place.Conversation, to)
	} else {
		err = a.web.RemovePinContext(ctx, ref.Place.Conversation, to)
	}
	if e, ok := errors.AsType[api.SlackErrorResponse](err); ok {
		switch e.Err {
		case "already_pinned", "no_pin":
			return nil // it is as wanted
		case "not_pinnable", "permission_denied":
			return &chat.Error{Kind: chat.Gone, Code: e.Err, Fix: "let the bot pin messages in that channel"}
		}
	}
	return a.classify(err, setting)
}
