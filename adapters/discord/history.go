package discord

import (
	"context"
	"errors"
	"sync"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// maxHeard bounds the conversations whose newest message is remembered.
const maxHeard = 1024

// heard remembers the newest message that is stored of each conversation, over
// all Runs of an adapter.
type heard struct {
	mu sync.Mutex
	m  map[string]string
}

func (h *heard) note(e chat.Event) {
	if e.Kind != chat.MessageSent || e.Message == nil || !isID(e.Message.ID) {
		return
	}
	channel := firstOf(e.Place.Thread, e.Place.Conversation)
	h.mu.Lock()
	defer h.mu.Unlock()
	old, known := h.m[channel]
	if !known && len(h.m) >= maxHeard {
		return
	}
	if len(e.Message.ID) > len(old) || len(e.Message.ID) == len(old) && e.Message.ID > old {
		h.m[channel] = e.Message.ID
	}
}

func (h *heard) newest(conversation string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[conversation]
}

func (h *heard) conversations() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for c := range h.m {
		out = append(out, c)
	}
	return out
}

// patiently repeats a reading call that is only held up for the moment.
func (in *intake) patiently(ctx context.Context, read func() error) error {
	pause := in.cfg.Timing.RetryMin
	for try := 1; ; try++ {
		err := read()
		e, ok := errors.AsType[*chat.Error](err)
		if !ok || try == historyTries || e.Kind != chat.Temporary && e.Kind != chat.RateLimited {
			return err
		}
		if lane.Pause(ctx, max(pause, e.After)) != nil {
			return err
		}
		pause = min(2*pause, in.cfg.Timing.RetryMax)
	}
}

// historyTries is how often a page of history is asked for.
const historyTries = 8

// catchUp queues the reading of what was said while no session was there, ahead
// of everything the new one brings.
func (in *intake) catchUp(dec decoder) {
	list := in.heard.conversations()
	if in.cfg.Conversations != nil {
		for _, c := range in.cfg.Conversations() {
			if isID(c) {
				list = append(list, c)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range list {
		if !seen[c] && !in.put(item{catch: c, reader: dec}) {
			in.counts.Add("refused:full")
		}
		seen[c] = true
	}
}

// readHistory delivers what stands in a conversation after the last message that
// is known to be stored. Edits and presses of that time are nowhere to be had.
func (in *intake) readHistory(ctx context.Context, dec decoder, conversation string) {
	after := firstOf(in.heard.newest(conversation), idAt(in.cfg.Clock().Add(-in.cfg.Timing.CatchUp)))
	var c channel
	err := in.patiently(ctx, func() (err error) { c, err = in.places.lookUp(ctx, conversation); return err })
	for page := 0; err == nil && page < findPages; page++ {
		var list []message
		if err = in.patiently(ctx, func() (err error) { list, err = in.history(ctx, conversation, after); return err }); err != nil {
			break
		}
		for i := range list {
			d, derr := dec.message(&list[i], false, c.Type == dg.ChannelTypeDM)
			if derr != nil || len(d.events) == 0 {
				in.counts.Add("history:ignored")
				continue
			}
			e := d.events[0]
			e.Place.Connection = in.cfg.Name
			in.counts.Add("history:read")
			if !in.store(ctx, e) {
				return
			}
		}
		if len(list) < historyPage {
			return
		}
		after = list[len(list)-1].ID
	}
	if err != nil && ctx.Err() == nil {
		in.counts.Add("history:failed")
		in.cfg.Logger.Warn("what was said meanwhile could not be read", "error", err)
	}
}
