package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

// Metadata marks every message of ours with the key of its send: Slack has no
// idempotency key for chat.postMessage, so this is how an unknown outcome is
// looked up.
const (
	metaType = "loopx_send"
	metaKey  = "key"
)

// Send writes one message. With an error of kind UnknownOutcome the returned
// Ref still holds the place that was tried, for Find. A card that Slack refuses
// is sent as its complete text instead.
func (a *Adapter) Send(ctx context.Context, out chat.Outgoing) (chat.Ref, error) {
	ref := chat.Ref{Place: out.Place}
	ref.Place.Connection = a.cfg.Name
	channel, err := a.channel(ctx, out)
	if err != nil {
		return ref, err
	}
	ref.Place.Conversation = channel
	if out.To != nil {
		ref.Place.Thread = ""
	}
	if out.File != nil {
		ref.Message, err = sendFile(ctx, a, ref.Place, out.Key, out.File)
		if err == nil {
			a.health.Sent()
		}
		return ref, err
	}
	opts, err := content(out, maxPost)
	if err != nil {
		return ref, err
	}
	ts, err := a.post(ctx, ref.Place, out.Key, opts)
	if out.Card != nil && chat.KindOf(err) == chat.Invalid && err != nil {
		a.counts.Add("card:refused")
		a.cfg.Logger.Warn("Slack refused a card; its text is sent instead", "error", err)
		ts, err = a.post(ctx, ref.Place, out.Key, []api.MsgOption{textOption(fallback(out), maxPost)})
	}
	if err != nil {
		return ref, err
	}
	a.health.Sent()
	ref.Message = ts
	return ref, nil
}

func (a *Adapter) post(ctx context.Context, place chat.Place, key string, opts []api.MsgOption) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	opts = append(opts, quiet(), api.MsgOptionMetadata(api.SlackMetadata{EventType: metaType, EventPayload: map[string]any{metaKey: key}}))
	if place.Thread != "" { // empty is absent (B45)
		opts = append(opts, api.MsgOptionTS(place.Thread))
	}
	_, ts, err := a.web.PostMessageContext(ctx, place.Conversation, opts...)
	if err == nil && ts == "" {
		err = errors.New("an answer without a timestamp")
	}
	return ts, a.classify(err, creating)
}

// quiet switches off everything Slack would read into a text: previews, names
// that become mentions, markup.
func quiet() api.MsgOption {
	return api.MsgOptionCompose(api.MsgOptionDisableLinkUnfurl(), api.MsgOptionDisableMediaUnfurl(),
		api.MsgOptionLinkNames(false), api.MsgOptionParse(false), api.MsgOptionDisableMarkdown())
}

// content is the text and, for a card, its blocks.
func content(out chat.Outgoing, limit int) ([]api.MsgOption, error) {
	if out.Card == nil {
		text := escape(chat.Visible(out.Text))
		if strings.TrimSpace(text) == "" {
			return nil, &chat.Error{Kind: chat.Invalid, Code: "no_text", Err: errors.New("there is nothing to send")}
		}
		if who := mention(out.Mention); who != "" {
			text = who + " " + text
		}
		if n := fit.Units(text); n > limit {
			return nil, &chat.Error{Kind: chat.Invalid, Code: "msg_too_long", Err: fmt.Errorf("the text has %d characters, Slack takes %d", n, limit)}
		}
		return []api.MsgOption{api.MsgOptionText(text, false)}, nil
	}
	blocks, err := render(*out.Card)
	if err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_card", Err: err}
	}
	// The text is what notifications and screen readers use; more than the
	// recommended length helps neither.
	return []api.MsgOption{textOption(fallback(out), maxText), api.MsgOptionBlocks(blocks...)}, nil
}

// mention is how Slack writes a person into a text (docs, "Formatting message
// text"); what is no id of a person is nobody.
func mention(u *chat.User) string {
	if u == nil || len(u.ID) < 2 || !strings.ContainsAny(u.ID[:1], "UW") {
		return ""
	}
	for _, r := range u.ID {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return ""
		}
	}
	return "<@" + u.ID + ">"
}

func fallback(out chat.Outgoing) string {
	if out.Text != "" {
		return out.Text
	}
	if out.Card != nil {
		return chat.PlainText(*out.Card)
	}
	return ""
}

func textOption(s string, limit int) api.MsgOption {
	return api.MsgOptionText(escapeTo(chat.Visible(s), limit), false)
}

// escapeTo escapes and keeps the result within limit: what is cut is cut before
// the escaping, so that no escape is broken, and counted.
func escapeTo(s string, limit int) string {
	if out := escape(s); fit.Units(out) <= limit {
		return out
	}
	// The longest cut that still fits when escaped.
	room := sort.Search(limit, func(n int) bool { return fit.Units(escape(fit.CutNoted(s, n+1, ""))) > limit })
	return escape(fit.CutNoted(s, room, ""))
}

// Update replaces a message. A card without buttons leaves none behind.
func (a *Adapter) Update(ctx context.Context, ref chat.Ref, out chat.Outgoing) error {
	opts, err := content(out, maxText)
	if err != nil {
		return err
	}
	if out.Card == nil {
		opts = append(opts, api.MsgOptionBlocks()) // "blocks=[]" clears what a card left
	}
	err = edit(ctx, a, ref, opts)
	if out.Card != nil && err != nil && chat.KindOf(err) == chat.Invalid {
		a.counts.Add("card:refused")
		a.cfg.Logger.Warn("Slack refused a card; its text is shown instead", "error", err)
		err = edit(ctx, a, ref, []api.MsgOption{textOption(fallback(out), maxText), api.MsgOptionBlocks()})
	}
	if err == nil {
		a.health.Sent()
	}
	return err
}

