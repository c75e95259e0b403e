package lark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

type object = map[string]any

// render draws a card as JSON 2.0. Words of agents and people stand in
// plain_text, where Lark reads no markup; the few places that need markup
// (struck, bold, links) escape every sign that could be some. mark is an
// element_id that finds the card again, "" for none. The result keeps every
// limit; what does not fit is cut with a counted note. No table is ever drawn,
// so the limit of five cannot be met (B56).
//
// An error means that the card can never be sent.
func render(c chat.Card, mark string) (string, error) {
	for _, b := range c.Buttons {
		if b.ID == "" || len(b.ID) > maxIDBytes {
			return "", errors.New("a button's id is empty or too long for Lark")
		}
	}
	d := fit.Card(c, fit.Limits{
		Title: maxHeader, Text: maxSection, Line: maxLine, Field: maxLine, Label: maxFieldName, From: maxLabel, Value: maxLine,
		Links: maxLinks, Most: maxContent,
		Quotes: maxQuotes, Options: maxOptions, Facts: maxFacts, Fields: maxFacts, Evidence: maxQuotes, Buttons: maxButtons,
		Total: func(c chat.Card, notes []string) int {
			raw, err := encode(draw(c, notes, mark))
			if err != nil {
				return maxContent + 1
			}
			return len(raw)
		},
	})
	raw, err := encode(draw(d.Card, d.Notes, mark))
	switch {
	case err != nil:
		return "", err
	case len(raw) > maxContent:
		return "", fmt.Errorf("the card needs %d bytes, Lark takes %d", len(raw), maxContent)
	}
	return string(raw), nil
}

// encode is JSON without the escapes for HTML, which would triple some texts.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func draw(c chat.Card, notes []string, mark string) object {
	var els []object
	add := func(e ...object) { els = append(els, e...) }
	if c.Question != "" {
		if c.Struck {
			add(markdown(wrapLines(c.Question, "~~")))
		} else {
			add(div(c.Question, "heading"))
		}
	}
	if c.Outcome != "" {
		add(markdown(wrapLines(c.Outcome, "**")))
	}
	for _, q := range c.Quotes {
		add(frame(div(chat.Colon(c.Lang, q.From), "notation"), div(q.Text, "")))
	}
	add(options(c)...)
	if len(c.Facts) > 0 {
		add(div(strings.Join(c.Facts, "\n"), ""))
	}
	if len(c.Fields) > 0 {
		lines := make([]string, len(c.Fields))
		for i, f := range c.Fields {
			lines[i] = f.Label + fit.Either(c.Lang, ": ", "：") + f.Value
		}
		add(div(strings.Join(lines, "\n"), ""))
	}
	if len(c.Evidence) > 0 {
		add(markdown(evidence(c.Lang, c.Evidence)))
	}
	for _, n := range notes {
		add(div(n, "notation"))
	}
	foot := div(footer(c), "notation")
	if mark != "" {
		foot["element_id"] = mark
	}
	add(foot)
	add(buttons(c)...)

	card := base(els)
	summary := c.Title
	if summary == "" {
		summary = c.Question
	}
	if summary != "" {
		card["config"].(object)["summary"] = object{"content": fit.Short(strings.ReplaceAll(summary, "\n", " "), maxSummary)}
	}
	if c.Title != "" {
		card["header"] = object{"title": plainText(c.Title), "template": template(c)}
	}
	return card
}

// base is a shared card: only those can be updated (B19).
func base(els []object) object {
	return object{"schema": "2.0", "config": object{"update_multi": true}, "body": object{"elements": els}}
}

// textCard shows a text alone: what a card becomes that can only be text.
func textCard(text, mark string) object {
	d := div(text, "")
	if mark != "" {
		d["element_id"] = mark
	}
	return base([]object{d})
}

// template is the header's colour; state is said as a word and a shape too.
func template(c chat.Card) string {
	switch c.State {
	case chat.CardOpen, chat.CardConfirming:
		if c.Protected || c.State == chat.CardConfirming {
			return "orange"
		}
		return "blue"
	}
	return "grey"
}

func footer(c chat.Card) string {
	line := c.State.Mark() + " " + c.State.Word(c.Lang)
	if c.Footer != "" {
		line += " · " + c.Footer
	}
	return line
}

func plainText(s string) object { return object{"tag": "plain_text", "content": s} }

// div is a paragraph without markup.
func div(text, size string) object {
	t := plainText(text)
	switch size {
	case "":
	case "notation":
		t["text_size"], t["text_color"] = size, "grey"
	default:
		t["text_size"] = size
	}
	return object{"tag": "div", "text": t}
}

func markdown(s string) object { return object{"tag": "markdown", "content": s} }

// frame stands around somebody's words.
func frame(els ...object) object {
	return object{
		"tag": "column_set", "background_style": "grey",
		"columns": []object{{"tag": "column", "width": "weighted", "weight": 1, "padding": "8px", "vertical_spacing": "4px", "elements": els}},
	}
}

