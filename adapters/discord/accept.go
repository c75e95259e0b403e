package discord

import (
	"context"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// item is one dispatch on its way to the sink, or a conversation whose history
// is to be read.
type item struct {
	d      decoded
	weight int
	seq    int64
	mark   *mark
	at     time.Time // of arrival: Discord's three seconds run from here
	catch  string    // conversation to read instead
	reader decoder   // with catch
}

func (i item) size() int { return i.weight + 512 }

// intake is where events go in one Run: into lanes, to the sink, and back as an
// answer.
type intake struct {
	*Adapter
	sink   chat.Sink
	cancel context.CancelFunc
	lanes  *lane.Lanes[item]
	side   *lane.Side // forms, notices: never in the way of events
}

func newIntake(ctx context.Context, a *Adapter, sink chat.Sink) *intake {
	in := &intake{Adapter: a, sink: sink, side: lane.NewSide()}
	// What waits to be stored must not outlive a Run that ends with a failure.
	ctx, in.cancel = context.WithCancel(ctx)
	in.lanes = lane.New(func(it item) { in.run(ctx, it) }, item.size)
	return in
}

// stop returns when nothing of this Run is at work any more.
func (in *intake) stop() {
	in.cancel()
	in.lanes.Stop()
	in.side.Wait()
}

// aside runs something that no event waits for; what finds no place is counted.
func (in *intake) aside(f func()) {
	if !in.side.Go(f) {
		in.counts.Add("refused:aside")
	}
}

// put queues by conversation. Presses have a lane of their own: what is slow to
// be stored must not cost a person his three seconds.
func (in *intake) put(it item) bool {
	key := it.catch
	if len(it.d.events) > 0 {
		key = firstOf(it.d.events[0].Place.Thread, it.d.events[0].Place.Conversation)
	}
	if it.d.inter != nil {
		key += "/press"
	}
	return in.lanes.Put(key, it)
}

// run is the work of one lane's item.
func (in *intake) run(ctx context.Context, it item) {
	switch {
	case it.catch != "":
		in.readHistory(ctx, it.reader, it.catch)
		return
	case it.d.inter != nil:
		in.interact(ctx, it)
	default:
		for _, e := range it.d.events {
			if !in.store(ctx, e) {
				return // the Run is over; not marked
			}
		}
	}
	if ctx.Err() == nil {
		it.mark.done(it.seq)
	}
}

// store gives one event to the sink until it is kept: the platform sends an
// event once, so it is held here, and everything behind it in its conversation.
// False means that the Run ended first.
func (in *intake) store(ctx context.Context, e chat.Event) bool {
	pause, until := in.cfg.Timing.RetryMin, time.Now().Add(in.cfg.Timing.GiveUp)
	for ; ; e.Attempt++ {
		answer, err := in.accept(ctx, e, time.Now().Add(in.cfg.Timing.Accept))
		if err == nil {
			in.note(e)
			in.deliver(ctx, e, answer)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		in.counts.Add("unstored:" + string(e.Kind))
		in.cfg.Logger.Warn("an event was not stored; it is tried again", "kind", string(e.Kind), "error", in.rest.clean.Error(err))
		if time.Now().After(until) {
			in.counts.Add("lost:" + string(e.Kind))
			in.cfg.Logger.Error("an event could not be stored and is given up", "kind", string(e.Kind), "id", e.ID)
			return true
		}
		if lane.Pause(ctx, pause) != nil {
			return false
		}
		pause = min(2*pause, in.cfg.Timing.RetryMax)
	}
}

// accept is one try, with its deadline.
func (in *intake) accept(ctx context.Context, e chat.Event, until time.Time) (chat.Answer, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if err := in.places.complete(ctx, &e); err != nil {
		return chat.Answer{}, err
	}
	return in.sink.Accept(ctx, e)
}

// interact stores a press or command and then acknowledges it, both within the
// time Discord gives. What could not be stored is not acknowledged: the person
// sees that it failed and may press again.
func (in *intake) interact(ctx context.Context, it item) {
	e := it.d.events[0]
	until := it.at.Add(in.cfg.Timing.Accept)
	if late := time.Now().After(until); late { // it waited too long, or is from before a resume
		until = time.Now().Add(in.cfg.Timing.Accept)
	}
	pause := 50 * time.Millisecond
	for ; ; e.Attempt++ {
		answer, err := in.accept(ctx, e, until)
		if err == nil {
			in.deliver(ctx, e, in.acknowledge(ctx, it.d.inter, answer))
			return
		}
		if ctx.Err() != nil {
			return
		}
		in.counts.Add("unacked:refused")
		in.cfg.Logger.Warn("a press was not stored", "kind", string(e.Kind), "error", in.rest.clean.Error(err))
		if time.Now().Add(pause).After(until) || lane.Pause(ctx, pause) != nil {
			return
		}
		pause *= 2
	}
}

// acknowledge answers an interaction, with what the answer can carry at once;
// it returns what is left to be said.
func (in *intake) acknowledge(ctx context.Context, ref *reference, ans chat.Answer) chat.Answer {
	ctx = context.WithoutCancel(ctx) // stored is stored: the person is told
	if !ref.onMessage {              // a command: it must be answered with something
		err := in.respond(ctx, ref, whisper(firstOf(ans.Notice, "✓")))
		in.acked(err)
		if err == nil {
			ans.Notice = ""
		}
		return ans
	}
	if ans.Card != nil {
		if b, err := bodyOf(chat.Outgoing{Card: ans.Card}); err == nil {
			err = in.respond(ctx, ref, answer{Type: dg.InteractionResponseUpdateMessage, Data: replace(b)})
			if chat.KindOf(err) != chat.Invalid || codeOf(err) == dg.ErrCodeInteractionHasAlreadyBeenAcknowledged {
				in.acked(err)
				return ans
			}
			in.counts.Add("card:refused")
		}
	}
	in.acked(in.respond(ctx, ref, answer{Type: dg.InteractionResponseDeferredMessageUpdate}))
	return ans
}

func (in *intake) acked(err error) {
	switch code := codeOf(err); {
	case err == nil:
	case code == dg.ErrCodeInteractionHasAlreadyBeenAcknowledged: // one press that came twice
		in.counts.Add("ack:again")
	case code == dg.ErrCodeUnknownInteraction:
		in.counts.Add("ack:late")
	default:
		in.counts.Add("ack:failed")
		in.cfg.Logger.Warn("a press was stored but not acknowledged", "error", err)
	}
}

// deliver says what the acknowledgement could not carry.
func (in *intake) deliver(ctx context.Context, e chat.Event, ans chat.Answer) {
	if ans.Notice == "" && ans.Reply == "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	in.aside(func() {
		if ans.Notice != "" {
			if err := in.Notice(ctx, e, ans.Notice); err != nil {
				in.counts.Add("notice:failed")
				in.cfg.Logger.Warn("a notice did not reach the person", "error", err)
			}
		}
		if ans.Reply != "" {
			if _, err := in.Send(ctx, chat.Outgoing{Key: "reply-" + eventKey(e), Place: e.Place, Text: ans.Reply}); err != nil {
				in.counts.Add("reply:failed")
				in.cfg.Logger.Warn("a reply was not sent", "error", err)
			}
		}
	})
}
