package lark

import (
	"context"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"loopx/adapters/chat"
)

// Pin implements chat.Pinner (documentation "Pin message": POST and DELETE
// /open-apis/im/v1/pins). Any one of im:message, im:message.pins:write_only and
// im:message:send_as_bot suffices; a message that is pinned already stays so.
func (a *Adapter) Pin(ctx context.Context, ref chat.Ref, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	return a.rest.call(ctx, setting, func(ctx context.Context, token larkcore.RequestOptionFunc) error {
		if !on {
			_, err := a.rest.im.Pin.Delete(ctx, larkim.NewDeletePinReqBuilder().MessageId(ref.Message).Build(), token)
			return err
		}
		body := larkim.NewCreatePinReqBodyBuilder().MessageId(ref.Message).Build()
		_, err := a.rest.im.Pin.Create(ctx, larkim.NewCreatePinReqBuilder().Body(body).Build(), token)
		return err
	})
}
