package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	api "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"loopx/adapters/chat"
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
	if a.cfg.SigningSecret.Empty() {
		r := newRunner(a, sink)
		r.lanes = lane.New(func(it item) { r.accept(ctx, it) }, item.size)
		err = r.loop(ctx)
		r.lanes.Stop()
		r.side.Wait()
		a.client.Store(nil)
	} else {
		err = runWebhook(ctx, a, sink)
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

// runner is one Run.
type runner struct {
	*Adapter
	sink  chat.Sink
	lanes *lane.Lanes[item]
	side  *lane.Side // forms, notices: never in the way of events
	crowd int        // hellos in a row that counted other connections
	past  *past
}

func newRunner(a *Adapter, sink chat.Sink) *runner {
	r := &runner{Adapter: a, sink: sink, side: lane.NewSide()}
	r.past = &past{r: r}
	return r
}

// loop connects again and again; it returns on a failure that no retry lifts.
func (r *runner) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		err := r.hello(ctx)
		if err == nil {
			err = r.connect(ctx)
		}
		if chat.KindOf(err) == chat.Auth {
			return err
		}
	}
	return nil
}

// hello finds out who we are before the first event must be judged.
func (r *runner) hello(ctx context.Context) error {
	if _, err := r.identify(ctx); err != nil {
		r.lost(err)
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Kind == chat.RateLimited {
			r.pace.Hold(e.After)
		}
		if chat.KindOf(err) != chat.Auth {
			_ = r.pace.Wait(ctx) // ctx is looked at by the loop
		}
		return err
	}
	return nil
}

// identify returns who we are, asked once.
func (a *Adapter) identify(ctx context.Context) (identity, error) {
	a.idMu.Lock()
	defer a.idMu.Unlock()
	if a.id.user != "" {
		return a.id, nil
	}
	id, err := whoAmI(ctx, a)
	if err == nil {
		a.id = id
	}
	return id, err
}

// Tenant implements chat.Homed: the workspace that auth.test names. An
// organisation's members come from several workspaces, so there it is not known.
func (a *Adapter) Tenant() string {
	a.idMu.Lock()
	defer a.idMu.Unlock()
	if a.id.enterprise != "" {
		return ""
	}
	return a.id.team
}

// whoAmI asks Slack.
func whoAmI(ctx context.Context, a *Adapter) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	who, err := a.web.AuthTestContext(ctx)
	if err != nil {
		return identity{}, a.classify(err, reading)
	}
	return identity{connection: a.cfg.Name, team: who.TeamID, enterprise: who.EnterpriseID, user: who.UserID, bot: who.BotID}, nil
}

// forget makes the next identify ask again: the token may be another app's.
func (a *Adapter) forget() {
	a.idMu.Lock()
	defer a.idMu.Unlock()
	a.id = identity{}
}

// lost notes a failed try to connect.
func (r *runner) lost(err error) {
	r.past.away()
	if r.health.State() != chat.Contested {
		r.health.Set(chat.Retrying, err.Error(), fixOf(err))
	}
	r.counts.Add("connect:failed")
	r.cfg.Logger.Warn("not connected to Slack", "error", err)
}

// connect runs one socketmode client until it cannot go on. The client
// reconnects by itself after a drop or a disconnect frame, without a pause; the
// pause is made in the doer, where every new connection begins (B08).
func (r *runner) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	smc := socketmode.New(r.web,
		socketmode.OptionDialer(r.http.Dialer),
		socketmode.OptionPingInterval(r.cfg.Timing.Ping),
		socketmode.OptionReadLimit(maxBody),
		socketmode.OptionLog(slog.NewLogLogger(r.cfg.Logger.Handler(), slog.LevelDebug)))
	r.client.Store(smc)
	done := make(chan error, 1)
	r.side.Go(func() { done <- smc.RunContext(ctx) })

	// The one reader. It never blocks: unread events would stop the client's own
	// reader, then its ping watchdog, then its reconnecting.
	var (
		recheck <-chan time.Time
		fatal   error
	)
	for {
		select {
		case ev := <-smc.Events:
			switch ev.Type {
			case socketmode.EventTypeConnected:
				r.pace.Opened()
			case socketmode.EventTypeHello:
				for _, c := range r.past.conversations() { // ahead of all that this connection brings
					if !r.lanes.Put(c, item{past: c}) {
						r.counts.Add("refused:full")
					}
				}
				recheck = r.greeted(ev.Request)
			case socketmode.EventTypeConnecting:
				if c, ok := ev.Data.(*api.ConnectingEvent); ok && c.ConnectionCount > 0 {
					r.lost(&chat.Error{Kind: chat.Temporary, Code: "disconnected"})
				}
			case socketmode.EventTypeConnectionError:
				if e, ok := ev.Data.(*api.ConnectionErrorEvent); ok {
					err := r.classify(e.ErrorObj, reading)
					r.lost(err)
					if ce, ok := errors.AsType[*chat.Error](err); ok && ce.Kind == chat.RateLimited {
						r.pace.Hold(ce.After)
					}
					if chat.KindOf(err) == chat.Auth {
						fatal = err
					}
				}
				cancel() // its own pause grows to five minutes; ours is bounded
			default:
				r.take(ctx, ev)
			}
		case <-recheck:
			recheck = nil
			cancel() // a new hello counts again
		case err := <-done:
			if fatal != nil {
				r.forget()
				return fatal
			}
			if err == nil || errors.Is(err, context.Canceled) {
				return nil
			}
			err = r.classify(err, reading)
			if chat.KindOf(err) == chat.Auth {
				r.forget()
			} else {
				r.lost(err)
			}
			return err
		}
	}
}

