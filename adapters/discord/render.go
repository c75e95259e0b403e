package discord

import (
	"strings"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

// Accent colours only underline the state, which is said in words.
const (
	colourOpen      = 0x3b82f6
	colourProtected = 0xf59e0b
	colourSettled   = 0x80848e
)

// render draws a card as one container of components V2: texts, then rows of
// buttons. Words of agents and people are escaped: they can neither mention
// anybody nor look like something else. The result keeps every documented limit;
// what does not fit is cut with a counted note.
//
// An error means that the card can never be sent (a button's id).
func render(c chat.Card) (dg.Container, error) {
	d := fit.Card(c, cardLimits())
	color := colourSettled
	if c.State == chat.CardOpen || c.State == chat.CardConfirming {
		color = colourOpen
		if c.Protected {
			color = colourProtected
		}
	}
	box := dg.Container{AccentColor: &color}
	for _, t := range texts(d.Card, d.Notes) {
		box.Components = append(box.Components, dg.TextDisplay{Content: t})
	}
	rows, err := buttons(d.Card)
	if err != nil {
		return dg.Container{}, err
	}
	box.Components = append(box.Components, rows...)
	return box, nil
}

// cardLimits are Discord's for one card.
func cardLimits() fit.Limits {
	return fit.Limits{
		Title: maxTitle, Text: maxText, Line: maxLine, Field: maxLine, Label: maxPart, From: maxAuthor, Value: maxLine, Links: maxLinks,
		Quotes: maxQuotes, Options: maxOptions, Facts: maxFacts, Fields: maxFields, Evidence: maxEvidence, Buttons: maxButtons,
		Total: func(c chat.Card, notes []string) int {
			n := 0
			for _, t := range texts(c, notes) {
				n += fit.Units(t)
			}
			return n
		},
		Most: maxAllText,
	}
}

// texts are the card's text displays: heading, body, footer.
func texts(c chat.Card, notes []string) []string {
	var out, body []string
	add := func(s string) { body = append(body, s) }
	if c.Title != "" {
		out = append(out, "### "+escape(c.Title))
	}
	if c.Question != "" {
		if c.Struck {
			add(eachLine(escape(c.Question), "~~"))
		} else {
			add(escape(c.Question))
		}
	}
	if c.Outcome != "" {
		add(strong(c.Outcome))
	}
	for _, q := range c.Quotes {
		add("*" + chat.Colon(c.Lang, escape(q.From)) + "*\n> " + strings.ReplaceAll(escape(q.Text), "\n", "\n> "))
	}
	if len(c.Options) > 0 {
		var lines []string
		for _, o := range c.Options {
			line := "**▸ " + escape(o.Label) + "**"
			if o.Consequence != "" {
				line += "  " + escape(o.Consequence)
			}
			if o.Mark != "" {
				line += "  *" + chat.Bracketed(c.Lang, escape(chat.MarkWord(c.Lang, o.Mark))) + "*"
			}
			lines = append(lines, line)
		}
		add(strings.Join(lines, "\n"))
	}
	var facts []string
	for _, f := range c.Facts {
		facts = append(facts, escape(f))
	}
	for _, f := range c.Fields {
		line := strong(f.Label)
		if f.Value != "" {
			line += "  " + escape(f.Value)
		}
		facts = append(facts, line)
	}
	if len(c.Evidence) > 0 {
		facts = append(facts, evidence(c.Lang, c.Evidence))
	}
	if len(facts) > 0 {
		add(strings.Join(facts, "\n"))
	}
	if len(body) > 0 {
		out = append(out, strings.Join(body, "\n"))
	}
	var foot []string
	for _, n := range notes {
		foot = append(foot, "-# "+escape(n))
	}
	foot = append(foot, "-# "+c.State.Mark()+" "+escape(c.State.Word(c.Lang)+footer(c)))
	return append(out, strings.Join(foot, "\n"))
}

func footer(c chat.Card) string {
	if c.Footer == "" {
		return ""
	}
	return " · " + c.Footer
}

func strong(s string) string {
	if strings.TrimSpace(s) == "" {
		return escape(s)
	}
	return "**" + escape(s) + "**"
}

// eachLine sets a mark around every line that has something in it.
func eachLine(s, mark string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = mark + l + mark
		}
	}
	return strings.Join(lines, "\n")
}

// evidence is one line of proofs; an address is clickable only when it is http
// or https, and its host is shown.
func evidence(lang string, list []chat.Evidence) string {
	var parts []string
	for _, e := range list {
		part := escape(e.Text)
		if host, ok := chat.SafeURL(e.URL); ok && !strings.ContainsAny(e.URL, `()\`) && strings.TrimSpace(e.Text) != "" {
			part = "[" + part + "](<" + e.URL + ">)"
			if e.Text != host && e.Text != e.URL { // a label may hold any host's name
				part += " (" + escape(host) + ")"
			}
		}
		if e.Stale {
			part += " *" + chat.Bracketed(lang, escape(chat.StaleWord(lang))) + "*"
		}
		parts = append(parts, part)
	}
	return fit.Either(lang, "Evidence: ", "证据：") + strings.Join(parts, " · ")
}

func buttons(c chat.Card) ([]dg.MessageComponent, error) {
	var spec *formSpec
	if c.Input != nil {
		spec = &formSpec{Name: c.Input.Name, Label: c.Input.Label, Required: c.Input.Required, Multi: c.Input.Multi, Max: c.Input.Max, Lang: c.Lang}
	}
	var rows []dg.MessageComponent
	for i := 0; i < len(c.Buttons); i += maxRow {
		var row dg.ActionsRow
		for _, b := range c.Buttons[i:min(i+maxRow, len(c.Buttons))] {
			id, err := buttonID(b, spec)
			if err != nil {
				return nil, err
			}
			style := dg.SecondaryButton // equal weight for yes and no
			if b.Style == chat.ButtonDanger {
				style = dg.DangerButton
			}
			label := fit.Short(b.Label, maxLabel)
			if strings.TrimSpace(label) == "" {
				label = "·"
			}
			row.Components = append(row.Components, dg.Button{Label: label, Style: style, CustomID: id})
		}
		rows = append(rows, row)
	}
	return rows, nil
}
