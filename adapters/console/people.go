package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"loopx/adapters/chat"
)

// ErrStopped is what a person gets while the bot does not listen.
var ErrStopped = errors.New("the bot is not listening")

// Words are what a person says. A page whose request was cut off repeats it with
// the id and time of the first try, so that it is said once and stands where it
// was said.
type Words struct {
	ID     string // m_ and 26 letters of base32; empty: chosen here
	At     int64  // UTC ms; one that is not of the last hour is not believed
	Thread string // the message it stands under
	Text   string
}

// Say writes a message as a person of the page. It returns after the bot has
// stored it; an error means it was not taken, and what was typed is not shown
// as sent. A leading "/" makes it a command.
func (c *Console) Say(ctx context.Context, user chat.User, text string) error {
	_, err := c.SayIn(ctx, user, Words{Text: text})
	return err
}

// SayIn writes Words, and returns the id of what was said.
func (c *Console) SayIn(ctx context.Context, user chat.User, w Words) (string, error) {
	text := strings.ToValidUTF8(strings.TrimSpace(w.Text), "\uFFFD")
	switch {
	case text == "":
		return "", invalid("no_text", "there is nothing to send")
	case len(text) > maxText:
		return "", invalid("msg_too_long", fmt.Sprintf("at most %d KiB at once", maxText>>10))
	}
	if err := person(user); err != nil {
		return "", err
	}
	m := Message{ID: w.ID, At: c.now(), From: user, Text: text, Thread: w.Thread}
	if w.At > m.At-time.Hour.Milliseconds() && w.At < m.At {
		m.At = w.At
	}
	c.mu.Lock()
	was, said := c.find(func(o Message) bool { return o.ID == w.ID })
	c.mu.Unlock()
	switch {
	case w.ID == "":
		m.ID = newID()
	case len(w.ID) != len(newID()) || !strings.HasPrefix(w.ID, "m_") || strings.Trim(w.ID[2:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "":
		return "", invalid("bad_id", "the id of a message is m_ and 26 letters of base32")
	case said && (was.From.ID != user.ID || was.From.Kind != user.Kind || was.Text != text || was.Thread != w.Thread):
		return "", invalid("id_used", "another message has this id")
	case said:
		return w.ID, nil
	}
	e := chat.Event{
		Kind: chat.MessageSent, ID: m.ID, At: m.At, Private: true, Sender: user,
		Place:   chat.Place{Connection: c.opt.Name, Conversation: Conversation, Thread: w.Thread},
		Message: &chat.Message{ID: m.ID, Text: text, Parent: w.Thread, Root: w.Thread},
	}
	if strings.HasPrefix(text, "/") {
		e.Kind = chat.CommandSent
	}
	answer, err := c.deliver(ctx, e, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.put(ctx, m)
	})
	if err != nil {
		return "", err
	}
	if answer.Notice != "" {
		return m.ID, c.Notice(ctx, e, answer.Notice)
	}
	return m.ID, nil
}

// Press uses a button of a card. action must be on the card as it stands now;
// values hold the form's fields. The answer's notice is also shown to the
// person on the page. An error means the press was not taken.
func (c *Console) Press(ctx context.Context, user chat.User, messageID, action string, values map[string]string) (chat.Answer, error) {
	if err := person(user); err != nil {
		return chat.Answer{}, err
	}
	c.mu.Lock()
	m, ok := c.find(func(m Message) bool { return m.ID == messageID && (m.To == "" || m.To == user.ID) })
	c.mu.Unlock()
	if !ok {
		return chat.Answer{}, &chat.Error{Kind: chat.Gone, Code: "message_not_found", Err: errors.New("the page no longer holds that card")}
	}
	values, err := button(m.Card, action, values)
	if err != nil {
		return chat.Answer{}, err
	}
	return c.Redeliver(ctx, chat.Event{
		Kind: chat.CardPressed, ID: "p_" + newID(), At: c.now(), Private: true, Sender: user,
		Place: chat.Place{Connection: c.opt.Name, Conversation: Conversation, Thread: m.Thread},
		Press: &chat.Press{Message: m.ID, Action: action, Values: values},
	})
}

// Redeliver gives an event to the bot, again if it had it before. Press uses it
// for the first time; a page whose request was cut off repeats it with the same
// event, so that the press counts once.
func (c *Console) Redeliver(ctx context.Context, e chat.Event) (chat.Answer, error) {
	answer, err := c.deliver(ctx, e, nil)
	if err != nil {
		return chat.Answer{}, err
	}
	if answer.Notice != "" {
		err = c.Notice(ctx, e, answer.Notice)
	}
	return answer, err
}

// Offers reports whether a person could press a message's button with these
// values; the error says why not. Press checks the same.
func Offers(m Message, action string, values map[string]string) error {
	_, err := button(m.Card, action, values)
	return err
}

// button checks that the card offers the action, and that its form is filled in
// as the card asks. A form is only ever what the card names.
func button(card *chat.Card, action string, values map[string]string) (map[string]string, error) {
	if card == nil {
		return nil, invalid("no_button", "that message has no buttons")
	}
	i := slices.IndexFunc(card.Buttons, func(b chat.Button) bool { return b.ID == action })
	if i < 0 {
		return nil, invalid("no_button", "the card no longer has that button")
	}
	if !card.Buttons[i].Form || card.Input == nil {
		return nil, nil
	}
	in, text := card.Input, values[card.Input.Name]
	switch {
	case in.Required && strings.TrimSpace(text) == "":
		return nil, invalid("required", "this answer needs a text")
	case in.Max > 0 && len([]rune(text)) > in.Max, len(text) > maxText:
		return nil, invalid("too_long", "the text is too long")
	}
	for name := range values {
		if name != in.Name {
			return nil, invalid("unknown_field", "the card has no such field")
		}
	}
	return maps.Clone(values), nil
}

func person(u chat.User) error {
	if u.Tenant != Tenant || u.ID == "" || u.Kind != chat.Human {
		return invalid("no_person", "only people of the page write here")
	}
	return nil
}

// deliver hands one event over, one at a time and in order. stored runs after
// the bot has it.
func (c *Console) deliver(ctx context.Context, e chat.Event, stored func() error) (chat.Answer, error) {
	c.mu.Lock()
	sink, gone := c.sink, c.gone
	if sink != nil {
		c.wg.Add(1)
	}
	c.mu.Unlock()
	if sink == nil {
		return chat.Answer{}, &chat.Error{Kind: chat.Temporary, Code: "stopped", Err: ErrStopped}
	}
	defer c.wg.Done()
	ctx, cancel := context.WithTimeout(ctx, c.Caps().AckIn.Std()-time.Second)
	defer cancel()
	defer context.AfterFunc(gone, cancel)()

	c.line.Lock()
	defer c.line.Unlock()
	answer, err := sink.Accept(ctx, e)
	if err != nil {
		return chat.Answer{}, fmt.Errorf("the message was not stored: %w", err)
	}
	feel(c, func(h *chat.Health, now int64) { h.LastEvent, h.LastFrame = now, now })
	if stored != nil {
		if err := stored(); err != nil {
			return chat.Answer{}, err
		}
	}
	if answer.Reply != "" {
		_, err = c.Send(ctx, chat.Outgoing{Key: "reply-" + e.ID, Place: e.Place, Text: answer.Reply})
	}
	return answer, err
}

// Memory is a Log that lasts as long as the process.
func Memory() Log { return &memory{} }

type memory struct {
	mu sync.Mutex
	m  []Message
}

func (l *memory) Load(context.Context) ([]Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.m), nil
}

func (l *memory) Save(_ context.Context, m Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.m, func(o Message) bool { return o.ID == m.ID }); i >= 0 {
		l.m[i] = m
		return nil
	}
	l.m = append(l.m, m)
	if len(l.m) > 2*keep {
		l.m = slices.Delete(l.m, 0, len(l.m)-keep)
	}
	return nil
}
