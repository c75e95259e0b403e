package routing

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loopx/adapters/chat"
)

// span is a part of a text, in bytes.
type span struct{ from, to int }

// aside are the parts of a text that are code or a quote: what stands there was
// not said by the sender to anybody. A fence without an end goes on to the end.
func aside(t string) []span {
	if !strings.ContainsAny(t, "`~>") {
		return nil
	}
	var out []span
	for i := 0; i < len(t); {
		line := t[i:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		lead := strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(lead, ">>>"): // quotes all that follows
			return append(out, span{i, len(t)})
		case strings.HasPrefix(lead, ">"):
			out = append(out, span{i, i + len(line)})
			i += len(line)
			continue
		case strings.HasPrefix(lead, "~~~"):
			end := len(t)
			if n := strings.Index(t[i+len(line):], "\n~~~"); n >= 0 {
				end = i + len(line) + n + len("\n~~~")
			}
			out = append(out, span{i, end})
			i = end
			continue
		}
		var spans []span
		spans, i = ticks(t, i, i+len(line))
		out = append(out, spans...)
	}
	return out
}

// ticks finds code between equal runs of backticks in t[from:to]; a run of three
// or more may end in a later line. next is where the line's rest was read to.
func ticks(t string, from, to int) (out []span, next int) {
	for i := from; i < to; {
		if t[i] != '`' {
			i++
			continue
		}
		n := run(t[i:])
		within := to
		if n >= 3 {
			within = len(t)
		}
		end := -1
		for j := i + n; j < within; {
			if t[j] != '`' {
				j++
				continue
			}
			m := run(t[j:])
			if m == n || n >= 3 && m > n {
				end = j + m
				break
			}
			j += m
		}
		switch {
		case end >= 0:
			out = append(out, span{i, end})
			i = end
		case n >= 3:
			return append(out, span{i, len(t)}), len(t)
		default:
			i += n
		}
		if i > to {
			return out, i
		}
	}
	return out, to
}

func run(t string) int { return len(t) - len(strings.TrimLeft(t, "`")) }

func within(spans []span, i int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from <= i && i < s.to })
}

// tokens finds where "@" and the id stand in a text as a whole.
func tokens(t, id string) []int {
	var at []int
	tok := "@" + id
	for from := 0; ; {
		i := strings.Index(t[from:], tok)
		if i < 0 {
			return at
		}
		i += from
		if r, _ := utf8.DecodeRuneInString(t[i+len(tok):]); !isIDRune(r) {
			at = append(at, i)
		}
		from = i + len(tok)
	}
}

func isIDRune(r rune) bool {
	return r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// said is a message as routing reads it.
type said struct {
	mentioned bool   // this bot, structurally, outside of code and quotes
	text      string // without the mentions of this bot
	words     string // also without the mentions in front: what commands are read in
	bare      string // without any mention: what answers are read in
}

// read takes the mentions out of a message. A mention counts where the platform
// lists it and the text has it outside of code and quotes; when the text also
// holds the id as plain characters, more of them must stand outside than are
// plain, so that no typed id passes for a mention.
func read(m *chat.Message) said {
	t := m.Text
	if len(t) > MaxText { // as much as is kept of a message
		n := MaxText
		for n > 0 && !utf8.RuneStart(t[n]) {
			n--
		}
		t = t[:n]
	}
	if len(m.Mentions) == 0 {
		t = strings.TrimSpace(t)
		return said{text: t, words: t, bare: t}
	}
	code := aside(t)
	var s said
	var ours, all []span
	seen := map[string]bool{}
	for _, one := range m.Mentions {
		if one.ID == "" || seen[one.ID] {
			continue
		}
		seen[one.ID] = true
		entries, self := 0, false
		for _, other := range m.Mentions {
			if other.ID == one.ID {
				entries++
				self = self || other.Self && !other.All
			}
		}
		places := tokens(t, one.ID)
		outside := 0
		for _, i := range places {
			if within(code, i) {
				continue
			}
			outside++
			cut := span{i, i + 1 + len(one.ID)}
			all = append(all, cut)
			if self {
				ours = append(ours, cut)
			}
		}
		if self && outside > max(0, len(places)-entries) {
			s.mentioned = true
		}
	}
	s.text = without(t, ours)
	s.bare = without(t, all)
	s.words = s.text
	for again := true; again; {
		again = false
		for id := range seen {
			rest, ok := strings.CutPrefix(s.words, "@"+id)
			if r, _ := utf8.DecodeRuneInString(rest); ok && !isIDRune(r) {
				s.words, again = strings.TrimSpace(rest), true
			}
		}
	}
	return s
}

// without takes parts out of a text, each with one space behind it.
func without(t string, parts []span) string {
	if len(parts) == 0 {
		return strings.TrimSpace(t)
	}
	slices.SortFunc(parts, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	last := 0
	for _, p := range parts {
		if p.from < last {
			continue
		}
		b.WriteString(t[last:p.from])
		if last = p.to; last < len(t) && t[last] == ' ' {
			last++
		}
	}
	b.WriteString(t[last:])
	return strings.TrimSpace(b.String())
}

// lists says whether the message structurally mentions a person by this id.
func lists(m *chat.Message, id string) bool {
	return slices.ContainsFunc(m.Mentions, func(one chat.Mention) bool { return one.ID == id && !one.All && !one.Self })
}

// blank says whether nobody could read anything in a text.
func blank(t string) bool {
	return strings.IndexFunc(t, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) < 0
}
