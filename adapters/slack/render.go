package slack

import (
	"errors"
	"fmt"
	"strings"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

// render draws a card as Block Kit. Words of agents and people stand in
// rich_text elements and plain_text objects, where Slack reads no markup: they
// can neither mention anybody nor look like something else. The result keeps
// every documented limit; what does not fit is cut with a counted note.
//
// An error means that the card can never be sent (an id that is too long).
func render(c chat.Card) ([]api.Block, error) {
	d := fit.Card(c, cardLimits())
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
			lineOf(chat.Colon(d.Lang, q.From), italic()),
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
				els = append(els, textOf("  "+chat.Bracketed(d.Lang, chat.MarkWord(d.Lang, o.Mark)), italic()))
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
	for _, n := range d.Notes {
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
	els := []api.RichTextSectionElement{textOf(fit.Either(lang, "Evidence: ", "证据："), nil)}
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
			els = append(els, textOf(" "+chat.Bracketed(lang, chat.StaleWord(lang)), italic()))
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
			if b.ID == "" || fit.Units(id) > maxID || fit.Units(b.ID) > maxValue {
				return nil, errors.New("a button's id is empty or too long for Slack")
			}
			el := api.NewButtonBlockElement(id, b.ID, plainObject(fit.Short(b.Label, maxLabel)))
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

// cardLimits are Slack's for one card.
func cardLimits() fit.Limits {
	return fit.Limits{
		Title: maxHeader, Text: maxSection, Line: maxSection, Field: maxField, Label: maxHeader, From: maxLabel,
		Value: maxField - maxHeader - 1, Links: maxLinks,
		Quotes: maxQuotes, Options: maxOptions, Facts: maxFacts, Fields: maxAllField, Evidence: maxEvidence, Buttons: maxButtons,
		Total: total, Most: maxCard,
		// plain_text may grow by escaping.
		Grow: func(s string) int { return fit.Units(plainText(s)) - fit.Units(s) },
	}
}

// total counts all texts, with room for the words the renderer adds.
func total(d chat.Card, notes []string) int {
	n := fit.Units(d.Title) + fit.Units(d.Question) + fit.Units(d.Outcome) + fit.Units(footer(d))
	for _, q := range d.Quotes {
		n += fit.Units(q.From) + fit.Units(q.Text) + 2
	}
	for _, o := range d.Options {
		n += fit.Units(o.Label) + fit.Units(o.Consequence) + 20
	}
	for _, f := range d.Facts {
		n += fit.Units(f) + 1
	}
	for _, f := range d.Fields {
		n += fit.Units(f.Label) + fit.Units(f.Value) + 1
	}
	for _, e := range d.Evidence {
		n += fit.Units(e.Text) + fit.Units(e.URL) + 20
	}
	for _, b := range d.Buttons {
		n += min(fit.Units(b.Label), maxLabel) + 2
	}
	for _, s := range notes {
		n += fit.Units(s)
	}
	return n
}
