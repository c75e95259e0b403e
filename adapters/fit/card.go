package fit

import (
	"fmt"
	"slices"
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
	gone  [lists]int // left out, by list
}

// Card makes every text of c visible and cuts what no limit allows.
func Card(c chat.Card, l Limits) Drawn {
	d := Drawn{Card: c, limit: l}
	d.Quotes = kept(&d, c.Quotes, l.Quotes, quotes)
	d.Options = kept(&d, c.Options, l.Options, options)
	d.Facts = kept(&d, c.Facts, l.Facts, facts)
	d.Fields = kept(&d, c.Fields, l.Fields, fields)
	d.Evidence = kept(&d, c.Evidence, l.Evidence, proofs)
	d.Buttons = kept(&d, c.Buttons, l.Buttons, buttons)
	for i := range d.Buttons {
		d.Buttons[i].Label = AtLeast(chat.Visible(d.Buttons[i].Label))
	}
	all := d.parts()
	for _, p := range all {
		p.to(p.limit)
	}
	d.links()
	d.note()
	d.shrink(all)
	return d
}

// Lists of a card that may be shortened, in the order of their notes.
const (
	quotes = iota
	options
	facts
	fields
	proofs
	buttons
	links
	lists
)

// note says what is left out.
func (d *Drawn) note() {
	words := [lists][2]string{
		{"… %d more quotes", "… 另有 %d 条引用"}, {"… %d more options", "… 另有 %d 个选项"}, {"… %d more facts", "… 另有 %d 条事实"},
		{"… %d more fields", "… 另有 %d 个字段"}, {"… %d more proofs", "… 另有 %d 条证据"}, {"… %d more buttons", "… 另有 %d 个按钮"},
		{"… %d links left out", "… 省略了 %d 个链接"},
	}
	d.Notes = nil
	for i, n := range d.gone {
		if n > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf(Either(d.Lang, words[i][0], words[i][1]), n))
		}
	}
}

// AtLeast keeps a platform from refusing an empty text.
func AtLeast(s string) string {
	if s == "" {
		return " "
	}
	return s
}

// kept bounds a list, counts what is left out and copies the rest.
func kept[T any](d *Drawn, in []T, most int, list int) []T {
	if len(in) > most {
		d.gone[list] = len(in) - most
		in = in[:most]
	}
	return slices.Clone(in)
}

// part is one text of the card.
type part struct {
	at    *string
	full  string // visible, uncut, so that what is gone is counted from the whole
	limit int
	lang  string
	// shrinks: it may be cut further when all texts together are too long.
	// needed: a platform refuses it empty.
	shrinks, needed bool
}

// to cuts the part to a limit, never above its own.
func (p part) to(limit int) {
	*p.at = CutNoted(p.full, min(limit, p.limit), p.lang)
	if p.needed {
		*p.at = AtLeast(*p.at)
	}
}

// parts are all texts that have a limit, in the order in which they are shown.
func (d *Drawn) parts() []part {
	var out []part
	text := func(at *string, limit int, shrinks, needed bool) {
		full := chat.Visible(*at)
		if d.limit.Grow != nil {
			limit -= d.limit.Grow(full)
		}
		out = append(out, part{at: at, full: full, limit: limit, lang: d.Lang, shrinks: shrinks, needed: needed})
	}
	line := func(at *string, limit int, shrinks, needed bool) { // one line by nature
		text(at, limit, shrinks, needed)
		last := &out[len(out)-1]
		last.full = strings.ReplaceAll(last.full, "\n", "⟦U+000A⟧")
	}
	l := d.limit
	line(&d.Title, l.Title, false, false)
	text(&d.Question, l.Text, true, false)
	line(&d.Outcome, l.Line, true, false)
	line(&d.Footer, l.Field, true, false)
	for i := range d.Quotes {
		line(&d.Quotes[i].From, l.From, false, false)
		text(&d.Quotes[i].Text, l.Text, true, true)
	}
	for i := range d.Options {
		line(&d.Options[i].Label, l.Label, true, false)
		line(&d.Options[i].Consequence, l.Field, true, false)
	}
	for i := range d.Facts {
		line(&d.Facts[i], l.Field, true, true)
	}
	for i := range d.Fields {
		line(&d.Fields[i].Label, l.Label, true, false)
		line(&d.Fields[i].Value, l.Value, true, false)
	}
	for i := range d.Evidence {
		line(&d.Evidence[i].Text, l.Label, true, true)
	}
	return out
}

// shrink brings all texts together below Most: the longest ones are cut to one
// common length, the greatest that fits.
func (d *Drawn) shrink(all []part) {
	if d.fits() {
		return
	}
	cut := func(limit int) {
		for _, p := range all {
			if p.shrinks {
				p.to(limit)
			}
		}
	}
	low, high := minCut, d.limit.Text
	for low < high { // the greatest length at which everything fits
		mid := (low + high + 1) / 2
		if cut(mid); d.fits() {
			low = mid
		} else {
			high = mid - 1
		}
	}
	cut(low)
	for !d.fits() && d.drop() {
		d.note()
	}
}

// minCut leaves room for the note.
const minCut = 40

func (d *Drawn) fits() bool { return d.limit.Total(d.Card, d.Notes) <= d.limit.Most }

// drop leaves out the last item of the longest list, when stumps of everything
// are still too much; of each list the first stays.
func (d *Drawn) drop() bool {
	size := [lists]int{quotes: len(d.Quotes), options: len(d.Options), facts: len(d.Facts), fields: len(d.Fields), proofs: len(d.Evidence)}
	at := 0
	for i, n := range size {
		if n > size[at] {
			at = i
		}
	}
	last := size[at] - 1
	if last < 1 {
		return false
	}
	switch at {
	case quotes:
		d.Quotes = d.Quotes[:last]
	case options:
		d.Options = d.Options[:last]
	case facts:
		d.Facts = d.Facts[:last]
	case fields:
		d.Fields = d.Fields[:last]
	case proofs:
		d.Evidence = d.Evidence[:last]
	}
	d.gone[at]++
	return true
}

// links drops addresses beyond what one card has room for; their texts stay.
func (d *Drawn) links() {
	room := d.limit.Links
	for i := range d.Evidence {
		if n := Units(d.Evidence[i].URL); n > room {
			d.Evidence[i].URL = ""
			d.gone[links]++
		} else {
			room -= n
		}
	}
}
