package discord

import (
	"context"
	"strconv"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// note remembers a stored message.
func (in *intake) note(e chat.Event) {
	if e.Kind != chat.MessageSent || e.Message == nil || !isID(e.Message.ID) {
		return
	}
	if n, err := strconv.ParseInt(e.Message.ID, 10, 64); err == nil {
		in.heard.Note(firstOf(e.Place.Thread, e.Place.Conversation), n)
	}
}

// patiently repeats a reading call that is only held up for the moment.
func (in *intake) patiently(ctx context.Context, read func() error) error {
	return lane.Patiently(ctx, in.cfg.Timing.RetryMin, in.cfg.Timing.RetryMax, read)
}

// catchUp queues the reading of what was said while no session was there, ahead
// of everything the new one brings.
func (in *intake) catchUp(dec decoder) {
	for _, c := range in.heard.Past(in.cfg.Conversations) {
		if isID(c) && !in.put(item{catch: c, reader: dec}) {
			in.counts.Add("refused:full")
		}
	}
}

// readHistory delivers what stands in a conversation after the last message that
// is known to be stored. Edits and presses of that time are nowhere to be had.
func (in *intake) readHistory(ctx context.Context, dec decoder, conversation string) {
	after := idAt(in.cfg.Clock().Add(-in.cfg.Timing.CatchUp))
	if newest := strconv.FormatInt(in.heard.Newest(conversation), 10); len(newest) > len(after) || len(newest) == len(after) && newest > after {
		after = newest
	}
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
			e.Place.Connection, e.History = in.cfg.Name, true
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
