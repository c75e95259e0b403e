package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

// Flags that discordgo does not name.
const (
	flagSilent = 1 << 12 // SUPPRESS_NOTIFICATIONS
	flagV2     = 1 << 15 // IS_COMPONENTS_V2
)

// Send writes one message. With an error of kind UnknownOutcome the returned
// Ref still holds the place that was tried, for Find. A card that Discord
// refuses is sent as its complete text instead.
func (a *Adapter) Send(ctx context.Context, out chat.Outgoing) (chat.Ref, error) {
	ref := chat.Ref{Place: out.Place}
	ref.Place.Connection = a.cfg.Name
	if out.To != nil {
		id, err := a.places.openPrivate(ctx, out.To.ID)
		if err != nil {
			return ref, err
		}
		ref.Place.Conversation, ref.Place.Thread = id, ""
	}
	if out.File != nil {
		id, err := sendFile(ctx, a, ref.Place, out)
		if ref.Message = id; err == nil {
			a.health.Sent()
		}
		return ref, err
	}
	content, err := bodyOf(out)
	if err != nil {
		return ref, err
	}
	id, err := post(ctx, a, ref.Place, out, content)
	if err != nil && out.Card != nil && chat.KindOf(err) == chat.Invalid {
		a.counts.Add("card:refused")
		a.cfg.Logger.Warn("Discord refused a card; its text is sent instead", "error", err)
		id, err = post(ctx, a, ref.Place, out, textBody(cutText(fallback(out))))
	}
	if err != nil {
		return ref, err
	}
	a.health.Sent()
	ref.Message = id
	return ref, nil
}

// post creates a message. The nonce makes a repeat within some minutes return
// the message that is there already (docs, "Create Message", enforce_nonce).
func post(ctx context.Context, a *Adapter, place chat.Place, out chat.Outgoing, content body) (string, error) {
	target, err := targetOf(place)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	content["nonce"], content["enforce_nonce"] = nonce(out.Key), true
	if out.Silent {
		content.flag(flagSilent)
	}
	var m struct {
		ID string `json:"id"`
	}
	err = a.rest.do(ctx, call{
		verb: http.MethodPost, path: "channels/" + target + "/messages", route: "POST messages", major: target, body: content, what: creating,
	}, &m)
	if err == nil && m.ID == "" {
		err = &chat.Error{Kind: chat.UnknownOutcome, Code: "bad_answer", Err: errors.New("an answer without the message's id")}
	}
	return m.ID, err
}

// nonce derives Discord's 25 characters from a key of up to 50.
func nonce(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// body is what a message is made of, as create, edit and callback take it.
type body map[string]any

func (b body) flag(f int) {
	n, _ := b["flags"].(int)
	b["flags"] = n | f
}

// quiet is a body that notifies nobody who is not told by Discord itself and
// shows no previews (B54): on every create, edit and follow-up.
func quiet() body {
	return body{
		"allowed_mentions": dg.MessageAllowedMentions{Parse: []dg.AllowedMentionType{}},
		"flags":            int(dg.MessageFlagsSuppressEmbeds),
	}
}

// textBody is a message of escaped text. What grew beyond a message's content by
// its escapes goes into a text display, which takes twice as much.
func textBody(escaped string) body {
	b := quiet()
	if fit.Units(escaped) <= maxContent {
		b["content"] = escaped
		return b
	}
	return displayBody(escaped)
}

func displayBody(escaped string) body {
	b := quiet()
	b.flag(flagV2)
	b["components"] = []dg.MessageComponent{dg.TextDisplay{Content: escaped}}
	return b
}

// bodyOf is the message as its card, or as its text.
func bodyOf(out chat.Outgoing) (body, error) {
	if out.Card == nil {
		text := chat.Visible(out.Text)
		if strings.TrimSpace(text) == "" {
			return nil, &chat.Error{Kind: chat.Invalid, Code: "no_text", Err: errors.New("there is nothing to send")}
		}
		escaped := escapeText(text)
		if n := fit.Units(escaped); n > maxAllText {
			return nil, &chat.Error{Kind: chat.Invalid, Code: "msg_too_long", Err: fmt.Errorf("the text has %d characters, Discord takes %d", fit.Units(text), maxContent)}
		}
		if u := out.Mention; u != nil && isID(u.ID) && fit.Units(escaped) < maxContent-30 {
			b := textBody("<@" + u.ID + "> " + escaped)
			b["allowed_mentions"] = dg.MessageAllowedMentions{Parse: []dg.AllowedMentionType{}, Users: []string{u.ID}}
			return b, nil
		}
		return textBody(escaped), nil
	}
	box, err := render(*out.Card)
	if err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_card", Err: err}
	}
	b := quiet()
	b.flag(flagV2)
	b["components"] = []dg.MessageComponent{box}
	return b, nil
}

