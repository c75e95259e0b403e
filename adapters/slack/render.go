package slack

import (
	"errors"
	"fmt"
	"strings"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
)

// render draws a card as Block Kit. Words of agents and people stand in
// rich_text elements and plain_text objects, where Slack reads no markup: they
// can neither mention anybody nor look like something else. The result keeps
// every documented limit; what does not fit is cut with a counted note.
//
// An error means that the card can never be sent (an id that is too long).
func render(c chat.Card) ([]api.Block, error) {
	d := fit(c)
	var blocks []api.Block
	add := func(b api.Block) { blocks = append(blocks, b) }

	if d.Title != "" {
		add(api.NewHeaderBlock(plainObject(d.Title)))
	}
	if d.Question != "" {
		var style *api.RichTextSectionTextStyle
		if d.Struck {
			style = &api.RichTextSectionTextStyle{Strike: true}
		}
		add(richLines("question", lineOf(d.Question, style)))
	}
	if d.Outcome != "" {
		add(richLines("outcome", lineOf(d.Outcome, bold())))
	}
	for i, q := range d.Quotes {
		add(api.NewRichTextBlock(fmt.Sprintf("quote.%d", i),
			lineOf(q.From+":", italic()),
			&api.RichTextQuote{Type: api.RTEQuote, Elements: []api.RichTextSectionElement{textOf(q.Text, nil)}}))
	}
	if len(d.Options) > 0 {
		var lines []api.RichTextElement
		for _, o := range d.Options {
			els := []api.RichTextSectionElement{textOf("▸ "+o.Label, bold())}
			if o.Consequence != "" {
				els = append(els, textOf("  "+o.Consequence, nil))
			}
			if o.Mark != "" {
				els = append(els, textOf("  ("+chat.MarkWord(d.Lang, o.Mark)+")", italic()))
			}
			lines = append(lines, api.NewRichTextSection(els...))
		}
		add(richLines("options", lines...))
	}
	if len(d.Facts) > 0 {
		var lines []api.RichTextElement
		for _, f := range d.Facts {
			lines = append(lines, lineOf(f, nil))
		}
		add(richLines("facts", lines...))
	}
	for i := 0; i < len(d.Fields); i += maxFields {
		var fields []*api.TextBlockObject
		for _, f := range d.Fields[i:min(i+maxFields, len(d.Fields))] {
			fields = append(fields, plainObject(f.Label+"\n"+f.Value))
		}
		add(api.NewSectionBlock(nil, fields, nil, api.SectionBlockOptionBlockID(fmt.Sprintf("fields.%d", i/maxFields))))
	}
	if len(d.Evidence) > 0 {
		add(richLines("evidence", evidence(d.Lang, d.Evidence)))
	}
	for _, n := range d.notes {
		add(api.NewContextBlock("", plainObject(n)))
	}
	add(api.NewContextBlock("footer", plainObject(footer(d.Card))))

	buttons, err := actions(d.Card)
	if err != nil {
		return nil, err
	}
	return append(blocks, buttons...), nil
}

func footer(c chat.Card) string {
	line := c.State.Mark() + " " + c.State.Word(c.Lang)
	if c.Footer != "" {
		line += " · " + c.Footer
	}
	return line
}

// evidence is one line of proofs; an address is clickable only when it is http
// or https, and its host is shown.
func evidence(lang string, list []chat.Evidence) api.RichTextElement {
	els := []api.RichTextSectionElement{textOf(either(lang == "zh", "Evidence: ", "证据："), nil)}
	for i, e := range list {
		if i > 0 {
			els = append(els, textOf(" · ", nil))
		}
		if host, ok := chat.SafeURL(e.URL); ok {
			els = append(els, api.NewRichTextSectionLinkElement(e.URL, e.Text, nil))
			if e.Text != host && e.Text != e.URL { // a label may hold any host's name
				els = append(els, textOf(" ("+host+")", nil))
			}
		} else {
			els = append(els, textOf(e.Text, nil))
		}
		if e.Stale {
			els = append(els, textOf(" ("+chat.StaleWord(lang)+")", italic()))
		}
	}
	return api.NewRichTextSection(els...)
}

