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

// readContent reads what was said. used lists the placeholders of mentions that
// stand in a structure of their own, which is only so in posts; in a text they
// are found in the words. A message of another type has no text but something
// attached.
func readContent(typ, content, message string) (text string, used []string, attached []chat.Attachment, err error) {
	switch typ {
	case "text":
		var c struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal([]byte(content), &c); err != nil {
			return "", nil, nil, fmt.Errorf("the content of a text: %w", err)
		}
		return c.Text, nil, nil, nil
	case "post":
		return readPost(content)
	}
	var c struct {
		Image string `json:"image_key"`
		File  string `json:"file_key"`
		Name  string `json:"file_name"`
	}
	_ = json.Unmarshal([]byte(content), &c) // a content that is no JSON names nothing
	return "", nil, []chat.Attachment{{ID: cmp.Or(c.File, c.Image, message), Name: c.Name, Kind: lane.Word(typ)}}, nil
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
func readPost(content string) (text string, used []string, attached []chat.Attachment, err error) {
	var p struct {
		Title   string      `json:"title"`
		Content [][]postTag `json:"content"`
	}
	if err := json.Unmarshal([]byte(content), &p); err != nil {
		return "", nil, nil, fmt.Errorf("the content of a post: %w", err)
	}
	var lines []string
	if p.Title != "" {
		lines = append(lines, p.Title)
	}
	for _, par := range p.Content {
		var b strings.Builder
		for _, t := range par {
			switch t.Tag {
			case "at":
				b.WriteString(t.UserID)
				used = append(used, t.UserID)
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
	return strings.Join(lines, "\n"), used, attached, nil
}

// mentions puts ids where placeholders stand and lists them in order. A
// placeholder without an entry is only text. In a post the placeholders are
// elements, so words that look like one stay words.
func mentions(text string, used []string, list []rawMention, id identity) (string, []chat.Mention, []string) {
	byKey := map[string]rawMention{}
	for _, m := range list {
		byKey[m.Key] = m
	}
	var out []chat.Mention
	var odd []string
	structured := map[string]bool{}
	for _, u := range used {
		structured[u] = true
	}
	text = placeholder().ReplaceAllStringFunc(text, func(key string) string {
		if used != nil && !structured[key] {
			return key
		}
		if key == "@_all" { // everybody is nobody in particular (B46)
			out = append(out, chat.Mention{ID: "all", All: true})
			return "@all"
		}
		m, ok := byKey[key]
		if !ok {
			return key
		}
		if m.ID.asString {
			odd = append(odd, "mention_as_string")
		}
		one := chat.Mention{ID: m.ID.OpenID}
		if one.ID == "" {
			// Without an open_id nobody can tell who is meant, so it is not us (B47).
			odd = append(odd, "mention_without_open_id")
			one.ID = cmp.Or(m.ID.UnionID, m.ID.UserID, strings.TrimPrefix(key, "@"))
		}
		one.Self = m.ID.OpenID != "" && m.ID.OpenID == id.bot
		out = append(out, one)
		return "@" + one.ID
	})
	return text, out, odd
}

func placeholder() *regexp.Regexp { return regexp.MustCompile(`@_user_\d+|@_all\b`) }
