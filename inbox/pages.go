package inbox

import (
	"strings"
	"unicode"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// What a card shows of the texts of a gate, in characters; the rest is a press
// away. Every platform has room for this much.
const (
	WhyShown         = 300
	ConsequenceShown = 150
	EvidenceShown    = 3
	pageMost         = 1500
)

// Pages is the whole of what a gate asks, in pages, when a card shows only a part
// of it; else nil. Everything in it is visible: no two wholes look the same.
func Pages(r *kernel.Reader, g *kernel.Gate) []string {
	cut := runes(g.Why) > WhyShown || runes(g.Fallback) > WhyShown || len(g.Evidence) > EvidenceShown
	var b strings.Builder
	add := func(parts ...string) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		for _, p := range parts {
			b.WriteString(chat.Visible(p))
		}
	}
	add(g.Question)
	for _, o := range g.Options {
		cut = cut || runes(o.Consequence) > ConsequenceShown
		if o.Consequence != "" {
			add("▸ ", o.Label, ": ", o.Consequence)
		} else {
			add("▸ ", o.Label)
		}
	}
	if !cut {
		return nil
	}
	for _, s := range []string{g.Why, g.Fallback} {
		if s != "" {
			add(s)
		}
	}
	for _, id := range g.Evidence {
		if v := r.Evidence(g.Goal, id); v != nil {
			add("· ", v.Summary, " ", v.Ref)
		}
	}
	return split(b.String())
}

// runes counts what a reader sees: an escape takes its room.
func runes(s string) int { return len([]rune(chat.Visible(s))) }

// split cuts a visible text into pages, at line breaks and spaces where there are
// any, and never inside an escape or a character.
func split(s string) []string {
	var out []string
	rest := []rune(s)
	for len(rest) > pageMost {
		at := pageMost
		for i := at; i > pageMost/2; i-- {
			if unicode.IsSpace(rest[i]) {
				at = i
				break
			}
		}
		for i := at; i > at-12; i-- { // the longest escape is ⟦U+10FFFF⟧
			if rest[i] == '⟧' {
				break
			}
			if rest[i] == '⟦' {
				at = i
				break
			}
		}
		for at > 1 && (unicode.In(rest[at], unicode.M) || rest[at] == 0x200d || rest[at-1] == 0x200d) {
			at--
		}
		out = append(out, string(rest[:at]))
		rest = rest[at:]
	}
	return append(out, string(rest))
}