// options are two columns each: what it is, and what it leads to. Many become
// one list, so that the card stays below the number of elements.
func options(c chat.Card) []object {
	if len(c.Options) > nativeOption {
		lines := make([]string, len(c.Options))
		for i, o := range c.Options {
			lines[i] = optionLine(c.Lang, o)
		}
		return []object{div(strings.Join(lines, "\n"), "")}
	}
	var out []object
	for _, o := range c.Options {
		label := "▸ " + strings.TrimSuffix("**"+escape(o.Label)+"**", "****")
		if o.Mark != "" {
			label += " " + chat.Bracketed(c.Lang, escape(chat.MarkWord(c.Lang, o.Mark)))
		}
		cols := []object{column(1, markdown(label))}
		if o.Consequence != "" {
			cols = append(cols, column(2, div(o.Consequence, "")))
		}
		out = append(out, object{"tag": "column_set", "flex_mode": "stretch", "columns": cols})
	}
	return out
}

// optionLine is chat.OptionLine for words that are visible already.
func optionLine(lang string, o chat.Option) string {
	line := "▸ " + o.Label
	if o.Consequence != "" {
		line += "  " + o.Consequence
	}
	if o.Mark != "" {
		line += "  " + chat.Bracketed(lang, chat.MarkWord(lang, o.Mark))
	}
	return line
}

func column(weight int, els ...object) object {
	return object{"tag": "column", "width": "weighted", "weight": weight, "elements": els}
}

// evidence is one line of proofs; an address is clickable only when it is http
// or https, and its host is shown.
func evidence(lang string, list []chat.Evidence) string {
	var b strings.Builder
	b.WriteString(fit.Either(lang, "Evidence: ", "证据："))
	for i, e := range list {
		if i > 0 {
			b.WriteString(" · ")
		}
		if host, ok := chat.SafeURL(e.URL); ok {
			b.WriteString("[" + escape(e.Text) + "](" + address(e.URL) + ")")
			if e.Text != host && e.Text != e.URL { // a label may hold any host's name
				b.WriteString(" (" + escape(host) + ")")
			}
		} else {
			b.WriteString(escape(e.Text))
		}
		if e.Stale {
			b.WriteString(" " + chat.Bracketed(lang, chat.StaleWord(lang)))
		}
	}
	return b.String()
}

// address keeps a link's address from ending early or being read as references.
func address(u string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", "'", "%27", "\\", "%5C", "&", "&amp;").Replace(u)
}

// wrapLines puts a mark around each line, since emphasis ends with the line.
func wrapLines(s, mark string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = mark + escape(l) + mark
		}
	}
	return strings.Join(lines, "\n")
}

// escape makes every sign that markdown or Lark's tags could read a character
// reference (documentation "rich text": special characters). That covers
// <at id=all>, links, emphasis, tables, emoji codes and code spans.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		edge := r == ' ' && (i == 0 || i == len(s)-1) // a space at the edge would end the emphasis
		switch {
		case edge, r < 0x7f && strings.ContainsRune("!\"#$%&'()*+-./:;<=>?@[\\]^_`{|}~", r):
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// buttons are rows in the order they were given. Those that need text stand in
// the one form of the card, together with its field: a form must be at the root
// and its names unique. All weigh the same; red is only for what destroys.
func buttons(c chat.Card) []object {
	var out, row []object
	flush := func() {
		if len(row) > 0 {
			out = append(out, buttonRow(row))
			row = nil
		}
	}
	formed := false
	for i, b := range c.Buttons {
		if !b.Form || c.Input == nil {
			row = append(row, button(b, i, false))
			continue
		}
		if formed {
			continue
		}
		formed = true
		flush()
		var inside []object
		for j, f := range c.Buttons {
			if f.Form {
				inside = append(inside, button(f, j, true))
			}
		}
		out = append(out, object{"tag": "form", "name": "form", "elements": []object{input(c), buttonRow(inside)}})
	}
	flush()
	return out
}

func buttonRow(list []object) object {
	if len(list) == 1 {
		return list[0]
	}
	cols := make([]object, len(list))
	for i, b := range list {
		cols[i] = object{"tag": "column", "width": "auto", "elements": []object{b}}
	}
	return object{"tag": "column_set", "flex_mode": "flow", "columns": cols}
}

// button always carries an object: anything else fails on the press (B18).
func button(b chat.Button, i int, submit bool) object {
	el := object{
		"tag": "button", "type": "default", "text": plainText(fit.Short(b.Label, maxLabel)),
		"behaviors": []object{{"type": "callback", "value": object{buttonKey: b.ID}}},
	}
	if b.Style == chat.ButtonDanger {
		el["type"] = "danger"
	}
	if submit {
		el["form_action_type"], el["name"] = "submit", "submit_"+strconv.Itoa(i)
	}
	return el
}

func input(c chat.Card) object {
	label := chat.Visible(c.Input.Label)
	if label == "" {
		label = fit.Either(c.Lang, "Reason", "理由")
	}
	most := maxInput
	if c.Input.Max > 0 {
		most = min(c.Input.Max, maxInput)
	}
	el := object{
		"tag": "input", "name": inputName(c.Input.Name), "label": plainText(fit.Short(label, maxHeader)), "label_position": "top",
		"required": c.Input.Required, "max_length": most, "width": "fill",
	}
	if c.Input.Multi {
		el["input_type"], el["rows"], el["auto_resize"] = "multiline_text", 2, true
	}
	return el
}

// inputName keeps a field's name apart from those of the buttons.
func inputName(s string) string {
	if s == "" {
		return "text"
	}
	if s == "form" || strings.HasPrefix(s, "submit_") {
		return "_" + s
	}
	return s
}
