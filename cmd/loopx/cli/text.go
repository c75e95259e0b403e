package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// lineMost is how many lines of a list make a screen; then the rest is counted.
const lineMost = 20

// show prepares text of others for one line of a terminal: nothing in it can move
// the cursor, hide, or start a line. It is cut to most characters.
func show(s string, most int) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	return cut(chat.Visible(s), most)
}

// cut shortens to most columns, with an ellipsis.
func cut(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > most-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// columns is the width of a string on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x1100:
		return 1
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// printer lays text out for the terminal it goes to.
type printer struct {
	width int // columns
	color bool
	now   func() time.Time
}

// table prints rows in aligned columns; the last column takes what is left of the
// width. Empty trailing cells vanish.
func (p *printer) table(rows [][]string) string {
	var widths []int
	for _, r := range rows {
		for i, c := range r[:max(len(r)-1, 0)] {
			for len(widths) <= i {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(c))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, c := range r {
			if i == len(r)-1 {
				line += cut(c, max(p.width-columns(line), 20))
				break
			}
			line += c + strings.Repeat(" ", widths[i]-columns(c)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// wrapped is table whose last column goes on in further lines where it does not fit:
// for what must be read whole.
func (p *printer) wrapped(rows [][]string) string {
	indent := 0
	for i := 0; ; i++ {
		widest, more := 0, false
		for _, r := range rows {
			if i < len(r)-1 {
				widest, more = max(widest, columns(r[i])), true
			}
		}
		if !more {
			break
		}
		indent += widest + 2
	}
	var out [][]string
	for _, r := range rows {
		lines := words(r[len(r)-1], max(p.width-indent, 20))
		out = append(out, append(slices.Clone(r[:len(r)-1]), lines[0]))
		for _, l := range lines[1:] {
			out = append(out, append(make([]string, len(r)-1), l))
		}
	}
	return p.table(out)
}

// words breaks a text at spaces into lines of at most so many columns; a longer word
// stands alone.
func words(s string, most int) []string {
	lines := []string{""}
	for _, w := range strings.Split(s, " ") {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case columns(*last)+1+columns(w) <= most:
			*last += " " + w
		default:
			lines = append(lines, w)
		}
	}
	return lines
}

// screen is table for at most one screen of rows, and says how to see the rest.
func (p *printer) screen(rows [][]string, all bool, more string) string {
	if all || len(rows) <= lineMost {
		return p.table(rows)
	}
	return p.table(rows[:lineMost]) + fmt.Sprintf("… %d more: %s\n", len(rows)-lineMost, more)
}

// bold marks what is asked of the reader, where the terminal can.
func (p *printer) bold(s string) string {
	if !p.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// clock is a time as the reader's wall shows it, with the day when it is not today.
func (p *printer) clock(ms int64) string {
	if ms == 0 {
		return ""
	}
	t, now := time.UnixMilli(ms).Local(), p.now()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	if d := t.Sub(now); d < 180*24*time.Hour && d > -180*24*time.Hour {
		return t.Format("Jan 2 15:04")
	}
	return t.Format("2006-01-02")
}

// age is how long ago something was, in one unit.
func (p *printer) age(ms int64) string {
	if ms == 0 {
		return ""
	}
	d := p.now().Sub(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

func prio(p kernel.Priority) string { return fmt.Sprintf("P%d", p) }

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// refusal is an error for people: what was wrong, what was kept, what to do.
func refusal(e *kernel.Error) string {
	word := "refused"
	switch e.Class {
	case kernel.Unavailable, kernel.Locked, kernel.Internal:
		word = "not done"
	case kernel.Unknown:
		word = "not known"
	}
	b := fmt.Sprintf("%s: %s (%s)\n  %s\n", word, show(e.Message, 2000), e.Code, kept(e))
	if e.Fix != "" {
		b += "  try: " + show(e.Fix, 400) + "\n"
	}
	return b
}

func kept(e *kernel.Error) string {
	switch {
	case e.Kept != "":
		return e.Kept
	case e.Class == kernel.Unknown:
		return "it may or may not have been written"
	}
	return "nothing was changed"
}

// out prints a command's answer: one JSON object, or text.
func (a *app) out(f *fields, text func() string) error {
	if a.asJSON {
		a.printJSON(f)
		return nil
	}
	fmt.Fprint(a.opt.Out, text())
	if len(a.ignored) > 0 {
		fmt.Fprintf(a.opt.Err, "note: no use here, ignored: %s\n", strings.Join(a.ignored, " "))
	}
	return nil
}

// said is the text of a command that was done, repeated, or only shown.
func said(rec kernel.Receipt, text string) string {
	switch {
	case rec.Preview && !rec.Changed:
		return "would change nothing: " + text + "\n"
	case rec.Preview:
		var b strings.Builder
		fmt.Fprintf(&b, "would do: %s\n", text)
		for _, c := range rec.Changes {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(c.Event, "_", " "))
			for _, l := range fieldChanges(c) {
				fmt.Fprintf(&b, "    %s\n", l)
			}
		}
		fmt.Fprintf(&b, "  nothing was changed; to do exactly this add --plan %s\n", rec.Plan)
		return b.String()
	case rec.Replay:
		return text + " (answered before, nothing was changed now)\n"
	case !rec.Changed:
		return text + " (it was so already)\n"
	}
	return text + "\n"
}

// fieldChanges lists the fields that a change gives another value, old and new. What
// only counts or dates the row is left out, and so is a row that is new.
func fieldChanges(c kernel.Change) (lines []string) {
	var before, after map[string]any
	if json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil || before == nil {
		return nil
	}
	value := func(v any) string {
		switch v := v.(type) {
		case nil:
			return "none"
		case string:
			return show(v, 200)
		}
		b, _ := json.Marshal(v)
		return show(string(b), 200)
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if k != "revision" && k != "updated" && k != "course" && value(before[k]) != value(after[k]) {
			lines = append(lines, strings.ReplaceAll(k, "_", " ")+": "+value(before[k])+" -> "+value(after[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[k]; !ok {
			lines = append(lines, strings.ReplaceAll(k, "_", " ")+": "+value(before[k])+" -> none")
		}
	}
	return lines
}
