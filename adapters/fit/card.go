package fit

import (
	"fmt"
	"strings"

	"loopx/adapters/chat"
)

// Limits are a platform's, in units. All are needed but Grow.
type Limits struct {
	Title int
	Text  int // question and quotes
	Line  int // outcome
	Field int // footer, facts, consequences
	Label int // labels of options and fields, texts of proofs
	From  int // author of a quote
	Value int // value of a field
	Links int // addresses of all proofs together
	// How many there may be of each; a longer list is cut and counted.
	Quotes, Options, Facts, Fields, Evidence, Buttons int
	// Total says how much a card and its notes take, and Most how much they may.
	Total func(c chat.Card, notes []string) int
	Most  int
	// Grow says how many units drawing adds to a text; nil is none.
	Grow func(s string) int
}

// Drawn is a card whose texts are visible and bounded. Notes say what is not
// shown, each a line.
type Drawn struct {
	chat.Card
	Notes []string
	limit Limits
}

// Card makes every text of c visible and cuts what no limit allows.
func Card(c chat.Card, l Limits) Drawn {
	d := Drawn{Card: c, limit: l}
	d.Title = d.line(c.Title, l.Title)
	d.Question = d.text(c.Question, l.Text)
	d.Outcome = d.line(c.Outcome, l.Line)
	d.Footer = d.line(c.Footer, l.Field)
	d.Quotes = kept(&d, c.Quotes, l.Quotes, "quotes", "条引用", func(q chat.Quote) chat.Quote {
		return chat.Quote{From: d.line(q.From, l.From), Text: AtLeast(d.text(q.Text, l.Text))}
	})
	d.Options = kept(&d, c.Options, l.Options, "options", "个选项", func(o chat.Option) chat.Option {
		return chat.Option{Label: d.line(o.Label, l.Label), Consequence: d.line(o.Consequence, l.Field), Mark: o.Mark}
	})
	d.Facts = kept(&d, c.Facts, l.Facts, "facts", "条事实", func(f string) string { return AtLeast(d.line(f, l.Field)) })
	d.Fields = kept(&d, c.Fields, l.Fields, "fields", "个字段", func(f chat.Field) chat.Field {
		return chat.Field{Label: d.line(f.Label, l.Label), Value: d.line(f.Value, l.Value)}
	})
	d.Evidence = kept(&d, c.Evidence, l.Evidence, "proofs", "条证据", func(e chat.Evidence) chat.Evidence {
		return chat.Evidence{Text: AtLeast(d.line(e.Text, l.Label)), URL: e.URL, Stale: e.Stale}
	})
	d.Buttons = kept(&d, c.Buttons, l.Buttons, "buttons", "个按钮", func(b chat.Button) chat.Button {
		b.Label = AtLeast(chat.Visible(b.Label))
		return b
	})
	d.links()
	d.shrink()
	return d
}

// AtLeast keeps a platform from refusing an empty text.
func AtLeast(s string) string {
	if s == "" {
		return " "
	}
	return s
}

// kept bounds a list and counts what is left out.
func kept[T any](d *Drawn, in []T, most int, en, zh string, each func(T) T) []T {
	if len(in) > most {
		d.Notes = append(d.Notes, Either(d.Lang, fmt.Sprintf("… %d more %s", len(in)-most, en), fmt.Sprintf("… 另有 %d %s", len(in)-most, zh)))
		in = in[:most]
	}
	var out []T
	for _, v := range in {
		out = append(out, each(v))
	}
	return out
}

// line is text that is one line by nature.
func (d *Drawn) line(s string, limit int) string {
	return d.cut(strings.ReplaceAll(chat.Visible(s), "\n", "⟦U+000A⟧"), limit)
}

func (d *Drawn) text(s string, limit int) string { return d.cut(chat.Visible(s), limit) }

// cut shortens s to limit and says how much is gone.
func (d *Drawn) cut(s string, limit int) string {
	if d.limit.Grow != nil {
		limit -= d.limit.Grow(s)
	}
	return CutNoted(s, limit, d.Lang)
}

// shrink brings all texts together below Most: the longest ones are cut to one
// common length, the greatest that fits.
func (d *Drawn) shrink() {
	if d.fits() {
		return
	}
	all := d.cuttable()
	full := make([]string, len(all))
	for i, p := range all {
		full[i] = *p
	}
	low, high := minCut, d.limit.Text
	for low < high { // the greatest length at which everything fits
		mid := (low + high + 1) / 2
		if d.cutAll(all, full, mid); d.fits() {
			low = mid
		} else {
			high = mid - 1
		}
	}
	d.cutAll(all, full, low)
}

func (d *Drawn) fits() bool { return d.limit.Total(d.Card, d.Notes) <= d.limit.Most }

// minCut leaves room for the note; the bounds of the lists keep a card of
// nothing but such stumps small.
const minCut = 40

func (d *Drawn) cutAll(all []*string, full []string, limit int) {
	for i, p := range all {
		*p = CutNoted(full[i], limit, d.Lang)
	}
}

func (d *Drawn) cuttable() []*string {
	out := []*string{&d.Question, &d.Outcome, &d.Footer}
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
func (d *Drawn) links() {
	room, gone := d.limit.Links, 0
	for i := range d.Evidence {
		if n := Units(d.Evidence[i].URL); n > room {
			d.Evidence[i].URL = ""
			gone++
		} else {
			room -= n
		}
	}
	if gone > 0 {
		d.Notes = append(d.Notes, Either(d.Lang, fmt.Sprintf("… %d links left out", gone), fmt.Sprintf("… 省略了 %d 个链接", gone)))
	}
}