// greeted looks at how many connections Slack counts. More than ours may be a
// left-over of our own, so it is asked once more; the second time in a row
// somebody else holds this app too.
func (r *runner) greeted(req *socketmode.Request) <-chan time.Time {
	n := 1
	if req != nil {
		n = req.NumConnections
	}
	if n <= 1 {
		r.crowd = 0
		r.health.Set(chat.Ready, "", "")
		r.cfg.Logger.Info("connected to Slack")
		return nil
	}
	r.crowd++
	detail := fmt.Sprintf("Slack counts %d connections of this app; events go to only one of them", n)
	if r.crowd == 1 {
		r.health.Set(chat.Ready, detail, "")
		return time.After(r.cfg.Timing.Recheck)
	}
	r.counts.Add("contested")
	r.health.Set(chat.Contested, detail, "stop the other process that uses this app-level token, or make a new token")
	r.cfg.Logger.Error("this Slack app is in use elsewhere", "connections", n)
	return time.After(10 * r.cfg.Timing.Recheck) // and see whether the other has gone
}

// take sorts one event of the client.
func (r *runner) take(ctx context.Context, ev socketmode.Event) {
	var f frame
	switch ev.Type {
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		if ev.Request == nil {
			return
		}
		f = frame{
			Type: ev.Request.Type, Envelope: ev.Request.EnvelopeID, Payload: ev.Request.Payload,
			Attempt: ev.Request.RetryAttempt, Accepts: ev.Request.AcceptsResponsePayload,
		}
	case socketmode.EventTypeErrorBadMessage:
		// What the client library cannot read, our own decoder may; and nobody
		// else would acknowledge it.
		bad, ok := ev.Data.(*socketmode.ErrorBadMessage)
		if !ok || json.Unmarshal(bad.Message, &f) != nil || f.Envelope == "" {
			r.counts.Add("frame:unreadable")
			return
		}
	default:
		r.counts.Add("client:" + lane.Word(string(ev.Type)))
		return
	}
	r.health.Event()
	r.counts.Add("envelope:" + lane.Word(f.Type))
	r.idMu.Lock()
	id := r.id
	r.idMu.Unlock()
	d, err := decode(f, id)
	switch {
	case err != nil:
		// Acknowledged, or Slack would send it again three times and may switch
		// the subscription off; counted, so that it is seen.
		r.counts.Add("undecodable:" + lane.Word(f.Type))
		r.cfg.Logger.Warn("an envelope could not be read", "type", lane.Word(f.Type), "error", r.http.clean.Error(err))
		r.ackLater(f)
	case d.ignored != "":
		r.counts.Add("ignored:" + d.ignored)
		r.ackLater(f)
	case d.form != nil:
		r.ackLater(f)
		r.aside(func() { r.openForm(ctx, d.form) })
	default:
		if !r.lanes.Put(d.event.Place.Conversation, item{frame: f, d: d}) {
			r.counts.Add("refused:full")
		}
	}
}

// ackLater acknowledges without holding the reader up.
func (r *runner) ackLater(f frame) {
	f.Payload = nil
	if !r.lanes.Put(ackLane, item{frame: f}) {
		r.counts.Add("refused:full")
	}
}

// item is one envelope on its way to the sink.
type item struct {
	frame frame
	d     decoded
	past  string // a conversation whose past is to be read instead
}

func (i item) size() int { return len(i.frame.Payload) + 512 }

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
		r.ack(it.frame, nil)
		return
	}
	ok, payload, after := r.settle(ctx, it)
	if !ok {
		return
	}
	r.ack(it.frame, payload)
	after()
}

// settle gives one event to the sink. ok says that it is stored and may be
// acknowledged, with a payload where there is one; after says the rest, once
// that was done.
func (r *runner) settle(ctx context.Context, it item) (ok bool, payload any, after func()) {
	none := func() {}
	actx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Accept)
	defer cancel()
	e := *it.d.event
	if err := r.complete(actx, &e); err != nil {
		r.counts.Add("unacked:sender")
		r.cfg.Logger.Warn("a sender could not be looked up; Slack will deliver again", "error", err)
		return false, nil, none
	}
	answer, err := r.sink.Accept(actx, e)
	if err != nil {
		r.counts.Add("unacked:refused")
		r.cfg.Logger.Warn("an event was not stored; Slack will deliver again", "kind", string(e.Kind), "error", r.http.clean.Error(err))
		return false, nil, none
	}
	r.note(e)
	if it.frame.Type == "slash_commands" && it.frame.Accepts && answer.Notice != "" && len(answer.Notice) < 8<<10 {
		payload = map[string]string{"response_type": "ephemeral", "text": escape(chat.Visible(answer.Notice))}
		answer.Notice = ""
	}
	if answer.Notice == "" && answer.Reply == "" {
		return true, payload, none
	}
	return true, payload, func() {
		r.aside(func() { r.answer(context.WithoutCancel(ctx), e, answer) })
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
		if _, err := r.Send(ctx, chat.Outgoing{Key: replyKey(e), Place: e.Place, Text: answer.Reply}); err != nil {
			r.counts.Add("reply:failed")
			r.cfg.Logger.Warn("a reply was not sent", "error", err)
		}
	}
}

// ack acknowledges on the connection there is now. One made for an older
// connection does nothing there; Slack delivers again and the sink knows it.
func (r *runner) ack(f frame, payload any) {
	smc := r.client.Load()
	if smc == nil || f.Envelope == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := smc.AckCtx(ctx, f.Envelope, payload); err != nil {
		r.counts.Add("ack:failed")
	}
}
