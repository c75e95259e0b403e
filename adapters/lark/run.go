package lark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
	"loopx/adapters/lane"
)

// Run keeps the connection until ctx ends. See chat.Adapter.
func (a *Adapter) Run(ctx context.Context, sink chat.Sink) error {
	if !a.running.CompareAndSwap(false, true) {
		return &chat.Error{Kind: chat.Invalid, Code: "already_running", Err: errors.New("this connection runs already")}
	}
	defer a.running.Store(false)
	a.health.Set(chat.Starting, "", "")

	var err error
	if a.cfg.EncryptKey.Empty() {
		r := newRunner(a, sink)
		r.lanes = lane.New(func(it item) { r.accept(ctx, it) }, func(it item) int { return len(it.frame.Payload) + 512 })
		err = r.loop(ctx)
		r.side.Wait()
	} else {
		err = a.runWebhook(ctx, sink)
	}
	if ctx.Err() != nil {
		a.health.Set(chat.Starting, "stopped", "")
		return nil
	}
	a.health.Set(chat.Failed, err.Error(), fixOf(err))
	return err
}

func fixOf(err error) string {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e.Fix
	}
	return ""
}

// item is one event on its way to the sink, with the connection that waits for
// the answer.
type item struct {
	frame larkws.Frame
	d     decoded
	link  *link
	came  time.Time
	past  string // a conversation whose past is to be read instead
}

// runner is one Run.
type runner struct {
	*Adapter
	sink  chat.Sink
	lanes *lane.Lanes[item]
	side  *lane.Side // notices and replies: never in the way of events
	past  *past
}

func newRunner(a *Adapter, sink chat.Sink) *runner {
	r := &runner{Adapter: a, sink: sink, side: lane.NewSide()}
	r.past = &past{r: r}
	return r
}

// loop connects again and again; it returns on a failure that no retry lifts.
// The lanes end with it, while the last connection is still open: an event that
// is being stored can be acknowledged.
func (r *runner) loop(ctx context.Context) error {
	defer r.lanes.Stop()
	for ctx.Err() == nil {
		if r.pace.Wait(ctx) != nil {
			return nil
		}
		err := r.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if chat.KindOf(err) == chat.Auth {
			r.forget()
			return err
		}
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Kind == chat.RateLimited {
			r.pace.Hold(e.After)
		}
		r.past.away()
		r.health.Set(chat.Retrying, err.Error(), fixOf(err))
		r.counts.Add("connect:failed")
		r.cfg.Logger.Warn("not connected to Lark", "error", err)
	}
	return nil
}

// connect holds one connection until it ends; the error is never nil unless ctx
// ended.
func (r *runner) connect(ctx context.Context) error {
	// Who we are must be known before the first event is judged.
	if _, err := r.identify(ctx); err != nil {
		return err
	}
	ep, err := r.rest.discover(ctx)
	if err != nil {
		return err
	}
	l, err := r.rest.dial(ctx, ep)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() { _ = l.ws.Close() }()
	lctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The end of ctx wakes the reader without closing: what is being stored is
	// acknowledged first.
	stop := context.AfterFunc(ctx, func() { _ = l.ws.SetReadDeadline(time.Now()) })
	defer stop()
	wg.Go(func() { l.pings(lctx) })
	r.pace.Opened()
	r.health.Set(chat.Ready, "", "")
	r.cfg.Logger.Info("connected to Lark")
	for _, c := range r.past.conversations() { // ahead of all that this connection brings
		if !r.lanes.Put(c, item{past: c}) {
			r.counts.Add("refused:full")
		}
	}
	err = l.read(ctx, func(f larkws.Frame, payload []byte) { r.take(l, f, payload) })
	if ctx.Err() != nil {
		r.lanes.Stop()
		return nil
	}
	out := &chat.Error{Kind: chat.Temporary, Code: "disconnected"}
	if err != nil {
		out.Err = r.rest.http.clean.Error(err)
	}
	return out
}

// identify returns who we are, asked once.
func (a *Adapter) identify(ctx context.Context) (identity, error) {
	a.idMu.Lock()
	defer a.idMu.Unlock()
	if a.id.bot != "" {
		return a.id, nil
	}
	id, err := a.whoAmI(ctx)
	if err == nil {
		a.id = id
	}
	return id, err
}

