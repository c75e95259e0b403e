package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/attention"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/boundary"
	"loopx/kernel/store"
	"loopx/kernel/store/failpoint"
)

// outbox writes what one connection owes: one item at a time, the newest state
// each time, never the same twice.
type outbox struct {
	k       *kernel.Kernel
	name    string // of the connection
	adapter chat.Adapter
	zone    *time.Location
	now     func() time.Time
	attend  *attend
	log     *slog.Logger
	lineup  *lineup
	signs   *signs // nil where there are no reactions
	// scan finds what must not leave the machine; nil for the page, which is part
	// of it.
	scan *boundary.Scanner
	// unpinned is why the last status card could not be pinned.
	unpinned atomic.Pointer[string]
	home     string // the state folder, where files lie
}

// run works until ctx ends. wake receives after commits.
func (o *outbox) run(ctx context.Context, wake <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	if o.signs != nil {
		var beside sync.WaitGroup
		defer beside.Wait()
		beside.Go(func() { o.signs.run(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-wake:
			if !ok {
				return
			}
		case <-timer.C:
		}
		next := o.drain(ctx)
		timer.Reset(next)
	}
}

// contestedWait is how often a contested connection is looked at again.
const contestedWait = 5 * time.Second

// idle is how long an outbox with nothing to do waits for a wake-up it missed.
const idle = 30 * time.Second

// drain writes all that is due and returns when to look again. A contested
// connection sends nothing until the owner has chosen who holds it.
func (o *outbox) drain(ctx context.Context) time.Duration {
	if o.adapter.Health().State == chat.Contested {
		return contestedWait
	}
	for ctx.Err() == nil {
		var queue []*inbox.Item
		var wall int64
		err := o.k.Store().View(ctx, func(tx store.ReadTx) (err error) {
			wall = tx.Now()
			queue, err = inbox.Owed(tx, o.name, queueMost)
			return err
		})
		if err != nil {
			o.log.Warn("outbox cannot read its queue", "err", err)
			return time.Second
		}
		batch, again := o.lineup.next(queue, wall, o.now())
		if len(batch) == 0 {
			if again = sooner(again, o.pins(ctx)); again == 0 {
				return idle
			}
			return min(again, idle)
		}
		for _, it := range batch {
			if ctx.Err() != nil {
				return idle
			}
			ok, err := o.write(ctx, it.ID)
			if err != nil {
				o.log.Warn("outbox cannot record a write", "item", it.ID, "err", err)
				return time.Second
			}
			if !ok {
				break // what is behind it may have to wait
			}
		}
	}
	return idle
}

// draft is what is to be written for an item right now.
type draft struct {
	out   chat.Outgoing
	want  uint64
	drawn string
	// mark is the sign for the message whose progress this shows.
	mark *mark
	// first press of a person this card tells of the gate
	gate *kernel.Gate
}

// write brings one item up to date outside; ok says that it did. An error means
// that the outcome could not be recorded; the platform's failures are recorded
// as such.
func (o *outbox) write(ctx context.Context, id string) (ok bool, err error) {
	it, look, d, err := o.begin(ctx, id)
	if err != nil || it == nil {
		return true, err
	}
	if what := o.secret(d.out); what != "" {
		return true, o.blocked(ctx, it, what)
	}
	failpoint.Hit(failpoint.OutboxStarted)
	o.lineup.spent(it.Place, o.now())
	ref, err := o.put(ctx, it, look, d)
	failpoint.Hit(failpoint.OutboxWritten)
	// From here on the outcome is recorded even while stopping.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		o.log.Info("write failed", "item", id, "kind", chat.KindOf(err), "err", err)
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Kind == chat.RateLimited {
			o.lineup.wait(o.now(), max(e.After, 250*time.Millisecond))
		}
		if done, bad := unsent(ctx, o, it, err); done || bad != nil {
			return false, bad
		}
		return false, o.failed(ctx, id, err)
	}
	o.signs.want(d.mark)
	return true, o.k.Store().Update(ctx, func(tx store.Tx) error {
		first, err := inbox.Over(tx).Wrote(id, ref.Message, d.drawn, d.want)
		if err == nil && first {
			err = o.attend.told(tx, id)
		}
		if err != nil || !first || d.gate == nil || d.gate.Notified || d.gate.Status != kernel.GateOpen {
			return err
		}
		// The person has been told; a tick need not ask the host to tell again.
		_, err = o.k.DoTx(tx, &kernel.NotifyGate{Goal: d.gate.Goal, Gate: d.gate.ID}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: o.name}})
		if e, ok := errors.AsType[*kernel.Error](err); ok && e.Class == kernel.Conflict {
			return nil
		}
		return err
	})
}

// begin draws an item and, when nothing of it is outside yet, records that a
// write starts. It returns no item when there is nothing to write.
func (o *outbox) begin(ctx context.Context, id string) (it *inbox.Item, look bool, d *draft, err error) {
	err = o.k.Store().View(ctx, func(tx store.ReadTx) (err error) {
		if it, err = inbox.Load(tx, id); err != nil || it == nil || it.Message == "" {
			return err
		}
		d, err = o.draw(tx, it)
		return err
	})
	switch {
	case err != nil || it == nil:
		return nil, false, nil, err
	case it.Message == "":
		err = o.k.Store().Update(ctx, func(tx store.Tx) (err error) {
			if err = errors.Join(o.split(tx, id), fitFile(o, tx, id)); err != nil {
				return err
			}
			if it, err = inbox.Load(tx, id); err != nil || it == nil {
				return err
			}
			if held, err := o.attend.hold(tx, it); held || err != nil {
				it = nil
				return err
			}
			if it, look, err = inbox.Over(tx).Start(id); err != nil || it == nil {
				return err
			}
			d, err = o.draw(tx, it)
			return err
		})
		return it, look, d, err
	case it.Due == 0 || it.State == inbox.Dead:
		return nil, false, nil, nil
	case d.drawn != it.Drawn:
		return it, false, d, nil
	}
	// Nothing of it would look different: record that, write nothing.
	err = o.k.Store().Update(ctx, func(tx store.Tx) error {
		_, err := inbox.Over(tx).Wrote(id, it.Message, it.Drawn, d.want)
		return err
	})
	return nil, false, nil, err
}