func fallback(out chat.Outgoing) string {
	if out.Text != "" {
		return out.Text
	}
	return chat.PlainText(*out.Card)
}

// cutText escapes and keeps the result within what one message takes; what is
// cut is cut before the escaping and counted.
func cutText(s string) string {
	s = chat.Visible(s)
	for room := maxAllText; ; room = room * 9 / 10 {
		if out := escapeText(fit.CutNoted(s, room, "")); fit.Units(out) <= maxAllText {
			return out
		}
	}
}

// Update replaces a message. A card without buttons leaves none behind.
func (a *Adapter) Update(ctx context.Context, ref chat.Ref, out chat.Outgoing) error {
	content, err := bodyOf(out)
	if err != nil {
		return err
	}
	err = edit(ctx, a, ref, content)
	if err != nil && chat.KindOf(err) == chat.Invalid {
		// A message that was a card once takes only components (the flag cannot be
		// taken back), and a refused card is shown as its text.
		text := fallbackText(out)
		if out.Card != nil {
			a.counts.Add("card:refused")
			a.cfg.Logger.Warn("Discord refused a card; its text is shown instead", "error", err)
		}
		err = edit(ctx, a, ref, displayBody(cutText(text)))
	}
	if err == nil {
		a.health.Sent()
	}
	return err
}

func fallbackText(out chat.Outgoing) string {
	if out.Card == nil {
		return out.Text
	}
	return fallback(out)
}