func actions(c chat.Card) ([]api.Block, error) {
	var blocks []api.Block
	spec := "actions"
	if c.Input != nil {
		spec = formSpec{
			Name: c.Input.Name, Label: c.Input.Label, Required: c.Input.Required, Multi: c.Input.Multi, Max: c.Input.Max, Lang: c.Lang,
		}.block()
	}
	for i := 0; i < len(c.Buttons); i += maxActions {
		var els []api.BlockElement
		for j, b := range c.Buttons[i:min(i+maxActions, len(c.Buttons))] {
			id := buttonID(i+j, b)
			if b.ID == "" || units(id) > maxID || units(b.ID) > maxValue {
				return nil, errors.New("a button's id is empty or too long for Slack")
			}
			el := api.NewButtonBlockElement(id, b.ID, plainObject(short(b.Label, maxLabel)))
			if b.Style == chat.ButtonDanger {
				el.Style = api.StyleDanger
			}
			els = append(els, el)
		}
		blocks = append(blocks, api.NewActionBlock(fmt.Sprintf("%s.%d", spec, i/maxActions), els...))
	}
	return blocks, nil
}

func richLines(id string, lines ...api.RichTextElement) api.Block {
	return api.NewRichTextBlock(id, lines...)
}

func lineOf(s string, style *api.RichTextSectionTextStyle) api.RichTextElement {
	return api.NewRichTextSection(textOf(s, style))
}

func textOf(s string, style *api.RichTextSectionTextStyle) api.RichTextSectionElement {
	return api.NewRichTextSectionTextElement(s, style)
}

func bold() *api.RichTextSectionTextStyle   { return &api.RichTextSectionTextStyle{Bold: true} }
func italic() *api.RichTextSectionTextStyle { return &api.RichTextSectionTextStyle{Italic: true} }

// plainText prepares words for a plain_text object. Slack reads no markup
// there, but it undoes the three entities, so only an "&" that would start one
// is escaped.
func plainText(s string) string {
	for _, e := range []string{"&amp;", "&lt;", "&gt;"} {
		if strings.Contains(s, e) {
			return strings.NewReplacer("&amp;", "&amp;amp;", "&lt;", "&amp;lt;", "&gt;", "&amp;gt;").Replace(s)
		}
	}
	return s
}

// escape prepares words for a message's text: the three characters Slack reads
// as markup (docs, "Escaping text"). With mrkdwn off nothing else is markup, so
// names like my_var_name and __init__ stay as they are (B66), and <!channel>
// or <@U1> from an agent is only text (B54).
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// drawn is a card whose texts are visible, bounded and ready to be drawn.
type drawn struct {
	chat.Card
	notes []string
}

// Bounds of the parts of one card beyond what Slack says: a phone shows no more.
const (
	maxQuotes   = 10
	maxOptions  = 20
	maxFacts    = 20
	maxAllField = 20
	maxEvidence = 10
	maxButtons  = 25
	maxLinks    = 3000 // characters of all addresses
)

// fit makes every text visible and cuts what no limit allows.
func fit(c chat.Card) drawn {
	d := drawn{Card: c}
	d.Title = d.line(c.Title, maxHeader)
	d.Question = d.text(c.Question, maxSection)
	d.Outcome = d.line(c.Outcome, maxSection)
	d.Footer = d.line(c.Footer, maxField)
	d.Quotes = kept(&d, c.Quotes, maxQuotes, "quotes", "条引用", func(q chat.Quote) chat.Quote {
		return chat.Quote{From: d.line(q.From, maxLabel), Text: atLeast(d.text(q.Text, maxSection))}
	})
	d.Options = kept(&d, c.Options, maxOptions, "options", "个选项", func(o chat.Option) chat.Option {
		return chat.Option{Label: d.line(o.Label, maxHeader), Consequence: d.line(o.Consequence, maxField), Mark: o.Mark}
	})
	d.Facts = kept(&d, c.Facts, maxFacts, "facts", "条事实", func(f string) string { return atLeast(d.line(f, maxField)) })
	d.Fields = kept(&d, c.Fields, maxAllField, "fields", "个字段", func(f chat.Field) chat.Field {
		return chat.Field{Label: d.line(f.Label, maxHeader), Value: d.line(f.Value, maxField-maxHeader-1)}
	})
	d.Evidence = kept(&d, c.Evidence, maxEvidence, "proofs", "条证据", func(e chat.Evidence) chat.Evidence {
		return chat.Evidence{Text: atLeast(d.line(e.Text, maxHeader)), URL: e.URL, Stale: e.Stale}
	})
	d.Buttons = kept(&d, c.Buttons, maxButtons, "buttons", "个按钮", func(b chat.Button) chat.Button {
		b.Label = atLeast(chat.Visible(b.Label))
		return b
	})
	d.links()
	d.shrink()
	return d
}

