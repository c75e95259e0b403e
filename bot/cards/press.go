package cards

import (
	"path"
	"slices"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// What a card shows of a text before the rest is a press away.
const (
	whyShown         = 300
	consequenceShown = 150
)

// shorten cuts a text for a card; the whole is on its pages.
func shorten(s string, most int) string {
	if len([]rune(chat.Visible(s))) <= most {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:min(most-1, len(r))]), " ") + "…"
}

// doubts are what keeps a reader from knowing what they would approve.
func doubts(g view.Gate, c GateCopy, w words) []string {
	var out []string
	if c.Lookalike != "" {
		out = append(out, sprintf(w.lookalike, c.Lookalike))
	}
	if g.Kind == "permission" || g.Kind == "destructive" {
		if loose(g) {
			out = append(out, w.unpinned)
		}
	}
	if len(c.Pages) > 0 && c.Page < len(c.Pages) {
		out = append(out, w.readFirst)
	}
	return out
}

// loose says whether the words of a gate name a file that is run, and no evidence
// fixes what is in it.
func loose(g view.Gate) bool {
	said := g.Question + " " + g.Why
	for _, o := range g.Options {
		said += " " + o.Label + " " + o.Consequence
	}
	for word := range strings.FieldsSeq(said) {
		word = strings.Trim(word, "\"'`();,:?!。，？！")
		if script(word) && !slices.ContainsFunc(g.Evidence, func(e view.Evidence) bool {
			return e.Kind == "artifact" && !e.Loose && path.Clean(e.Ref) == path.Clean(word)
		}) {
			return true
		}
	}
	return false
}

// script says whether a word names a file that is run: what is in it when it runs
// is not what a person saw.
func script(word string) bool {
	for _, end := range []string{".sh", ".bash", ".py", ".js", ".ts", ".rb", ".pl", ".ps1", ".php"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return strings.HasPrefix(word, "./")
}

// press draws the live buttons of a copy and the form that some of them open.
func press(card *chat.Card, g view.Gate, c GateCopy, w words) {
	words, forms := 0, 0
	for _, a := range c.Actions {
		b := button(g, c, a, w)
		if b.Form {
			forms++
			if free(g, a.Option) {
				words++
			}
		}
		card.Buttons = append(card.Buttons, b)
	}
	if forms == 0 {
		return
	}
	card.Input = &chat.Input{Name: "reason", Label: w.reasonLabel, Multi: true, Max: 1000}
	switch words {
	case forms:
		card.Input.Label, card.Input.Required = w.answerLabel, true
	case 0:
	default:
		card.Input.Label = w.eitherLabel
	}
}

// free says whether an option takes the person's own words: it is the only one
// that answers.
func free(g view.Gate, id string) bool {
	n, found := 0, false
	for _, o := range g.Options {
		if o.Outcome == kernel.Answer {
			n++
			found = found || o.ID == id
		}
	}
	return n == 1 && found
}

func button(g view.Gate, c GateCopy, a Action, w words) chat.Button {
	label, outcome := "", ""
	for _, o := range g.Options {
		if o.ID == a.Option {
			label, outcome = o.Label, o.Outcome
		}
	}
	b := chat.Button{ID: a.ID, Label: label}
	releases := outcome == kernel.Approve || outcome == kernel.Answer
	switch a.Step {
	case "back":
		b.Label = w.back
	case "snooze":
		b.Label = w.snooze
	case "change":
		b.Label = w.change
	case "disown":
		b.Label = w.notMe + "…"
	case "page":
		switch {
		case c.Page == 0:
			b.Label = w.showAll
		case c.Page < len(c.Pages):
			b.Label = sprintf(w.nextPage, c.Page+1, len(c.Pages))
		default:
			b.Label = w.firstPage
		}
	case "confirm":
		switch {
		case c.Step == "disown":
			b.Label = sprintf(w.confirm, w.notMe)
		case a.Grant == "goal":
			b.Label = sprintf(w.confirm, sprintf(w.forGoal, label))
		default:
			b.Label = sprintf(w.confirm, label)
		}
		if g.Kind == "destructive" {
			b.Style = chat.ButtonDanger
		}
	default:
		b.Form = outcome == kernel.Reject || free(g, a.Option)
		switch a.Grant {
		case "goal":
			b.Label = sprintf(w.forGoal, label)
		case "action":
			b.Label = sprintf(w.forAction, label)
		}
		if b.Form || g.Protected && releases || a.Grant == "goal" {
			b.Label += "…" // one more step
		}
	}
	return b
}

func day(ms int64, zone *time.Location, lang string) string {
	if zone == nil {
		zone = time.UTC
	}
	t := time.UnixMilli(ms).In(zone)
	if lang == "zh" {
		return t.Format("1 月 2 日")
	}
	return t.Format("2 Jan")
}