func edit(ctx context.Context, a *Adapter, ref chat.Ref, content body) error {
	target, err := targetOf(ref.Place)
	if err != nil {
		return err
	}
	if !isID(ref.Message) {
		return &chat.Error{Kind: chat.Gone, Code: "no_such_message", Err: errors.New("the message's id is none of Discord's")}
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	return a.rest.do(ctx, call{
		verb: http.MethodPatch, path: "channels/" + target + "/messages/" + ref.Message, route: "PATCH messages", major: target, body: replace(content), what: setting,
	}, nil)
}

// replace makes a body that leaves nothing of what stood there before.
func replace(content body) body {
	out := body{}
	for k, v := range content {
		out[k] = v
	}
	if _, ok := out["content"]; !ok { // components V2 allow neither
		out["content"], out["embeds"] = nil, nil
		return out
	}
	out["embeds"], out["components"] = []any{}, []any{}
	return out
}

// targetOf is the channel to write to: a thread is one of its own.
func targetOf(p chat.Place) (string, error) {
	id := firstOf(p.Thread, p.Conversation) // an empty thread is none (B45)
	switch {
	case id == "":
		return "", &chat.Error{Kind: chat.Invalid, Code: "no_place", Err: errors.New("the message says neither where nor to whom")}
	case !isID(id):
		return "", &chat.Error{Kind: chat.Gone, Code: "no_such_place", Err: errors.New("the place's id is none of Discord's")}
	}
	return id, nil
}

// findPages bounds a look-up: 10 pages of 100 messages.
const findPages = 10

// Find looks for the message with the key's nonce among what this app wrote.
func (a *Adapter) Find(ctx context.Context, place chat.Place, key string, since time.Time) (chat.Ref, bool, error) {
	place.Connection = a.cfg.Name
	target, err := targetOf(place)
	if err != nil {
		return chat.Ref{}, false, err
	}
	id, err := a.self.get(ctx)
	if err != nil {
		return chat.Ref{}, false, err
	}
	want := nonce(key)
	after := idAt(since.Add(-time.Minute)) // Discord's clock gives the ids
	for range findPages {
		list, err := a.history(ctx, target, after)
		if err != nil {
			return chat.Ref{}, false, err
		}
		for _, m := range list {
			if m.Author != nil && m.Author.ID == id.user && string(m.Nonce) == want {
				return chat.Ref{Place: place, Message: m.ID}, true, nil
			}
		}
		if len(list) < historyPage {
			return chat.Ref{}, false, nil
		}
		after = list[len(list)-1].ID
	}
	return chat.Ref{}, false, &chat.Error{Kind: chat.Temporary, Code: "find_too_far", Err: errors.New("too many messages since then to look through")}
}

// historyPage is the most one call gives.
const historyPage = 100

// history is the page after a message, oldest first.
func (a *Adapter) history(ctx context.Context, target, after string) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	var list []message
	err := a.rest.do(ctx, call{
		verb: http.MethodGet, path: fmt.Sprintf("channels/%s/messages?after=%s&limit=%d", target, after, historyPage), route: "GET messages", major: target,
	}, &list)
	if err == nil && len(list) == 0 {
		err = a.rights.blind(target) // no refusal, but nothing either (docs, "Get Channel Messages")
	}
	if err != nil {
		return nil, err
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, nil
}

// whisper is a first response that only the person sees.
func whisper(text string) answer {
	b := textBody(cutText(text))
	b.flag(int(dg.MessageFlagsEphemeral))
	return answer{Type: dg.InteractionResponseChannelMessageWithSource, Data: b}
}

// answer is a first response whose data is a body of ours.
type answer struct {
	Type dg.InteractionResponseType `json:"type"`
	Data body                       `json:"data,omitempty"`
}

// respond is the first response to an interaction; it has its own short time.
func (a *Adapter) respond(ctx context.Context, ref *reference, resp any) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Accept)
	defer cancel()
	if !isID(ref.id) || strings.ContainsAny(ref.token, "/?#% ") {
		return &chat.Error{Kind: chat.Invalid, Code: "bad_interaction"}
	}
	return a.rest.do(ctx, call{
		verb: http.MethodPost, path: "interactions/" + ref.id + "/" + ref.token + "/callback", body: resp, what: setting, open: true,
	}, nil)
}

// Notice tells one person something: through the interaction, for 15 minutes
// after a press; in a private conversation there is nobody else to hide it from.
func (a *Adapter) Notice(ctx context.Context, e chat.Event, text string) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Call)
	defer cancel()
	err := error(&chat.Error{Kind: chat.Invalid, Code: "no_interaction", Err: errors.New("only an answer to a press or a command can be shown to one person")})
	if e.Press != nil && e.Press.Reply != "" && !strings.ContainsAny(e.Press.Reply, "/?#% ") {
		err = followUp(ctx, a, e.Press.Reply, text)
		if err == nil {
			a.health.Sent()
			return nil
		}
	}
	if !e.Private || chat.KindOf(err) == chat.UnknownOutcome {
		return err
	}
	if _, err := a.Send(ctx, chat.Outgoing{Key: "notice-" + eventKey(e), Place: e.Place, Text: text}); err != nil {
		return err
	}
	return nil
}

func followUp(ctx context.Context, a *Adapter, token, text string) error {
	id, err := a.self.get(ctx)
	if err != nil {
		return err
	}
	b := textBody(cutText(text))
	b.flag(int(dg.MessageFlagsEphemeral))
	return a.rest.do(ctx, call{verb: http.MethodPost, path: "webhooks/" + id.app + "/" + token, body: b, what: creating, open: true}, nil)
}

// eventKey names what an event's answer asked for.
func eventKey(e chat.Event) string {
	sum := sha256.Sum256([]byte(e.Place.Connection + "\x00" + e.ID))
	return hex.EncodeToString(sum[:16])
}