// atLeast keeps Slack from refusing an empty text object.
func atLeast(s string) string {
	if s == "" {
		return " "
	}
	return s
}

// kept bounds a list and counts what is left out.
func kept[T any](d *drawn, in []T, most int, en, zh string, each func(T) T) []T {
	if len(in) > most {
		d.notes = append(d.notes, either(d.Lang == "zh", fmt.Sprintf("… %d more %s", len(in)-most, en), fmt.Sprintf("… 另有 %d %s", len(in)-most, zh)))
		in = in[:most]
	}
	var out []T
	for _, v := range in {
		out = append(out, each(v))
	}
	return out
}

// line is text that is one line by nature.
func (d *drawn) line(s string, limit int) string {
	return d.cut(strings.ReplaceAll(chat.Visible(s), "\n", "⟦U+000A⟧"), limit)
}

func (d *drawn) text(s string, limit int) string { return d.cut(chat.Visible(s), limit) }

// cut shortens s to limit and says how much is gone. plain_text may grow by
// escaping, so that is counted.
func (d *drawn) cut(s string, limit int) string {
	return cutNoted(s, limit-(units(plainText(s))-units(s)), d.Lang)
}

func cutNoted(s string, limit int, lang string) string {
	total := units(s)
	if total <= limit {
		return s
	}
	note := func(gone int) string {
		return either(lang == "zh", fmt.Sprintf(" … [%d more characters]", gone), fmt.Sprintf(" … [另有 %d 字]", gone))
	}
	room := max(limit-units(note(total)), 0)
	at := cutAt(s, room)
	if room == 0 {
		at = 0
	}
	return s[:at] + note(total-units(s[:at]))
}

// shrink brings all texts together below maxCard: the longest ones are cut to
// one common length, the greatest that fits.
func (d *drawn) shrink() {
	if d.total() <= maxCard {
		return
	}
	all := d.cuttable()
	full := make([]string, len(all))
	for i, p := range all {
		full[i] = *p
	}
	low, high := minCut, maxSection
	for low < high { // the greatest length at which everything fits
		mid := (low + high + 1) / 2
		if d.cutAll(all, full, mid); d.total() <= maxCard {
			low = mid
		} else {
			high = mid - 1
		}
	}
	d.cutAll(all, full, low)
}

// minCut leaves room for the note; the bounds of the lists keep a card of
// nothing but such stumps below maxCard.
const minCut = 40

func (d *drawn) cutAll(all []*string, full []string, limit int) {
	for i, p := range all {
		*p = cutNoted(full[i], limit, d.Lang)
	}
}

func (d *drawn) cuttable() []*string {
	out := []*string{&d.Question, &d.Outcome, &d.Card.Footer}
	for i := range d.Quotes {
		out = append(out, &d.Quotes[i].Text)
	}
	for i := range d.Options {
		out = append(out, &d.Options[i].Label, &d.Options[i].Consequence)
	}
	for i := range d.Facts {
		out = append(out, &d.Facts[i])
	}
	for i := range d.Fields {
		out = append(out, &d.Fields[i].Label, &d.Fields[i].Value)
	}
	for i := range d.Evidence {
		out = append(out, &d.Evidence[i].Text)
	}
	return out
}

// links drops addresses beyond what one card has room for; their texts stay.
func (d *drawn) links() {
	room, gone := maxLinks, 0
	for i := range d.Evidence {
		if n := units(d.Evidence[i].URL); n > room {
			d.Evidence[i].URL = ""
			gone++
		} else {
			room -= n
		}
	}
	if gone > 0 {
		d.notes = append(d.notes, either(d.Lang == "zh", fmt.Sprintf("… %d links left out", gone), fmt.Sprintf("… 省略了 %d 个链接", gone)))
	}
}

// total counts all texts, with room for the words the renderer adds.
func (d *drawn) total() int {
	n := units(d.Title) + units(d.Question) + units(d.Outcome) + units(footer(d.Card))
	for _, q := range d.Quotes {
		n += units(q.From) + units(q.Text) + 2
	}
	for _, o := range d.Options {
		n += units(o.Label) + units(o.Consequence) + 20
	}
	for _, f := range d.Facts {
		n += units(f) + 1
	}
	for _, f := range d.Fields {
		n += units(f.Label) + units(f.Value) + 1
	}
	for _, e := range d.Evidence {
		n += units(e.Text) + units(e.URL) + 20
	}
	for _, b := range d.Buttons {
		n += min(units(b.Label), maxLabel) + 2
	}
	for _, s := range d.notes {
		n += units(s)
	}
	return n
}
