package lark

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"loopx/adapters/chat"
)

const (
	// findPages bounds a look-up: 20 pages of 50 messages.
	findPages = 20
	// sameKey is how long sending again with the same key is sure to make no
	// second message: Lark says one hour.
	sameKey = 55 * time.Minute
)

// Find looks for the message with the key among what this app wrote. A card
// carries a mark that the history shows; a text is known by its words, which
// only the process that sent it remembers. Where neither decides, the answer is
// "no" as long as sending again with the same key cannot make a second message,
// and after that an error of kind Invalid.
func (a *Adapter) Find(ctx context.Context, place chat.Place, key string, since time.Time) (chat.Ref, bool, error) {
	place.Connection = a.cfg.Name
	rec, remembered := a.sent.key(key)
	if remembered && rec.message != "" {
		return chat.Ref{Place: a.placeOf(place), Message: rec.message}, true, nil
	}
	place = a.placeOf(place)
	if strings.HasPrefix(place.Conversation, "ou_") { // no private chat is known, so none can be listed
		return chat.Ref{}, false, a.undecided(since)
	}
	id, err := a.identify(ctx)
	if err != nil {
		return chat.Ref{}, false, err
	}
	texts := false // there are texts of ours that may be the one
	mark := markOf(key)
	found := ""
	err = a.history(ctx, place, since.Add(-time.Minute), func(m *larkim.Message) bool {
		if !own(m, id) || m.Deleted != nil && *m.Deleted || m.Body == nil {
			return true
		}
		message, content := str(m.MessageId), str(m.Body.Content)
		other, ok := a.sent.message(message)
		switch {
		case ok && other.key != key: // another write of this process
		case str(m.MsgType) == typeCard && strings.Contains(content, `"`+mark+`"`):
			found = message
		case str(m.MsgType) == typeFile && remembered && rec.typ == typeFile && digest(fileName(content)) == rec.words:
			found = message
		case str(m.MsgType) == typeFile:
			texts = true
		case str(m.MsgType) != typePost:
		case remembered && rec.typ == typePost && digest(wordsOf(content)) == rec.words:
			found = message
		default:
			texts = true
		}
		return found == ""
	})
	switch {
	case err != nil:
		return chat.Ref{}, false, err
	case found != "":
		rec.key, rec.message = key, found
		a.sent.put(rec)
		return chat.Ref{Place: place, Message: found}, true, nil
	case texts:
		return chat.Ref{}, false, a.undecided(since)
	}
	return chat.Ref{}, false, nil
}

// undecided is nil while the key itself prevents a second message.
func (a *Adapter) undecided(since time.Time) error {
	if a.cfg.Clock().Sub(since) < sameKey {
		return nil
	}
	return &chat.Error{Kind: chat.Invalid, Code: "cannot_look_up", Err: errors.New("too long ago to send again, and the history does not tell")}
}

// placeOf is the private chat where a person's id stands for it.
func (a *Adapter) placeOf(p chat.Place) chat.Place {
	if c := a.chats.chatWith(p.Conversation); c != "" {
		p.Conversation = c
	}
	return p
}

// own reports whether this app wrote a message.
func own(m *larkim.Message, id identity) bool {
	s := m.Sender
	return s != nil && (str(s.Id) == id.app && str(s.SenderType) == "app" || str(s.Id) == id.bot)
}

// wordsOf is what a reader sees of a post as the history gives it.
func wordsOf(content string) string {
	text, _, err := readPost(content, func(key string) string { return key })
	if err != nil {
		return ""
	}
	return text
}

// history gives what stands in a place since a time, newest first, until each
// returns false.
func (a *Adapter) history(ctx context.Context, place chat.Place, since time.Time, each func(*larkim.Message) bool) error {
	page := ""
	for range findPages {
		b := larkim.NewListMessageReqBuilder().SortType("ByCreateTimeDesc").PageSize(50).CardMsgContentType("user_card_content")
		if place.Thread != "" { // topics take no time
			b.ContainerIdType("thread").ContainerId(place.Thread)
		} else {
			b.ContainerIdType("chat").ContainerId(place.Conversation).StartTime(strconv.FormatInt(max(since.Unix(), 0), 10))
		}
		if page != "" {
			b.PageToken(page)
		}
		data, err := a.rest.listPage(ctx, b.Build())
		if err != nil {
			return err
		}
		for _, m := range data.Items {
			if m == nil || millis(str(m.CreateTime)) < since.UnixMilli() || !each(m) {
				return nil
			}
		}
		if data.HasMore == nil || !*data.HasMore || str(data.PageToken) == "" {
			return nil
		}
		page = *data.PageToken
	}
	return &chat.Error{Kind: chat.Temporary, Code: "find_too_far", Err: errors.New("too many messages since then to look through")}
}

// findRoot looks for a message of a topic that can be answered.
func (a *Adapter) findRoot(ctx context.Context, thread string) (string, error) {
	req := larkim.NewListMessageReqBuilder().ContainerIdType("thread").ContainerId(thread).SortType("ByCreateTimeAsc").PageSize(20).Build()
	data, err := a.rest.listPage(ctx, req)
	if err != nil {
		return "", err
	}
	for _, m := range data.Items {
		if m != nil && (m.Deleted == nil || !*m.Deleted) && str(m.MessageId) != "" {
			a.chats.learnRoot(thread, *m.MessageId)
			return *m.MessageId, nil
		}
	}
	return "", &chat.Error{Kind: chat.Gone, Code: "empty_thread"}
}

// isPrivate asks what kind a chat is, once. Not knowing is not private.
func (a *Adapter) isPrivate(ctx context.Context, id string) bool {
	if private, known := a.chats.isPrivate(id); known || id == "" {
		return private
	}
	var out struct {
		Data struct {
			Mode string `json:"chat_mode"`
		} `json:"data"`
	}
	if err := a.rest.get(ctx, "/open-apis/im/v1/chats/"+pathPart(id), nil, &out); err != nil {
		a.counts.Add("look:chat_failed")
		return false
	}
	a.chats.learnKind(id, out.Data.Mode == "p2p")
	return out.Data.Mode == "p2p"
}

// nameOf asks for a person's name, for showing only. Without the scope, or
// outside the app's contact range, there is none.
func (a *Adapter) nameOf(ctx context.Context, id string) string {
	if name, known := a.chats.name(id); known {
		return name
	}
	var out struct {
		Data struct {
			User struct {
				Name string `json:"name"`
			} `json:"user"`
		} `json:"data"`
	}
	query := larkcore.QueryParams{"user_id_type": []string{"open_id"}}
	err := a.rest.get(ctx, "/open-apis/contact/v3/users/"+pathPart(id), query, &out)
	if err != nil {
		a.counts.Add("look:name_failed")
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Code == "no_answer" || e.Code == "not_sent" {
			return "" // ask again next time
		}
	}
	a.chats.learnName(id, out.Data.User.Name)
	return out.Data.User.Name
}

// pathPart keeps an id from the wire to one part of a path.
func pathPart(id string) string {
	b, err := json.Marshal(id)
	if err != nil || len(b) != len(id)+2 || strings.ContainsAny(id, "/?#%. ") {
		return "invalid"
	}
	return id
}
