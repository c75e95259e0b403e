package lark

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// readContent reads what was said. at is asked for the words of each mention: in
// a text mentions are placeholders among the words, in a post they are elements,
// so words that look like one stay words. A message of another type has no text
// but something attached.
func readContent(typ, content, message string, at func(key string) string) (string, []chat.Attachment, error) {
	switch typ {
	case "text":
		var c struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal([]byte(content), &c); err != nil {
			return "", nil, fmt.Errorf("the content of a text: %w", err)
		}
		return regexp.MustCompile(`@_user_\d+|@_all\b`).ReplaceAllStringFunc(c.Text, at), nil, nil
	case "post":
		return readPost(content, at)
	}
	var c struct {
		Image string `json:"image_key"`
		File  string `json:"file_key"`
		Name  string `json:"file_name"`
	}
	_ = json.Unmarshal([]byte(content), &c) // a content that is no JSON names nothing
	return "", []chat.Attachment{{ID: cmp.Or(c.File, c.Image, message), Name: c.Name, Kind: lane.Word(typ)}}, nil
}

type postTag struct {
	Tag    string `json:"tag"`
	Text   string `json:"text"`
	Href   string `json:"href"`
	UserID string `json:"user_id"`
	Image  string `json:"image_key"`
	File   string `json:"file_key"`
	Lang   string `json:"language"`
}

// readPost flattens a post: a paragraph is a line, a link is "label (address)".
func readPost(content string, at func(key string) string) (string, []chat.Attachment, error) {
	var p struct {
		Title   string      `json:"title"`
		Content [][]postTag `json:"content"`
	}
	if err := json.Unmarshal([]byte(content), &p); err != nil {
		return "", nil, fmt.Errorf("the content of a post: %w", err)
	}
	var lines []string
	var attached []chat.Attachment
	if p.Title != "" {
		lines = append(lines, p.Title)
	}
	for _, par := range p.Content {
		var b strings.Builder
		for _, t := range par {
			switch t.Tag {
			case "at":
				b.WriteString(at(t.UserID))
			case "a":
				b.WriteString(t.Text)
				if t.Href != "" && t.Href != t.Text {
					b.WriteString(" (" + t.Href + ")")
				}
			case "img", "media":
				attached = append(attached, chat.Attachment{ID: cmp.Or(t.File, t.Image), Kind: t.Tag})
			case "hr":
				b.WriteString("---")
			case "code_block":
				b.WriteString("```" + t.Lang + "\n" + strings.TrimSuffix(t.Text, "\n") + "\n```")
			default:
				b.WriteString(t.Text)
			}
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n"), attached, nil
}

// mentions turns placeholders into mentions, in the order they are asked for.
type mentions struct {
	bot   string // our open_id
	byKey map[string]rawMention
	list  []chat.Mention
	odd   []string
}

func newMentions(list []rawMention, id identity) *mentions {
	m := &mentions{bot: id.bot, byKey: map[string]rawMention{}}
	for _, r := range list {
		m.byKey[r.Key] = r
	}
	return m
}

// at is the words for one placeholder; one without an entry is only text.
func (m *mentions) at(key string) string {
	if key == "@_all" { // everybody is nobody in particular (B46)
		m.list = append(m.list, chat.Mention{ID: "all", All: true})
		return "@all"
	}
	r, ok := m.byKey[key]
	if !ok {
		return key
	}
	if r.ID.asString {
		m.odd = append(m.odd, "mention_as_string")
	}
	one := chat.Mention{ID: r.ID.OpenID, Self: r.ID.OpenID != "" && r.ID.OpenID == m.bot}
	if one.ID == "" {
		// Without an open_id nobody can tell who is meant, so it is not us (B47).
		m.odd = append(m.odd, "mention_without_open_id")
		one.ID = cmp.Or(r.ID.UnionID, r.ID.UserID, strings.TrimPrefix(key, "@"))
	}
	m.list = append(m.list, one)
	return "@" + one.ID
}
