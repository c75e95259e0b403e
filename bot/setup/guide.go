package setup

import (
	"embed"
	"strings"
)

// guides are the pages of docs/guides up to their second step, and what they say
// of doing without a websocket, word for word; a
// test compares them.
//
//go:embed guide/*.md
var guides embed.FS

// guide is what to do at the platform, in Markdown; where it calls us, with what
// is different then.
func (p platform) guide() string {
	out := p.page("")
	if p.webhook {
		out += "\n" + p.page(".webhook")
	}
	return out
}

func (p platform) page(part string) string {
	b, err := guides.ReadFile("guide/" + p.name + part + ".md")
	if err != nil {
		panic("setup: no guide for " + p.name) // it is compiled in
	}
	return string(b)
}

// fenced are the blocks to paste, in order, by their language.
func fenced(md string) (langs, blocks []string) {
	var b strings.Builder
	in := false
	for line := range strings.Lines(md) {
		if lang, ok := strings.CutPrefix(line, "```"); ok {
			if in {
				blocks = append(blocks, b.String())
				b.Reset()
			} else {
				langs = append(langs, strings.TrimSpace(lang))
			}
			in = !in
			continue
		}
		if in {
			b.WriteString(line)
		}
	}
	return langs, blocks
}

const width = 80

// plain is Markdown of the guides as a terminal shows it: lines that fit, tables
// as lists, and what is to be pasted as it is.
func plain(md string) string {
	var b strings.Builder
	in, rows := false, 0
	for line := range strings.Lines(md) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			in = !in
		case in:
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, "|"):
			if rows++; rows > 2 { // the head and its rule
				wrap(&b, "- "+row(line))
			}
			continue
		case strings.HasPrefix(line, "#"):
			b.WriteString(strings.TrimLeft(line, "# ") + "\n")
		default:
			wrap(&b, unmarked(line))
		}
		rows = 0
	}
	return b.String()
}

// row is a line of a table: its first cell names, the others tell.
func row(line string) string {
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	for i := range cells {
		cells[i] = unmarked(strings.TrimSpace(cells[i]))
	}
	return cells[0] + ": " + strings.Join(cells[1:], "; ")
}

func unmarked(s string) string {
	return strings.NewReplacer("`", "", "*", "").Replace(s)
}

// wrap writes a paragraph in lines that fit; a list item hangs.
func wrap(b *strings.Builder, s string) {
	body := strings.TrimLeft(s, " ")
	indent := strings.Repeat(" ", len(s)-len(body))
	hang := indent
	if mark, _, ok := strings.Cut(body, " "); ok && (mark == "-" || strings.TrimLeft(mark, "0123456789") == ".") {
		hang += strings.Repeat(" ", len(mark)+1)
	}
	n := 0
	for i, w := range strings.Fields(body) {
		size := columns(w)
		switch {
		case i == 0:
			b.WriteString(indent)
			n = len(indent)
		case n+1+size > width:
			b.WriteString("\n" + hang)
			n = len(hang)
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(w)
		n += size
	}
	b.WriteString("\n")
}

// columns is how many places of a line a word takes: what stands in CJK takes two.
func columns(w string) int {
	n := 0
	for _, r := range w {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}
