package lark

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

const (
	typePost = "post"
	typeCard = "interactive"
)

// draft is a message ready to be written.
type draft struct {
	typ, content string
	words        string // what a reader sees of a post, to know it again
}

// post makes a text a message. A post keeps words in elements of their own, so
// that nothing in them can mention anybody or be a link with another label; a
// text message would read both. Whom it is to notify stands in an element "at"
// (documentation "message content", rich text).
func post(text string, mention *chat.User) (draft, error) {
	text = chat.Visible(text)
	var paragraphs [][]object
	for line := range strings.SplitSeq(text, "\n") {
		paragraphs = append(paragraphs, []object{{"tag": "text", "text": line}})
	}
	if mention != nil && strings.HasPrefix(mention.ID, "ou_") {
		paragraphs[0] = append([]object{{"tag": "at", "user_id": mention.ID}, {"tag": "text", "text": " "}}, paragraphs[0]...)
	}
	raw, err := encode(object{"zh_cn": object{"title": "", "content": paragraphs}})
	return draft{typePost, string(raw), text}, err
}

// draftOf draws what is to be sent.
func (a *Adapter) draftOf(out chat.Outgoing) (draft, error) {
	if out.Card != nil {
		raw, err := render(*out.Card, markOf(out.Key))
		if err != nil {
			return draft{}, &chat.Error{Kind: chat.Invalid, Code: "bad_card", Err: err}
		}
		return draft{typ: typeCard, content: raw}, nil
	}
	if strings.TrimSpace(out.Text) == "" {
		return draft{}, &chat.Error{Kind: chat.Invalid, Code: "no_text", Err: errors.New("there is nothing to send")}
	}
	d, err := post(out.Text, out.Mention)
	if err == nil && len(d.content) > maxContent {
		err = fmt.Errorf("the text needs %d bytes, Lark takes %d", len(d.content), maxContent)
	}
	if err != nil {
		return draft{}, &chat.Error{Kind: chat.Invalid, Code: "msg_too_long", Err: err}
	}
	return d, nil
}

// plainDraft is a card's complete text, for when the card is refused.
func (a *Adapter) plainDraft(out chat.Outgoing) (draft, error) {
	d, err := post(plainForm(out), nil)
	for limit := maxContent; err == nil && len(d.content) > maxContent; limit = limit * 3 / 4 {
		d, err = post(fit.CutNoted(plainForm(out), limit, langOf(out)), nil)
	}
	return d, err
}

func plainForm(out chat.Outgoing) string {
	if out.Text == "" && out.Card != nil {
		return chat.PlainText(*out.Card)
	}
	return out.Text
}

func langOf(out chat.Outgoing) string {
	if out.Card != nil {
		return out.Card.Lang
	}
	return ""
}

// markOf is the element_id that finds a card of this key again: a letter and 19
// more, the bound of an element_id.
func markOf(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("loopx mark " + key))
	return "k" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:19]
}

// uuidOf is Lark's idempotency key: one message within an hour.
func uuidOf(key string) string {
	if key == "" || len(key) <= maxUUID {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:maxUUID]
}

// Send writes one message. With an error of kind UnknownOutcome the returned Ref
// still holds the place that was tried, for Find; for a person whose private
// chat is not known yet that is the person's id. The same key within an hour is
// the same message, whatever became of the first try. A card that Lark refuses
// is sent as its complete text instead.
func (a *Adapter) Send(ctx context.Context, out chat.Outgoing) (chat.Ref, error) {
	ref := chat.Ref{Place: out.Place}
	ref.Place.Connection = a.cfg.Name
	if out.To != nil {
		ref.Place.Conversation, ref.Place.Thread = firstOf(a.chats.chatWith(out.To.ID), out.To.ID), ""
	}
	if ref.Place.Conversation == "" {
		return ref, &chat.Error{Kind: chat.Invalid, Code: "no_place", Err: errors.New("the message says neither where nor to whom")}
	}
	var d draft
	var err error
	if out.File != nil {
		d, err = fileDraft(ctx, a.rest, out.File)
	} else {
		d, err = a.draftOf(out)
	}
	if err == nil {
		err = a.write(ctx, &ref, out.Key, d)
	}
	if out.Card != nil && err != nil && chat.KindOf(err) == chat.Invalid {
		a.counts.Add("card:refused")
		a.cfg.Logger.Warn("Lark refused a card; its text is sent instead", "error", err)
		if d, err = a.plainDraft(out); err == nil {
			// A refused card used up no key: nothing was stored.
			err = a.write(ctx, &ref, out.Key, d)
		}
	}
	if err != nil {
		return ref, err
	}
	a.health.Sent()
	return ref, nil
}

