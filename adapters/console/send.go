package console

import (
	"context"
	"errors"
	"strings"
	"time"

	"loopx/adapters/chat"
)

func invalid(code, text string) *chat.Error {
	return &chat.Error{Kind: chat.Invalid, Code: code, Err: errors.New(text)}
}

func (c *Console) self() chat.User {
	return chat.User{Tenant: Tenant, ID: "loopx", Kind: chat.Self, Name: "loopx"}
}

// Send writes one message. A key that was sent already gives the first Ref
// again and writes nothing.
func (c *Console) Send(ctx context.Context, out chat.Outgoing) (chat.Ref, error) {
	if err := c.load(ctx); err != nil {
		return chat.Ref{}, err
	}
	place := chat.Place{Connection: c.opt.Name, Conversation: Conversation, Thread: out.Place.Thread}
	if out.To == nil && out.Place.Conversation != Conversation {
		return chat.Ref{Place: out.Place}, &chat.Error{Kind: chat.Gone, Code: "no_conversation", Err: errors.New("the page has one conversation")}
	}
	text, err := content(out)
	if err != nil {
		return chat.Ref{Place: place}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.byKey(out.Key, time.Time{}); ok {
		return chat.Ref{Place: place, Message: m.ID}, nil
	}
	m := Message{ID: newID(), Key: out.Key, At: c.now(), From: c.self(), Text: text, Card: out.Card, Thread: out.Place.Thread}
	if out.To != nil {
		m.To, m.Thread, place.Thread = out.To.ID, "", ""
	}
	if err := c.put(ctx, m); err != nil {
		return chat.Ref{Place: place}, err
	}
	feel(c, func(h *chat.Health, now int64) { h.LastSend = now })
	return chat.Ref{Place: place, Message: m.ID}, nil
}

func content(out chat.Outgoing) (string, error) {
	text := out.Text
	if text == "" && out.Card != nil {
		text = chat.PlainText(*out.Card)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", invalid("no_text", "there is nothing to send")
	case len(text) > 2*maxText:
		return "", invalid("msg_too_long", "the text is too long for the page")
	}
	return text, nil
}

// Update replaces a message's content.
func (c *Console) Update(ctx context.Context, ref chat.Ref, out chat.Outgoing) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	text, err := content(out)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.find(func(m Message) bool { return m.ID == ref.Message })
	if !ok || m.From.Kind != chat.Self {
		return &chat.Error{Kind: chat.Gone, Code: "message_not_found", Err: errors.New("the page no longer holds that message")}
	}
	m.Text, m.Card, m.Edited = text, out.Card, c.now()
	if err := c.put(ctx, m); err != nil {
		return err
	}
	feel(c, func(h *chat.Health, now int64) { h.LastSend = now })
	return nil
}

func (c *Console) byKey(key string, since time.Time) (Message, bool) {
	if key == "" {
		return Message{}, false
	}
	return c.find(func(m Message) bool {
		return m.Key == key && m.From.Kind == chat.Self && (since.IsZero() || m.At >= since.UnixMilli())
	})
}

// Find looks a send up by its key.
func (c *Console) Find(ctx context.Context, place chat.Place, key string, since time.Time) (chat.Ref, bool, error) {
	if err := c.load(ctx); err != nil {
		return chat.Ref{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.byKey(key, since)
	if !ok {
		return chat.Ref{}, false, nil
	}
	return chat.Ref{Place: chat.Place{Connection: c.opt.Name, Conversation: Conversation, Thread: m.Thread}, Message: m.ID}, true, nil
}

// Notice shows one person something.
func (c *Console) Notice(ctx context.Context, e chat.Event, text string) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	if e.Sender.ID == "" || strings.TrimSpace(text) == "" {
		return invalid("no_person", "the event names no person to tell, or there is nothing to say")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.put(ctx, Message{ID: newID(), At: c.now(), From: c.self(), Text: text, To: e.Sender.ID, Thread: e.Place.Thread})
}

var _ chat.Adapter = (*Console)(nil)
