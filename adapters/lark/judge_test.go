package lark_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"loopx/adapters/adaptertest"
	sim "loopx/fixtures/sim/lark"
)

// quiet keeps the SDK's words out of the test's output.
type quiet struct{}

func (quiet) Debug(context.Context, ...any) {}
func (quiet) Info(context.Context, ...any)  {}
func (quiet) Warn(context.Context, ...any)  {}
func (quiet) Error(context.Context, ...any) {}

// TestSDKAgrees drives the simulator with the SDK's own long connection and REST
// client, as any bot would use them: connect, message, answer in a topic, press
// with a toast and a new card, patch, an event in parts, a refused handler and
// its repeat, and the way back after a drop.
func TestSDKAgrees(t *testing.T) {
	// The SDK's token cache is one per process, by app id.
	s := newSim(t, sim.Options{AppID: fmt.Sprintf("cli_%016x", time.Now().UnixNano()), Redeliver: []time.Duration{0, 0, 0}})
	cfg := &larkcore.Config{
		BaseUrl: s.URL(), AppId: s.AppID(), AppSecret: s.AppSecret(), HttpClient: httpClient(t), Logger: quiet{},
		EnableTokenCache: true, AppType: larkcore.AppTypeSelfBuilt,
	}
	larkcore.NewLogger(cfg)
	larkcore.NewSerialization(cfg)
	larkcore.NewCache(cfg)
	im := larkim.New(cfg)

	got := make(chan *larkim.P2MessageReceiveV1, 100)
	presses := make(chan *callback.CardActionTriggerEvent, 10)
	var refuse atomic.Int32
	handler := dispatcher.NewEventDispatcher("", "").
		OnP2MessageReceiveV1(func(_ context.Context, e *larkim.P2MessageReceiveV1) error {
			if refuse.Add(-1) >= 0 {
				return errors.New("not now")
			}
			got <- e
			return nil
		}).
		OnP2CardActionTrigger(func(_ context.Context, e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
			presses <- e
			return &callback.CardActionTriggerResponse{
				Toast: &callback.Toast{Type: "success", Content: "done"},
				Card: &callback.Card{Type: "raw", Data: map[string]any{
					"schema": "2.0", "config": map[string]any{"update_multi": true},
					"body": map[string]any{"elements": []any{map[string]any{"tag": "markdown", "content": "decided"}}},
				}},
			}, nil
		})
	handler.InitConfig()
	ready := make(chan struct{}, 10)
	ws := larkws.NewClient(s.AppID(), s.AppSecret(), larkws.WithEventHandler(handler), larkws.WithDomain(s.URL()), larkws.WithLogger(quiet{}),
		larkws.WithHttpClient(httpClient(t)), larkws.WithOnReady(func() { ready <- struct{}{} }), larkws.WithOnReconnected(func() { ready <- struct{}{} }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ws.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the SDK's client did not stop")
		}
	})
	await(t, ready, "ready")
	adaptertest.Eventually(t, s, "a ping", func() bool { return s.Pings() > 0 })

	sent := s.Say("ou_wei", "oc_gen", "<@"+s.BotID()+"> hello")
	e := await(t, got, "the message")
	m := e.Event.Message
	if *m.MessageId != sent.ID || *m.ChatType != "group" || *m.Mentions[0].Id.OpenId != s.BotID() || *m.Content != `{"text":"@_user_1 hello"}` ||
		e.EventV2Base.Header.TenantKey != s.Tenant() || *e.Event.Sender.SenderType != "user" {
		t.Errorf("the SDK read %+v", m)
	}
	acked(t, s, sent)

	card := `{"schema":"2.0","config":{"update_multi":true},"header":{"title":{"tag":"plain_text","content":"Gate"}},"body":{"elements":[{"tag":"button","text":{"tag":"plain_text","content":"Go"},"behaviors":[{"type":"callback","value":{"id":"tok"}}]}]}}`
	reply, err := im.Message.Reply(ctx, larkim.NewReplyMessageReqBuilder().MessageId(sent.ID).
		Body(larkim.NewReplyMessageReqBodyBuilder().MsgType("interactive").Content(card).ReplyInThread(true).Uuid("u1").Build()).Build())
	if err != nil || !reply.Success() || !strings.HasPrefix(*reply.Data.ThreadId, "omt_") {
		t.Fatalf("reply: %v %+v", err, reply)
	}
	press, err := s.PressButton("ou_wei", *reply.Data.MessageId, "Go")
	if err != nil {
		t.Fatal(err)
	}
	p := await(t, presses, "the press")
	if p.Event.Action.Value["id"] != "tok" || p.Event.Context.OpenMessageID != *reply.Data.MessageId || p.Event.Operator.OpenID != "ou_wei" {
		t.Errorf("the SDK read %+v", p.Event)
	}
	acked(t, s, press)
	if shown, _ := s.Message(*reply.Data.MessageId); shown.Shown() != "decided" || s.Toasts("ou_wei")[0].Text != "done" {
		t.Errorf("shown %q, toasts %+v", shown.Shown(), s.Toasts("ou_wei"))
	}
	patch, err := im.Message.Patch(ctx, larkim.NewPatchMessageReqBuilder().MessageId(*reply.Data.MessageId).
		Body(larkim.NewPatchMessageReqBodyBuilder().Content(card).Build()).Build())
	if err != nil || !patch.Success() {
		t.Fatalf("patch: %v %+v", err, patch)
	}
	list, err := im.Message.List(ctx, larkim.NewListMessageReqBuilder().ContainerIdType("thread").ContainerId(*reply.Data.ThreadId).CardMsgContentType("user_card_content").Build())
	if err != nil || !list.Success() || len(list.Data.Items) != 2 || *list.Data.Items[1].Body.Content != card {
		t.Fatalf("list: %v %+v", err, list)
	}
	bad, err := im.Message.Create(ctx, larkim.NewCreateMessageReqBuilder().ReceiveIdType("chat_id").
		Body(larkim.NewCreateMessageReqBodyBuilder().ReceiveId("oc_gen").MsgType("interactive").Content(`{"schema":"2.0","surprise":1}`).Build()).Build())
	if err != nil || bad.Success() || bad.Code != 230099 {
		t.Errorf("an unknown property: %v %+v", err, bad)
	}

	s.Apart(50 * time.Millisecond)
	s.Fragment(3, false, false)
	acked(t, s, s.Say("ou_wei", "oc_gen", "in parts"))
	if e := await(t, got, "the message in parts"); !strings.Contains(*e.Event.Message.Content, "in parts") {
		t.Errorf("the SDK joined %s", *e.Event.Message.Content)
	}
	s.Fragment(1, false, false)
	s.Apart(0)
	refuse.Store(1)
	again := s.Say("ou_wei", "oc_gen", "again")
	await(t, got, "the repeat")
	acked(t, s, again)
	for _, e := range s.Envelopes() {
		if e.ID == again.Envelopes[0] && fmt.Sprint(e.Codes) != "[500 200]" {
			t.Errorf("codes %v", e.Codes)
		}
	}
	s.DropSockets()
	await(t, ready, "the way back")
	acked(t, s, s.Say("ou_wei", "oc_gen", "after the drop"))
	if n := s.Garbage(); n != 0 {
		t.Errorf("%d frames of the SDK were not understood", n)
	}
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("not in time: %s", what)
		panic("unreachable")
	}
}
