package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
)

// maxPlaces bounds what is remembered of channels.
const maxPlaces = 8192

// places remembers what channels are: a thread is a channel of its own, and only
// its description says where it belongs.
type places struct {
	rest *rest
	call time.Duration // deadline of one call

	mu       sync.Mutex // guards all that follows
	channels map[string]channel
	private  map[string]string // person -> private conversation
}

func newPlaces(r *rest, call time.Duration) *places {
	return &places{rest: r, call: call, channels: map[string]channel{}, private: map[string]string{}}
}

func (p *places) learn(list ...channel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range list {
		if c.ID == "" {
			continue
		}
		if len(p.channels) >= maxPlaces {
			clear(p.channels) // they are asked for again
		}
		p.channels[c.ID] = c
	}
}

func (p *places) get(id string) (channel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.channels[id]
	return c, ok
}

func (p *places) privateOf(user string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.private[user]
}

func (p *places) setPrivate(user, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.private) >= maxPlaces {
		clear(p.private)
	}
	p.private[user] = id
}

// lookUp asks what a channel is. One that is gone or closed to us is what its id
// says and no more.
func (p *places) lookUp(ctx context.Context, id string) (channel, error) {
	if c, ok := p.get(id); ok {
		return c, nil
	}
	var c channel
	err := p.rest.do(ctx, call{verb: http.MethodGet, path: "channels/" + id, route: "GET channels", major: id}, &c)
	if err != nil {
		if chat.KindOf(err) == chat.Gone {
			return channel{ID: id, Type: dg.ChannelTypeGuildText}, nil
		}
		return channel{}, err
	}
	c.ID = id
	p.learn(c)
	return c, nil
}

// complete puts an event of a thread where the thread belongs.
func (p *places) complete(ctx context.Context, e *chat.Event) error {
	if e.Private || e.Place.Thread != "" || e.Kind == chat.BotAdded || e.Kind == chat.BotRemoved {
		return nil
	}
	c, err := p.lookUp(ctx, e.Place.Conversation)
	if err != nil {
		return err
	}
	if c.thread() && c.Parent != "" {
		e.Place.Conversation, e.Place.Thread = c.Parent, c.ID
		if e.Message != nil {
			e.Message.Root = c.ID // a thread that began at a message has its id
		}
	}
	return nil
}

// openPrivate is the conversation with one person, asked for once.
func (p *places) openPrivate(ctx context.Context, user string) (string, error) {
	if id := p.privateOf(user); id != "" {
		return id, nil
	}
	if !isID(user) {
		return "", &chat.Error{Kind: chat.Gone, Code: "no_such_person", Err: errors.New("the person's id is none of Discord's")}
	}
	ctx, cancel := context.WithTimeout(ctx, p.call)
	defer cancel()
	var c channel
	err := p.rest.do(ctx, call{
		verb: http.MethodPost, path: "users/@me/channels", route: "POST users/@me/channels", what: setting,
		body: map[string]string{"recipient_id": user},
	}, &c)
	if err == nil && c.ID == "" {
		err = &chat.Error{Kind: chat.Temporary, Code: "bad_answer"}
	}
	if err != nil {
		return "", err
	}
	p.learn(c)
	p.setPrivate(user, c.ID)
	return c.ID, nil
}