// whoAmI asks Lark.
func (a *Adapter) whoAmI(ctx context.Context) (identity, error) {
	var out struct {
		Bot struct {
			OpenID string `json:"open_id"`
		} `json:"bot"`
	}
	if err := a.rest.get(ctx, "/open-apis/bot/v3/info", nil, &out); err != nil {
		return identity{}, err
	}
	if out.Bot.OpenID == "" {
		return identity{}, a.rest.classify(errNoData, reading)
	}
	return identity{connection: a.cfg.Name, app: a.cfg.AppID, bot: out.Bot.OpenID}, nil
}

// forget makes the next identify ask again: the secret may be another app's.
func (a *Adapter) forget() {
	a.idMu.Lock()
	defer a.idMu.Unlock()
	a.id = identity{}
}

// take sorts one event. It never blocks: the reader must see the next pong.
func (r *runner) take(l *link, f larkws.Frame, payload []byte) {
	came := time.Now()
	r.health.Event()
	typ := larkws.MessageType(larkws.Headers(f.Headers).GetString(larkws.HeaderType))
	r.counts.Add("frame:" + lane.Word(string(typ)))
	it := item{frame: f, link: l, came: came}
	if typ != larkws.MessageTypeEvent && typ != larkws.MessageTypeCard {
		r.ackLater(it, "ignored:frame")
		return
	}
	r.idMu.Lock()
	id := r.id
	r.idMu.Unlock()
	var err error
	it.d, err = decode(payload, typ == larkws.MessageTypeCard, id)
	r.learn(it.d)
	switch {
	case err != nil:
		// Acknowledged, or Lark would send it again for seven hours; counted, so
		// that it is seen.
		r.cfg.Logger.Warn("an event could not be read", "error", r.rest.http.clean.Error(err))
		r.ackLater(it, "undecodable")
	case it.d.ignored != "":
		r.ackLater(it, "ignored:"+it.d.ignored)
	default:
		if !r.lanes.Put(it.d.event.Place.Conversation, it) {
			r.counts.Add("refused:full") // not acknowledged: the ladder brings it again
		}
	}
}

// learn keeps what an event says beside its own meaning.
func (r *runner) learn(d decoded) {
	r.chats.learnTenant(d.tenant)
	if d.private != "" {
		r.chats.learnPrivate(d.private, d.with)
	}
	for _, odd := range d.odd {
		r.counts.Add("odd:" + odd)
		if r.once(odd) {
			r.cfg.Logger.Warn("Lark sent something unusual; it was read with care", "what", odd)
		}
	}
	if e := d.event; e != nil && e.Message != nil && e.Place.Thread != "" {
		r.chats.learnRoot(e.Place.Thread, firstOf(e.Message.Root, e.Message.ID))
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ackLater acknowledges what nobody needs, without holding the reader up.
func (r *runner) ackLater(it item, reason string) {
	r.counts.Add(reason)
	it.d.event = nil
	if !r.lanes.Put(ackLane, it) {
		r.counts.Add("refused:full")
	}
}

// ackLane is the lane of what needs nothing but an acknowledgement; no
// conversation has this id.
const ackLane = "\x00ack"

// aside runs something that no event waits for; what finds no place is counted.
func (r *runner) aside(f func()) {
	if !r.side.Go(f) {
		r.counts.Add("refused:aside")
	}
}

// accept gives one event to the sink and acknowledges after it is stored.
func (r *runner) accept(ctx context.Context, it item) {
	if it.past != "" {
		r.past.read(ctx, it.past)
		return
	}
	if it.d.event == nil {
		r.ack(it, 200, emptyFor(it.d))
		return
	}
	code, data, after := r.settle(ctx, it.d)
	r.ack(it, code, data)
	after()
}

// settle gives one event to the sink. The returned answer is to be sent, and
// then after called, whatever became of it. The time begins here, not when the
// event came: in a burst what waited long is stored and acknowledged late, which
// Lark answers with one more delivery, rather than refused until the ladder ends.
func (r *runner) settle(ctx context.Context, d decoded) (code int, data []byte, after func()) {
	actx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Accept)
	defer cancel()
	e := *d.event
	end := func() {}
	if e.Press != nil {
		free := r.busy.begin(e.Press.Message)
		end = func() { time.AfterFunc(r.cfg.Timing.Settle, free) }
	}
	r.complete(actx, &e)
	answer, err := r.sink.Accept(actx, e)
	if err != nil {
		r.counts.Add("unacked:refused")
		r.cfg.Logger.Warn("an event was not stored", "kind", string(e.Kind), "error", r.rest.http.clean.Error(err))
		if e.Press != nil {
			// Presses do not come again, so the person is told at once; an answer
			// that says so is valid, silence shows an error number (B20).
			return http.StatusOK, toast("error", notKept), end
		}
		return http.StatusInternalServerError, nil, end // Lark delivers again
	}
	r.note(e)
	if e.Press != nil {
		data, answer = r.pressAnswer(answer)
	}
	if answer.Notice == "" && answer.Reply == "" {
		return http.StatusOK, data, end
	}
	return http.StatusOK, data, func() {
		end()
		r.aside(func() { r.answer(context.WithoutCancel(ctx), e, answer) })
	}
}

// notKept promises nothing: the store may have been quicker than our patience.
const notKept = "This press could not be confirmed. If the card does not change, press again. 未能确认此次操作；如果卡片没有变化，请再按一次。"

// maxToast keeps a toast to what a phone shows in three seconds; longer notices
// come as a private message.
const maxToast = 150

// pressAnswer is the answer to a press, and what did not fit into it. It is
// always valid: an empty object means no change.
func (r *runner) pressAnswer(answer chat.Answer) ([]byte, chat.Answer) {
	var out callback.CardActionTriggerResponse
	if answer.Notice != "" {
		out.Toast = &callback.Toast{Type: "info", Content: fit.Short(chat.Visible(answer.Notice), maxToast)}
		if out.Toast.Content == chat.Visible(answer.Notice) {
			answer.Notice = ""
		}
	}
	if answer.Card != nil {
		raw, err := render(*answer.Card, "")
		if err == nil {
			out.Card = &callback.Card{Type: "raw", Data: json.RawMessage(raw)}
		} else {
			r.counts.Add("card:refused")
		}
	}
	data, err := encode(out)
	if err != nil {
		data = []byte("{}")
	}
	return data, answer
}

func toast(typ, text string) []byte {
	data, err := encode(callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: typ, Content: fit.Short(text, maxToast)}})
	if err != nil {
		return []byte("{}")
	}
	return data
}

