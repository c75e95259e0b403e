package bot

import (
	"context"
	"slices"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

const (
	reachEvery = time.Second
	// reachPatience is how long a connection may take to come back before it
	// counts as one that reaches nobody.
	reachPatience = 2 * time.Minute
)

func byDaemon() kernel.Options {
	return kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "bot"}}
}

// watchReach tells the kernel when a connection starts or stops reaching people,
// so that a decision nobody can be told of is said to be one. It writes on changes
// alone.
func (e *engine) watchReach(ctx context.Context) {
	told := map[string]kernel.NoteReach{}
	tick := time.NewTicker(reachEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if first {
			if err := e.forgetReach(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("connections of before", "err", err)
			}
		}
		for _, c := range e.conns {
			note, ok := reachOf(c, e.now())
			if !ok || told[c.name] == note {
				continue
			}
			if _, err := e.k.Do(ctx, &note, byDaemon()); err != nil {
				if ctx.Err() == nil {
					e.log.Warn("a connection's state cannot be kept", "connection", c.name, "err", err)
				}
				continue // tried again with the next look
			}
			told[c.name] = note
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reachOf says whether people can be told on a connection; ok is false while that
// is not known, and for the page.
func reachOf(c *connection, now time.Time) (note kernel.NoteReach, ok bool) {
	if c.platform == chat.Console {
		return note, false
	}
	h := c.adapter.Health()
	note = kernel.NoteReach{Connection: c.name, Platform: string(c.platform), State: kernel.ReachDown, Reason: string(h.State), Fix: h.Fix}
	switch h.State {
	case chat.Ready:
		return kernel.NoteReach{Connection: c.name, Platform: string(c.platform), State: kernel.ReachUp}, true
	case chat.Failed, chat.Contested:
		return note, true
	case chat.Starting, chat.Retrying, chat.Standby:
		return note, h.Since > 0 && now.UnixMilli()-h.Since > reachPatience.Milliseconds()
	}
	return note, false
}

// forgetReach lets go of connections that are configured no more.
func (e *engine) forgetReach(ctx context.Context) error {
	var gone []*kernel.Reach
	err := e.k.Read(ctx, func(r *kernel.Reader) error {
		for _, v := range r.Reaches() {
			if !slices.ContainsFunc(e.conns, func(c *connection) bool { return c.name == v.Connection }) {
				gone = append(gone, v)
			}
		}
		return r.Err()
	})
	for _, v := range gone {
		if err != nil {
			return err
		}
		_, err = e.k.Do(ctx, &kernel.NoteReach{Connection: v.Connection, Platform: v.Platform, State: kernel.ReachGone}, byDaemon())
	}
	return err
}

// refused notes that a person's platform takes no message of ours in their private
// conversation: they are asked elsewhere, or count as nobody who can be reached.
func (o *outbox) refused(tx store.Tx, id string) error {
	it, err := inbox.Load(tx, id)
	if err != nil || it == nil || it.Person == "" || it.Message != "" {
		return err
	}
	r, err := o.k.ReaderOf(tx)
	if err != nil {
		return err
	}
	for _, p := range r.PrincipalsOf(it.Person) {
		if p.Connection == it.Place.Connection && p.Private == it.Place.Conversation {
			if _, err := o.k.DoTx(tx, &kernel.NotePrivate{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User, Refused: true}, byDaemon()); err != nil {
				return err
			}
			return mentionIn(tx, r, it, p)
		}
	}
	return r.Err()
}

// mentionIn asks a person in the conversations of a gate's goal on their platform
// to open a private one. Nothing of what is asked stands there.
func mentionIn(tx store.Tx, r *kernel.Reader, it *inbox.Item, p *kernel.Principal) error {
	g := r.Gate(it.Goal, it.Gate)
	if it.Kind != inbox.GateCard || g == nil || g.Status != kernel.GateOpen {
		return r.Err()
	}
	for _, s := range lines(r, g, map[string]bool{p.Connection: true}) {
		text := cards.Beckon(languageOf(r, it.Person), g.Code)
		who := chat.User{Tenant: p.Tenant, ID: p.User, Kind: chat.Human, Name: p.Name}
		if err := inbox.AddMention(inbox.Over(tx), "beckon/"+g.ID+"/"+p.User+"/"+s.Place.Conversation, s.Place, who, text); err != nil {
			return err
		}
	}
	return r.Err()
}

// writable notes that a person wrote privately, so that they can be written to.
func (s *sink) writable(tx store.Tx, r *kernel.Reader, e chat.Event, known bool) error {
	if !known || !e.Private || e.History || s.local != nil || e.Kind != chat.MessageSent && e.Kind != chat.CommandSent {
		return nil
	}
	p := r.Principal(string(s.platform), e.Place.Connection, e.Sender.Tenant, e.Sender.ID)
	if p == nil || !p.Refused || p.Private != e.Place.Conversation {
		return r.Err()
	}
	_, err := s.k.DoTx(tx, &kernel.NotePrivate{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User}, byDaemon())
	return err
}
