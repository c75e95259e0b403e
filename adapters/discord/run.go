package discord

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	dg "github.com/bwmarrin/discordgo"

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
	a.rest.allow()

	in := newIntake(ctx, a, sink)
	r := &runner{Adapter: a, in: in, guilds: map[string]bool{}}
	err := r.loop(ctx)
	in.stop()
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

// runner is one Run. Its fields without a lock belong to the loop's goroutine.
type runner struct {
	*Adapter
	in *intake

	session    session
	decoder    decoder
	identified time.Time       // the last identify
	guilds     map[string]bool // those we know to be in
}

// loop connects again and again; it returns on a failure that no retry lifts.
func (r *runner) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		end := r.connect(ctx)
		if ctx.Err() != nil {
			break
		}
		if end.fatal || chat.KindOf(end.err) == chat.Auth {
			r.self.forget()
			return end.err
		}
		r.lost(end.err)
		if end.over {
			r.session = session{}
		}
		if end.wait {
			t := r.cfg.Timing.Invalid
			_ = lane.Pause(ctx, t/5+rand.N(t-t/5+1)) // ctx is looked at above
		}
	}
	return nil
}

// lost notes a connection that ended or was not made.
func (r *runner) lost(err error) {
	r.health.Set(chat.Retrying, err.Error(), fixOf(err))
	r.counts.Add("connect:lost")
	r.cfg.Logger.Warn("not connected to Discord", "error", err)
	if e, ok := errors.AsType[*chat.Error](err); ok && e.Kind == chat.RateLimited {
		r.pace.Hold(e.After)
	}
}

// connect makes one connection and keeps it as long as it lives.
func (r *runner) connect(ctx context.Context) ending {
	if err := r.pace.Wait(ctx); err != nil {
		return ending{err: err}
	}
	address := r.session.url
	if r.session.id == "" || address == "" {
		var err error
		if address, err = r.gateway(ctx); err != nil {
			return ending{err: err}
		}
	}
	s, every, err := r.dial(ctx, address)
	if err != nil {
		r.session.url = "" // the next try asks for an address; the session is kept
		return ending{err: err}
	}
	return r.listen(ctx, s, every)
}

// gateway asks where to connect and, when the session must be new, waits for its
// place in the budget of identifies: what a process that starts again and again
// burns is gone for a day (K10).
func (r *runner) gateway(ctx context.Context) (string, error) {
	cctx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Call)
	defer cancel()
	var g dg.GatewayBotResponse
	err := r.rest.do(cctx, call{verb: http.MethodGet, path: "gateway/bot", route: "GET gateway/bot"}, &g)
	if err != nil {
		return "", err
	}
	if r.session.id != "" {
		return g.URL, nil
	}
	if pause := identifyPause(g.SessionStartLimit); pause > 0 {
		if g.SessionStartLimit.Remaining <= 0 {
			return "", &chat.Error{Kind: chat.RateLimited, After: pause, Code: "identify_budget", Fix: "find out why the bot starts again and again; Discord lets it connect once more when the day is over"}
		}
		r.health.Set(r.health.State(), "few connections are left for today; the next one waits", "")
		if err := lane.Pause(ctx, pause); err != nil {
			return "", err
		}
	}
	if err := lane.Pause(ctx, time.Until(r.identified.Add(r.cfg.Timing.Identify))); err != nil {
		return "", err
	}
	return g.URL, nil
}

// identifyPause spreads the last fifth of a day's identifies over what is left
// of the day; with none left it is that whole time.
func identifyPause(l dg.SessionInformation) time.Duration {
	reset := time.Duration(l.ResetAfter) * time.Millisecond
	switch {
	case l.Total <= 0 || l.Remaining > l.Total/5:
		return 0
	case l.Remaining <= 0:
		return max(reset, time.Second)
	}
	return reset / time.Duration(l.Remaining)
}

// ready begins a new session.
func (r *runner) ready(ctx context.Context, s *socket, f dg.Event) error {
	var d struct {
		Session string `json:"session_id"`
		URL     string `json:"resume_gateway_url"`
		User    person `json:"user"`
		App     struct {
			ID string `json:"id"`
		} `json:"application"`
		Guilds []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	if err := json.Unmarshal(f.RawData, &d); err != nil || d.Session == "" || d.User.ID == "" || d.App.ID == "" {
		return &chat.Error{Kind: chat.Temporary, Code: "bad_ready", Err: errors.New("the gateway's READY is not complete")}
	}
	r.session = session{id: d.Session, url: d.URL, mark: &mark{}}
	s.mark.Store(r.session.mark)
	r.session.mark.take(f.Sequence)
	r.session.mark.done(f.Sequence)
	r.decoder = newDecoder(r.self.set(d.App.ID, d.User.ID))
	for _, g := range d.Guilds {
		r.guilds[g.ID] = true
	}
	r.up("connected to Discord")
	r.in.catchUp(r.decoder)
	r.in.aside(func() { r.in.register(ctx, d.App.ID) })
	return nil
}

func (r *runner) up(what string) {
	r.pace.Opened()
	r.health.Set(chat.Ready, "", "")
	r.checkRights()
	r.cfg.Logger.Info(what)
}

// dispatch takes one event. An error ends the connection; the event is then not
// marked and comes again after the resume.
func (r *runner) dispatch(ctx context.Context, s *socket, f dg.Event) error {
	if f.Type == "READY" {
		return r.ready(ctx, s, f)
	}
	if r.session.mark == nil {
		r.counts.Add("frame:before_ready")
		return nil
	}
	if f.Type == "RESUMED" {
		r.counts.Add("resumed")
		r.up("resumed with Discord")
	}
	m := r.session.mark
	if !m.take(f.Sequence) {
		r.counts.Add("repeated:resume")
		return nil
	}
	if r.rights.see(f.Type, f.RawData, r.decoder.id.user) {
		r.checkRights()
	}
	d, err := r.decoder.decode(f.Type, f.RawData)
	r.places.learn(d.places...)
	switch {
	case err != nil:
		r.counts.Add("undecodable:" + lane.Word(f.Type))
		r.cfg.Logger.Warn("an event could not be read", "type", lane.Word(f.Type), "error", r.rest.clean.Error(err))
		m.done(f.Sequence)
	case d.form != nil:
		r.health.Event()
		m.done(f.Sequence)
		r.in.aside(func() { r.openForm(context.WithoutCancel(ctx), d.form) })
	case d.guild != "" && !r.news(d):
		r.counts.Add("ignored:guild:known")
		m.done(f.Sequence)
	case d.ignored != "":
		r.counts.Add("ignored:" + d.ignored)
		m.done(f.Sequence)
	default:
		r.health.Event()
		r.counts.Add("event:" + lane.Word(f.Type))
		if !r.in.put(item{d: d, weight: len(f.RawData), seq: f.Sequence, mark: m, at: time.Now()}) {
			m.drop(f.Sequence)
			r.counts.Add("refused:full")
			return &chat.Error{Kind: chat.Temporary, Code: "full", Err: errors.New("more is waiting to be stored than can be held")}
		}
	}
	return nil
}

// news reports whether an event about a guild changes where we are; guilds are
// told again after every start and outage.
func (r *runner) news(d decoded) bool {
	in := d.events[0].Kind == chat.BotAdded
	known := r.guilds[d.guild]
	if in {
		r.guilds[d.guild] = true
	} else {
		delete(r.guilds, d.guild)
	}
	return in != known
}