// emptyFor is the answer to what is not given on: somebody who pressed is told
// that the button means nothing any more (B15).
func emptyFor(d decoded) []byte {
	if d.press {
		return toast("info", "This button is not supported any more. 此按钮已不再支持。")
	}
	return nil
}

// ack sends the answer on the connection that asked. Without it Lark delivers
// again, and the sink knows the event.
func (r *runner) ack(it item, code int, data []byte) {
	f, err := answerFrame(it.frame, code, data, time.Since(it.came))
	if err == nil {
		err = it.link.write(f)
	}
	if err != nil {
		r.counts.Add("ack:failed")
	}
}

// complete adds what is nice to know about an event: whether its chat is private
// and, there, the sender's name. It never fails.
func (a *Adapter) complete(ctx context.Context, e *chat.Event) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Look)
	defer cancel()
	if !e.Private && e.Kind != chat.MessageSent {
		e.Private = a.isPrivate(ctx, e.Place.Conversation)
	}
	if e.Press != nil {
		if rec, ok := a.sent.message(e.Press.Message); ok {
			e.Place.Thread = rec.thread
		}
	}
	if e.Private && e.Sender.Kind == chat.Human {
		e.Sender.Name = a.nameOf(ctx, e.Sender.ID)
	}
}

// answer delivers what the acknowledgement could not carry.
func (r *runner) answer(ctx context.Context, e chat.Event, answer chat.Answer) {
	if answer.Notice != "" {
		if err := r.Notice(ctx, e, answer.Notice); err != nil {
			r.counts.Add("notice:failed")
			r.cfg.Logger.Warn("a notice did not reach the person", "error", err)
		}
	}
	if answer.Reply != "" {
		if _, err := r.Send(ctx, chat.Outgoing{Key: eventKey("reply", e), Place: e.Place, Text: answer.Reply}); err != nil {
			r.counts.Add("reply:failed")
			r.cfg.Logger.Warn("a reply was not sent", "error", err)
		}
	}
}

// eventKey names what an event's answer sends.
func eventKey(what string, e chat.Event) string {
	sum := sha256.Sum256([]byte(e.Place.Connection + "\x00" + e.ID))
	return what + "-" + hex.EncodeToString(sum[:16])
}
