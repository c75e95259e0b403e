package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Bounds of what is read of one conversation after a gap: a thousand messages,
// and the answers in twenty threads among them. Slack lists newest first, so
// what lies beyond is the oldest; it is counted.
const (
	pastPages   = 5
	pastThreads = 20
)

// micros turns "seconds.micros" into a number that grows with the messages of a
// conversation.
func micros(ts string) int64 {
	sec, frac, _ := strings.Cut(ts, ".")
	var s, us int64
	if _, err := fmt.Sscanf(sec+" "+(frac + "000000")[:6], "%d %d", &s, &us); err != nil || s <= 0 || s > 1<<40 {
		return 0
	}
	return s*1e6 + us
}

func stampOf(us int64) string { return fmt.Sprintf("%d.%06d", us/1e6, us%1e6) }

// past is what one Run knows of the time when nobody listened. Only the loop of
// the connection uses up and since.
type past struct {
	r     *runner
	up    bool      // a connection was there in this Run
	since time.Time // when the last one ended, zero while one is there
}

// note remembers a stored message.
func (r *runner) note(e chat.Event) {
	if e.Kind == chat.MessageSent && e.Message != nil {
		r.heard.Note(e.Place.Conversation, micros(e.Message.ID))
	}
}

// away notes that the connection ended; the first note counts.
func (p *past) away() {
	r := p.r
	if !p.since.IsZero() {
		return
	}
	p.since = r.cfg.Clock()
	if read := r.http.LastRead(); read > 0 { // nobody listened from here on
		p.since = time.UnixMilli(read)
	}
}

// conversations lists those to be read when a connection is there again: all
// of them after a start, and after a gap that is longer than Slack's own repeats
// are trusted with.
func (p *past) conversations() []string {
	r := p.r
	gap := r.cfg.Clock().Sub(p.since)
	before := p.up
	p.up = true
	away := !p.since.IsZero() && gap >= r.cfg.Timing.Gap
	p.since = time.Time{}
	if before && !away {
		return nil
	}
	return r.heard.Past(r.cfg.Conversations)
}

// read delivers what was said in a conversation since the last message that
// is known to be stored. Edits, deletes and presses of that time are nowhere to
// be had.
func (p *past) read(ctx context.Context, conversation string) {
	r := p.r
	id, err := r.identify(ctx)
	if err != nil {
		r.counts.Add("history:failed")
		return
	}
	oldest := stampOf(max(r.cfg.Clock().Add(-r.cfg.Timing.CatchUp).UnixMicro(), r.heard.Newest(conversation)))
	msgs, err := p.list(ctx, conversation, oldest)
	if err != nil {
		if ctx.Err() == nil {
			r.counts.Add("history:failed")
			r.cfg.Logger.Warn("what was said meanwhile could not be read", "error", err)
		}
		return
	}
	for _, m := range msgs {
		e, ok := pastEvent(m, conversation, id)
		if !ok {
			r.counts.Add("history:ignored")
			continue
		}
		r.counts.Add("history:read")
		if err := lane.Patiently(ctx, r.cfg.Timing.RetryMin, r.cfg.Timing.RetryMax, func() error { return p.keep(ctx, e) }); err != nil {
			return // the next connection reads it again from here
		}
	}
}

// keep gives one message of the past to the sink.
func (p *past) keep(ctx context.Context, e chat.Event) error {
	r := p.r
	actx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Accept)
	defer cancel()
	if err := r.complete(actx, &e); err != nil {
		return err
	}
	answer, err := r.sink.Accept(actx, e)
	if err != nil {
		r.counts.Add("unstored:history")
		return &chat.Error{Kind: chat.Temporary, Code: "not_stored", Err: r.http.clean.Error(err)}
	}
	r.note(e)
	if answer.Notice != "" || answer.Reply != "" {
		r.aside(func() { r.answer(context.WithoutCancel(ctx), e, answer) })
	}
	return nil
}

// list gives the messages after a time, oldest first.
func (p *past) list(ctx context.Context, conversation, oldest string) ([]api.Message, error) {
	r := p.r
	var out []api.Message
	read := func(place chat.Place, pages int) error {
		cursor := ""
		for range pages {
			var list []api.Message
			err := lane.Patiently(ctx, r.cfg.Timing.RetryMin, r.cfg.Timing.RetryMax, func() (err error) {
				list, cursor, err = pageOf(ctx, r.Adapter, place, oldest, cursor)
				return err
			})
			if err != nil {
				return err
			}
			out = append(out, list...)
			if cursor == "" {
				return nil
			}
		}
		r.counts.Add("history:beyond")
		return nil
	}
	if err := read(chat.Place{Conversation: conversation}, pastPages); err != nil {
		return nil, err
	}
	threads := 0
	for _, m := range slices.Clone(out) {
		if m.ReplyCount == 0 {
			continue
		}
		if threads++; threads > pastThreads {
			r.counts.Add("history:beyond")
			break
		}
		if err := read(chat.Place{Conversation: conversation, Thread: m.Timestamp}, 1); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b api.Message) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	// A thread's first message comes with its answers again.
	return slices.CompactFunc(out, func(a, b api.Message) bool { return a.Timestamp == b.Timestamp }), nil
}

// pastEvent makes the event that a message of the past would have been. Our own
// are none.
func pastEvent(m api.Message, conversation string, id identity) (chat.Event, bool) {
	raw, err := json.Marshal(m.Msg)
	if err != nil {
		return chat.Event{}, false
	}
	var in innerEvent
	if json.Unmarshal(raw, &in) != nil {
		return chat.Event{}, false
	}
	in.Edited = nil // it is taken as it stands now
	base := chat.Event{ID: "history:" + in.TS, Place: chat.Place{Connection: id.connection, Conversation: conversation}, Private: private(conversation, ""), History: true}
	d, err := decodeMessage(base, &in, id)
	if err != nil || d.event == nil || d.event.Sender.Kind == chat.Self {
		return chat.Event{}, false
	}
	return *d.event, true
}
