package lark

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Bounds of what is read of one conversation after a gap: a thousand messages,
// and the answers in twenty topics among them. It is read from the newest
// backwards, so what lies beyond is the oldest; it is counted.
const (
	pastMost   = 1000
	pastTopics = 20
)

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
		r.heard.Note(e.Place.Conversation, e.At)
	}
}

// away notes that the connection ended; the first note counts.
func (p *past) away() {
	r := p.r
	if !p.since.IsZero() {
		return
	}
	p.since = r.cfg.Clock()
	if read := r.rest.http.LastRead(); read > 0 { // nobody listened from here on
		p.since = time.UnixMilli(read)
	}
}

// conversations lists those to be read when a connection is there again: all
// of them after a start and after a gap.
func (p *past) conversations() []string {
	r := p.r
	before := p.up
	p.up = true
	away := !p.since.IsZero() && r.cfg.Clock().Sub(p.since) >= r.cfg.Timing.Gap
	p.since = time.Time{}
	if before && !away {
		return nil
	}
	return r.heard.Past(r.cfg.Conversations)
}

// read delivers what was said in a conversation since the last message that
// is known to be stored. Recalls and presses of that time are nowhere to be had.
func (p *past) read(ctx context.Context, conversation string) {
	r := p.r
	id, err := r.identify(ctx)
	if err != nil {
		r.counts.Add("history:failed")
		return
	}
	since := r.cfg.Clock().Add(-r.cfg.Timing.CatchUp)
	if n := r.heard.Newest(conversation); n > since.UnixMilli() {
		since = time.UnixMilli(n + 1)
	}
	list, err := p.list(ctx, conversation, since)
	if err != nil {
		if ctx.Err() == nil {
			r.counts.Add("history:failed")
			r.cfg.Logger.Warn("what was said meanwhile could not be read", "error", err)
		}
		return
	}
	private := r.isPrivate(ctx, conversation)
	for _, m := range list {
		if own(m, id) {
			r.chats.learnTenant(str(m.Sender.TenantKey))
		}
	}
	for _, m := range list {
		e, ok := p.event(m, conversation, private, id)
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
	r.complete(actx, &e)
	answer, err := r.sink.Accept(actx, e)
	if err != nil {
		r.counts.Add("unstored:history")
		return &chat.Error{Kind: chat.Temporary, Code: "not_stored", Err: r.rest.http.clean.Error(err)}
	}
	r.note(e)
	if answer.Notice != "" || answer.Reply != "" {
		r.aside(func() { r.answer(context.WithoutCancel(ctx), e, answer) })
	}
	return nil
}

// list gives the messages since a time, oldest first.
func (p *past) list(ctx context.Context, conversation string, since time.Time) ([]*larkim.Message, error) {
	r := p.r
	var out []*larkim.Message
	read := func(place chat.Place) error {
		from := len(out)
		err := lane.Patiently(ctx, r.cfg.Timing.RetryMin, r.cfg.Timing.RetryMax, func() error {
			out = out[:from]
			return r.history(ctx, place, since, func(m *larkim.Message) bool {
				out = append(out, m)
				return len(out) < pastMost
			})
		})
		if e, ok := errors.AsType[*chat.Error](err); len(out) >= pastMost || ok && e.Code == "find_too_far" {
			r.counts.Add("history:beyond")
			return nil
		}
		return err
	}
	if err := read(chat.Place{Conversation: conversation}); err != nil {
		return nil, err
	}
	topics := map[string]bool{}
	for _, m := range slices.Clone(out) {
		topic := str(m.ThreadId)
		if topic == "" || topics[topic] {
			continue
		}
		if topics[topic] = true; len(topics) > pastTopics {
			r.counts.Add("history:beyond")
			break
		}
		if err := read(chat.Place{Conversation: conversation, Thread: topic}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b *larkim.Message) int {
		return cmp.Or(cmp.Compare(millis(str(a.CreateTime)), millis(str(b.CreateTime))), cmp.Compare(str(a.MessageId), str(b.MessageId)))
	})
	// A topic's first message comes with its answers again.
	return slices.CompactFunc(out, func(a, b *larkim.Message) bool { return str(a.MessageId) == str(b.MessageId) }), nil
}

// event makes the event that a message of the past would have been. Our own
// and recalled ones are none.
func (p *past) event(m *larkim.Message, conversation string, private bool, id identity) (chat.Event, bool) {
	r := p.r
	if own(m, id) || m.Sender == nil || m.Body == nil || m.Deleted != nil && *m.Deleted {
		return chat.Event{}, false
	}
	var b messageBody
	b.Message.ID, b.Message.ChatID, b.Message.ThreadID = str(m.MessageId), conversation, str(m.ThreadId)
	b.Message.RootID, b.Message.ParentID = str(m.RootId), str(m.ParentId)
	b.Message.Created, b.Message.Type, b.Message.Content = str(m.CreateTime), str(m.MsgType), str(m.Body.Content)
	if private {
		b.Message.ChatType = "p2p"
	}
	b.Sender.ID.OpenID, b.Sender.Type, b.Sender.TenantKey = str(m.Sender.Id), str(m.Sender.SenderType), str(m.Sender.TenantKey)
	for _, at := range m.Mentions {
		if at != nil {
			one := rawMention{Key: str(at.Key), Name: str(at.Name)}
			one.ID.OpenID = str(at.Id) // with the type open_id, which is asked for
			b.Message.Mentions = append(b.Message.Mentions, one)
		}
	}
	// The list does not name the app's own tenant. Until an event has, or a message
	// of our own in the same list, nobody is taken for one of its people.
	d, err := messageEvent(b, r.chats.ownTenant(), id)
	if err != nil || d.event == nil {
		return chat.Event{}, false
	}
	e := *d.event
	e.ID, e.History, e.Place.Connection = "history:"+e.Message.ID, true, id.connection
	return e, true
}
