package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/view"
)

const (
	// boardEvery is how often status cards are drawn again for what time alone has
	// changed.
	boardEvery = 10 * time.Minute
	// leaveTime bounds saying goodbye on the status cards of one connection.
	leaveTime = 2 * time.Second
)

// statusBoard is what a status card says now. Where its binding is gone the card
// says that it is kept up to date no more.
func statusBoard(r *kernel.Reader, it *inbox.Item, zone *time.Location) (cards.Board, error) {
	b := cards.Board{Now: r.Now(), Zone: zone, Off: it.Off}
	var goals []string
	if v := r.Binding(it.Binding); v != nil {
		b.Lang, goals = v.Language, v.Goals
	} else if it.Goal != "" {
		goals = []string{it.Goal}
	}
	for _, id := range goals {
		g := r.Goal(id)
		if g == nil {
			continue
		}
		b.Goals = append(b.Goals, view.FiveOf(r, g))
		b.Lang = cmp.Or(b.Lang, g.Language)
	}
	b.Lang = cmp.Or(b.Lang, "en")
	return b, r.Err()
}

// status draws a status card into a draft. What the card says when is no change by
// itself, so an unchanged one is not written again.
func (o *outbox) status(r *kernel.Reader, it *inbox.Item, d *draft) ([]byte, error) {
	b, err := statusBoard(r, it, o.zone)
	if err != nil {
		return nil, err
	}
	card := cards.Status(b, true)
	d.out.Card, d.out.Text, d.out.Silent = &card, chat.PlainText(card), true
	return json.Marshal(cards.Status(b, false))
}

// refreshBoards lets the status cards of all connections say again how things are;
// first also owes the pins that were refused before.
func refreshBoards(ctx context.Context, e *engine, first bool) error {
	for _, c := range e.conns {
		var list []*inbox.Item
		err := e.k.Read(ctx, func(r *kernel.Reader) (err error) { list, err = inbox.StatusItems(r, c.name); return err })
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		err = e.k.Store().Update(ctx, func(tx store.Tx) error {
			in := inbox.Over(tx)
			r, err := e.k.ReaderOf(tx)
			if err != nil {
				return err
			}
			for _, it := range list {
				if first {
					err = inbox.ShowStatus(in, r, it.Binding) // at once: it may still say that nobody is here
				} else {
					err = inbox.RefreshStatus(in, it.Binding)
				}
				if err != nil {
					return err
				}
			}
			if !first {
				return nil
			}
			return inbox.RetryPins(in, r, c.name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leave lets status cards say since when nobody keeps them up to date. It runs
// after the outboxes ended; what cannot be written in time stays as it is.
func leave(ctx context.Context, e *engine) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range e.conns {
		if c.adapter.Health().State == chat.Contested {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, leaveTime)
			defer cancel()
			if err := goodbye(ctx, c.outbox); err != nil {
				e.log.Info("a status card does not say that nobody keeps it up to date", "connection", c.name, "err", err)
			}
		})
	}
}

// goodbye writes it on the cards of one connection.
func goodbye(ctx context.Context, o *outbox) error {
	type last struct {
		ref chat.Ref
		out chat.Outgoing
		id  string
	}
	var list []last
	err := o.k.Read(ctx, func(r *kernel.Reader) error {
		items, err := inbox.StatusItems(r, o.name)
		if err != nil {
			return err
		}
		for _, it := range items {
			b, err := statusBoard(r, it, o.zone)
			if err != nil {
				return err
			}
			b.Away = o.now().UnixMilli()
			card := cards.Status(b, true)
			list = append(list, last{chat.Ref{Place: it.Place, Message: it.Message}, chat.Outgoing{Key: it.Key, Place: it.Place, Card: &card, Text: chat.PlainText(card), Silent: true}, it.ID})
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return err
	}
	// First that it has to be drawn anew: a crash in between costs one edit.
	err = o.k.Store().Update(ctx, func(tx store.Tx) error {
		for _, g := range list {
			if err := inbox.Leave(inbox.Over(tx), g.id); err != nil {
				return err
			}
		}
		return nil
	})
	for _, g := range list {
		if err == nil && o.secret(g.out) == "" {
			err = o.adapter.Update(ctx, g.ref, g.out)
		}
	}
	return err
}

// pins sets and takes off the pins that are due and returns when to look again, 0
// for never. A pin that is refused leaves the card where it is; the connection's
// health says what is missing.
func (o *outbox) pins(ctx context.Context) time.Duration {
	pinner, ok := o.adapter.(chat.Pinner)
	if !ok || !o.adapter.Caps().Pin {
		return 0
	}
	var owed []inbox.PinOwed
	if err := o.k.Store().View(ctx, func(tx store.ReadTx) (err error) { owed, err = inbox.PinsOwed(tx, o.name); return err }); err != nil {
		o.log.Warn("outbox cannot read its pins", "err", err)
		return time.Second
	}
	again := time.Duration(0)
	for _, p := range owed {
		if ctx.Err() != nil {
			return 0
		}
		if wait := time.UnixMilli(p.Due).Sub(o.now()); wait > 0 {
			if again == 0 || wait < again {
				again = wait
			}
			continue
		}
		if err := pinOne(ctx, o, pinner, p); err != nil {
			o.log.Warn("outbox cannot record a pin", "item", p.Item, "err", err)
			return time.Second
		}
		again = time.Millisecond // look what is left
	}
	return again
}

func pinOne(ctx context.Context, o *outbox, pinner chat.Pinner, p inbox.PinOwed) error {
	err := pinner.Pin(ctx, chat.Ref{Place: p.Place, Message: p.Message}, p.On)
	ctx = context.WithoutCancel(ctx)
	why := ""
	switch kind := chat.KindOf(err); {
	case err == nil:
		if p.On {
			o.unpinned.Store(nil)
		}
	case kind == chat.Auth || kind == chat.Gone || kind == chat.Invalid:
		why = string(kind)
		if e, ok := errors.AsType[*chat.Error](err); ok {
			why = cmp.Or(e.Fix, e.Code, why)
		}
		if p.On {
			o.unpinned.Store(&why)
		}
		o.log.Info("a status card stays unpinned", "item", p.Item, "err", err)
	default:
		return o.k.Store().Update(ctx, func(tx store.Tx) error { return inbox.PinLater(inbox.Over(tx), p) })
	}
	return o.k.Store().Update(ctx, func(tx store.Tx) error { return inbox.PinSettled(inbox.Over(tx), p, why) })
}

// missing says what keeps a status card from being pinned; empty for nothing.
func missing(o *outbox) string {
	if why := o.unpinned.Load(); why != nil {
		return "; the status card is not pinned: " + *why
	}
	return ""
}

// sooner is the earlier of two waits of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if list := slices.DeleteFunc([]time.Duration{a, b}, func(d time.Duration) bool { return d == 0 }); len(list) > 0 {
		return slices.Min(list)
	}
	return 0
}