func edit(ctx context.Context, a *Adapter, ref chat.Ref, opts []api.MsgOption) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	_, _, _, err := a.web.UpdateMessageContext(ctx, ref.Place.Conversation, ref.Message, append(opts, quiet())...)
	return a.classify(err, setting)
}

// channel is the conversation to write to; a private one is opened.
func (a *Adapter) channel(ctx context.Context, out chat.Outgoing) (string, error) {
	if out.To == nil {
		if out.Place.Conversation == "" {
			return "", &chat.Error{Kind: chat.Invalid, Code: "no_place", Err: errors.New("the message says neither where nor to whom")}
		}
		return out.Place.Conversation, nil
	}
	return openPrivate(ctx, a, out.To.ID)
}

func openPrivate(ctx context.Context, a *Adapter, user string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	ch, _, _, err := a.web.OpenConversationContext(ctx, &api.OpenConversationParameters{Users: []string{user}})
	if err != nil {
		return "", a.classify(err, setting)
	}
	return ch.ID, nil
}

// findPages bounds a look-up: 10 pages of 200 messages.
const findPages = 10

// Find looks for the message with the key among what this app wrote. A place
// whose conversation is a person's id means the private one with that person.
func (a *Adapter) Find(ctx context.Context, place chat.Place, key string, since time.Time) (chat.Ref, bool, error) {
	place.Connection = a.cfg.Name
	id, err := a.identify(ctx)
	if err != nil {
		return chat.Ref{}, false, err
	}
	if strings.HasPrefix(place.Conversation, "U") || strings.HasPrefix(place.Conversation, "W") {
		if place.Conversation, err = openPrivate(ctx, a, place.Conversation); err != nil {
			return chat.Ref{}, false, err
		}
	}
	// Slack's clock gives the timestamps; a minute covers the difference to ours.
	oldest := fmt.Sprintf("%d.000000", max(since.Add(-time.Minute).Unix(), 0))
	cursor := ""
	for range findPages {
		msgs, next, err := pageOf(ctx, a, place, oldest, cursor)
		if err != nil {
			return chat.Ref{}, false, err
		}
		for _, m := range msgs {
			own := m.User == id.user || m.BotID != "" && m.BotID == id.bot
			if own && (m.Metadata.EventType == metaType && m.Metadata.EventPayload[metaKey] == key || marked(m, key)) {
				return chat.Ref{Place: place, Message: m.Timestamp}, true, nil
			}
		}
		if next == "" {
			return chat.Ref{}, false, nil
		}
		cursor = next
	}
	return chat.Ref{}, false, &chat.Error{Kind: chat.Temporary, Code: "find_too_far", Err: errors.New("too many messages since then to look through")}
}

func pageOf(ctx context.Context, a *Adapter, place chat.Place, oldest, cursor string) ([]api.Message, string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	if place.Thread != "" {
		msgs, _, next, err := a.web.GetConversationRepliesContext(ctx, &api.GetConversationRepliesParameters{
			ChannelID: place.Conversation, Timestamp: place.Thread, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
		})
		return msgs, next, a.classify(err, reading)
	}
	h, err := a.web.GetConversationHistoryContext(ctx, &api.GetConversationHistoryParameters{
		ChannelID: place.Conversation, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
	})
	if err != nil {
		return nil, "", a.classify(err, reading)
	}
	return h.Messages, h.ResponseMetaData.NextCursor, nil
}

// Notice tells one person something: an ephemeral message in the place of the
// event, or through the interaction's own address where that is refused.
func (a *Adapter) Notice(ctx context.Context, e chat.Event, text string) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	if e.Place.Conversation == "" || e.Sender.ID == "" {
		return &chat.Error{Kind: chat.Invalid, Code: "no_person", Err: errors.New("the event names no person to tell")}
	}
	opts := []api.MsgOption{textOption(text, maxText), quiet()}
	if e.Place.Thread != "" {
		opts = append(opts, api.MsgOptionTS(e.Place.Thread))
	}
	_, err := a.web.PostEphemeralContext(ctx, e.Place.Conversation, e.Sender.ID, opts...)
	err = a.classify(err, creating)
	if err == nil {
		a.health.Sent()
		return nil
	}
	if e.Press == nil || e.Press.Reply == "" || chat.KindOf(err) == chat.UnknownOutcome {
		return err
	}
	_, _, _, hook := a.web.SendMessageContext(ctx, "", api.MsgOptionResponseURL(e.Press.Reply, api.ResponseTypeEphemeral), textOption(text, maxText))
	if hook == nil {
		a.health.Sent()
		return nil
	}
	return errors.Join(err, a.classify(hook, creating))
}

// replyKey names the reply an event's answer asked for.
func replyKey(e chat.Event) string {
	sum := sha256.Sum256([]byte(e.Place.Connection + "\x00" + e.ID))
	return "reply-" + hex.EncodeToString(sum[:16])
}