func (o *outbox) failed(ctx context.Context, id string, err error) error {
	var after time.Duration
	why := string(chat.KindOf(err))
	if e, ok := errors.AsType[*chat.Error](err); ok {
		after = e.After
		if e.Code != "" {
			why += ": " + e.Code
		}
	}
	kind := chat.KindOf(err)
	return o.k.Store().Update(ctx, func(tx store.Tx) error {
		in := inbox.Over(tx)
		if kind == chat.Gone {
			if err := o.refused(tx, id); err != nil {
				return err
			}
		}
		if kind == chat.Gone || kind == chat.Invalid {
			if again, err := in.Replace(id, why); again || err != nil {
				return err
			}
		}
		return in.Failed(id, kind, after, why)
	})
}

// put sends or updates. When an earlier send may already be outside it looks
// first: nothing is ever sent blindly a second time.
func (o *outbox) put(ctx context.Context, it *inbox.Item, look bool, d *draft) (chat.Ref, error) {
	ref := chat.Ref{Place: it.Place, Message: it.Message}
	if look {
		if !o.adapter.Caps().Find && (it.Kind == inbox.Text || it.Kind == inbox.FileItem) {
			return ref, &chat.Error{Kind: chat.Invalid, Code: "cannot_look_up"}
		}
		if o.adapter.Caps().Find {
			// Clocks of two machines differ: begin a little earlier.
			found, ok, err := o.adapter.Find(ctx, it.Place, it.Key, time.UnixMilli(it.First).Add(-2*time.Minute))
			if err != nil {
				if chat.KindOf(err) == chat.Invalid {
					return ref, err
				}
				// Still unknown: keep looking rather than send again.
				e := &chat.Error{Kind: chat.UnknownOutcome, Code: "lookup_failed", Err: err}
				return ref, e
			}
			if ok {
				ref = found
			}
		}
	}
	if ref.Message == "" {
		return o.adapter.Send(ctx, d.out)
	}
	if it.Kind == inbox.Text || it.Kind == inbox.FileItem {
		return ref, nil
	}
	return ref, o.adapter.Update(ctx, ref, d.out)
}

// draw renders the newest state of an item.
func (o *outbox) draw(tx store.ReadTx, it *inbox.Item) (*draft, error) {
	d := &draft{want: it.Want, out: chat.Outgoing{Key: it.Key, Place: it.Place, Text: it.Text, Mention: it.Mention}}
	if it.Kind == inbox.GateCard {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		g := r.Gate(it.Goal, it.Gate)
		if err := r.Err(); err != nil {
			return nil, err
		}
		if g == nil {
			return d, nil
		}
		card := gateCard(r, it, g, o.zone)
		if err := r.Err(); err != nil {
			return nil, err
		}
		d.gate, d.out.Card, d.out.Text = g, &card, chat.PlainText(card)
		d.out.Silent = it.Person != "" && it.Message == "" && it.Level <= int(attention.Digest)
	}
	if it.Kind == inbox.Line {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		if d.out.Text, err = lineText(r, it, o.zone); err != nil {
			return nil, err
		}
		d.out.Silent = true
	}
	if it.Kind == inbox.Digest {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		if d.out.Text, err = o.attend.digest(r, it.Person); err != nil {
			return nil, err
		}
	}
	if it.Kind == inbox.PlanCard {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		card, err := planCard(r, it, o.zone)
		if err != nil {
			return nil, err
		}
		d.out.Card, d.out.Text = &card, chat.PlainText(card)
	}
	if it.Kind == inbox.FileItem && it.File != nil {
		d.out.File = outFile(o, it.File)
	}
	if it.Kind == inbox.Away {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		card, err := awayCard(r, it, o.zone)
		if err != nil {
			return nil, err
		}
		d.out.Card, d.out.Text = &card, chat.PlainText(card)
	}
	var same []byte // what has to differ for another writing; nil: all of it
	if it.Kind == inbox.Status {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return nil, err
		}
		if same, err = o.status(r, it, d); err != nil {
			return nil, err
		}
	}
	if it.Kind == inbox.Progress {
		card, sign, err := o.progress(tx, it)
		if err != nil || card == nil {
			return d, err
		}
		d.out.Card, d.out.Text, d.out.Silent, d.mark = card, chat.PlainText(*card), true, sign
	}
	if it.Again > 0 && d.out.Card != nil {
		d.out.Card.Facts = append(d.out.Card.Facts, cards.Replaces(d.out.Card.Lang))
		d.out.Text, d.out.Silent = chat.PlainText(*d.out.Card), true
	}
	b, err := same, error(nil)
	if b == nil {
		if b, err = json.Marshal([]any{d.out.Card, d.out.Text, d.out.File}); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(b)
	d.drawn = hex.EncodeToString(sum[:16])
	return d, nil
}