// write makes the call and remembers it.
func (a *Adapter) write(ctx context.Context, ref *chat.Ref, key string, d draft) error {
	rec := record{key: key, typ: d.typ, words: digest(d.words), thread: ref.Place.Thread}
	var made made
	var err error
	if ref.Place.Thread != "" {
		made, err = a.replyIn(ctx, ref.Place.Thread, uuidOf(key), d)
	} else {
		made, err = a.rest.create(ctx, ref.Place.Conversation, uuidOf(key), d)
	}
	if err != nil {
		if chat.KindOf(err) == chat.UnknownOutcome {
			a.sent.put(rec)
		}
		return err
	}
	if to := ref.Place.Conversation; made.chat != "" && made.chat != to {
		if strings.HasPrefix(to, "ou_") {
			a.chats.learnPrivate(made.chat, to)
		}
		ref.Place.Conversation = made.chat
	}
	ref.Message, rec.message = made.message, made.message
	a.sent.put(rec)
	return nil
}

// replyIn writes into a topic: as an answer to a message of it. When that was
// recalled another one is taken, but never is a new topic opened (B38).
func (a *Adapter) replyIn(ctx context.Context, thread, uuid string, d draft) (made, error) {
	for try := 0; ; try++ {
		root := a.chats.root(thread)
		if root == "" {
			var err error
			if root, err = a.findRoot(ctx, thread); err != nil {
				return made{}, err
			}
		}
		out, err := a.rest.reply(ctx, root, uuid, d)
		if err == nil || chat.KindOf(err) != chat.Gone || try > 0 {
			return out, err
		}
		a.chats.forgetRoot(thread)
	}
}

// Update replaces a message. A card without buttons leaves none behind. A card
// whose press is being answered is changed right after the answer (B21). Cards
// are patched, texts are edited; the other call would change nothing and say so
// to nobody (B19).
func (a *Adapter) Update(ctx context.Context, ref chat.Ref, out chat.Outgoing) error {
	if !a.busy.wait(ctx, ref.Message, a.cfg.Timing.Accept+a.cfg.Timing.Settle) {
		// It is pressed again and again: whoever is next must not wait for that.
		return &chat.Error{Kind: chat.Temporary, Code: "card_is_pressed"}
	}
	rec, known := a.sent.message(ref.Message)
	var err error
	if known && rec.typ == typePost {
		err = a.edit(ctx, ref.Message, out)
	} else {
		err = a.patch(ctx, ref.Message, out)
		if !known && notACard(err) {
			err = a.edit(ctx, ref.Message, out)
		}
	}
	if err == nil {
		a.health.Sent()
	}
	return err
}

// notACard reports that a patch met a text.
func notACard(err error) bool {
	e, ok := errors.AsType[*chat.Error](err)
	return ok && e.Kind == chat.Invalid && e.Err != nil && strings.Contains(strings.ToLower(e.Err.Error()), "not a card")
}

func (a *Adapter) patch(ctx context.Context, message string, out chat.Outgoing) error {
	d, err := a.draftOf(out)
	if err == nil && out.Card == nil { // a card that became text stays a card on Lark
		d, err = plainCard(d.words, markOf(out.Key))
	}
	if err == nil {
		err = a.rest.patch(ctx, message, d.content)
	}
	if out.Card == nil || err == nil || chat.KindOf(err) != chat.Invalid || notACard(err) {
		return err
	}
	a.counts.Add("card:refused")
	a.cfg.Logger.Warn("Lark refused a card; its text is shown instead", "error", err)
	text, err := a.plainDraft(out)
	if err == nil {
		text, err = plainCard(text.words, markOf(out.Key))
	}
	if err != nil {
		return err
	}
	return a.rest.patch(ctx, message, text.content)
}

func plainCard(text, mark string) (draft, error) {
	raw, err := encode(textCard(text, mark))
	return draft{typ: typeCard, content: string(raw)}, err
}

// edit changes a text. Lark takes 20 edits of one message, after which it is
// Gone for us (B59).
func (a *Adapter) edit(ctx context.Context, message string, out chat.Outgoing) error {
	d, err := a.draftOf(chat.Outgoing{Key: out.Key, Text: plainForm(out)})
	if out.Card != nil && err != nil {
		d, err = a.plainDraft(out)
	}
	if err != nil {
		return err
	}
	return a.rest.edit(ctx, message, d)
}

// Notice tells one person something nobody else sees. Lark has that only in the
// answer to a press; later it is a message in the private chat.
func (a *Adapter) Notice(ctx context.Context, e chat.Event, text string) error {
	if e.Sender.ID == "" {
		return &chat.Error{Kind: chat.Invalid, Code: "no_person", Err: errors.New("the event names no person to tell")}
	}
	_, err := a.Send(ctx, chat.Outgoing{Key: eventKey("notice", e), To: &e.Sender, Text: text})
	return err
}
