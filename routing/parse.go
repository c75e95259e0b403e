package routing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Intent is what a text asks for, by whole words only. At most one of Code,
// Command, Near and Answer is set; a text that asks for nothing is talk.
type Intent struct {
	// Code is a one-time code, normalised to lower case without dash.
	Code string
	// Command is the command's English name, without a slash.
	Command string
	// Args are the command's arguments, typed.
	Args Args
	// Near are the commands that come nearest to one that does not exist.
	Near []string
	// Slash: it began with a slash, so that nothing but a command was meant.
	Slash bool
	// Answer is an answer to a gate.
	Answer AnswerText
}

// AnswerText is what a text says to a gate.
type AnswerText struct {
	// Code is the gate's, such as G-7; empty for a plain yes or no.
	Code string
	// Word is yes, no, cancel, or, only with a code, what may be an option as it
	// was typed: whether it is one is known where the gate is.
	Word string
	// Reason is what stands behind "because".
	Reason string
}

// Parse reads a text whose mentions of the bot are removed. A command begins the
// message with a slash, or is the whole message; lines that quote somebody come
// before it. A word inside a sentence, in code or in a quote is none. Languages
// ("en", "zh") say whose words count; none given means all.
func Parse(text string, lang ...string) Intent {
	if len(text) > MaxText || !utf8.ValidString(text) {
		return Intent{}
	}
	t, w := strings.TrimSpace(afterQuotes(text)), wordsOf(lang)
	if code := linkCode(t); code != "" {
		return Intent{Code: code}
	}
	if in, ok := w.slash(t); ok {
		return in
	}
	if in, ok := w.whole(t); ok {
		return in
	}
	return Intent{Answer: w.answer(t)}
}

// afterQuotes is the text behind the quoted lines it begins with.
func afterQuotes(t string) string {
	for {
		t = strings.TrimLeftFunc(t, unicode.IsSpace)
		if !strings.HasPrefix(t, ">") {
			return t
		}
		_, rest, more := strings.Cut(t, "\n")
		if !more {
			return ""
		}
		t = rest
	}
}

// slash reads a command with a slash in front. What only looks like one, a path
// or a fraction, is none.
func (w words) slash(t string) (Intent, bool) {
	s, ok := cutSlash(t)
	if !ok {
		return Intent{}, false
	}
	if first, rest := cutWord(s); strings.EqualFold(first, "loopx") { // the one command a platform has registered
		if s, ok = cutSlash(rest); !ok {
			s = rest
		}
		if s == "" {
			s = "help"
			if w == (words{zh: true}) {
				s = "帮助"
			}
		}
	}
	name, rest, glued := w.head(s)
	if name == "" {
		first, _ := cutWord(s)
		word := fold(first)
		if !isWord(word) {
			return Intent{}, false
		}
		return Intent{Near: w.nearest(word), Slash: true}, true
	}
	args := w.args(name, rest)
	if glued && (args.Bad != "" || args.Goal != "") { // "/状态怎么样" is no command with arguments
		return Intent{Near: []string{name}, Slash: true}, true
	}
	return Intent{Command: name, Args: args, Slash: true}, true
}

// whole reads a message that is a command and nothing else.
func (w words) whole(t string) (Intent, bool) {
	if len(t) > 64 || strings.ContainsAny(t, "\n") {
		return Intent{}, false
	}
	name, rest, _ := w.head(t)
	if !bare(name) {
		if word := fold(t); len(word) >= 4 && isWord(word) && w.en {
			if near := w.nearest(word); distance(word, near[0]) <= len(word)/4 && bare(near[0]) {
				return Intent{Near: near}, true
			}
		}
		return Intent{}, false
	}
	args := w.args(name, rest)
	if args.Bad != "" || args.Goal != "" || args.Text != "" || len(args.Words) > 0 {
		return Intent{}, false
	}
	return Intent{Command: name, Args: args}, true
}

func cutSlash(t string) (string, bool) {
	for _, p := range []string{"/", "／"} {
		if s, ok := strings.CutPrefix(t, p); ok {
			r, _ := utf8.DecodeRuneInString(s)
			return s, s != "" && !unicode.IsSpace(r)
		}
	}
	return "", false
}

// cutWord cuts at the first space of any script.
func cutWord(t string) (word, rest string) {
	i := strings.IndexFunc(t, unicode.IsSpace)
	if i < 0 {
		return t, ""
	}
	return t[:i], strings.TrimSpace(t[i:])
}

// isWord says whether something with a slash in front could be a command's
// name: letters, perhaps with a dash.
func isWord(s string) bool {
	if s == "" || len(s) > 48 {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// answer reads an answer to a gate: a decision's word, a gate's code, or both,
// and a reason behind "because". With anything else in it the text is a
// sentence, and a sentence answers nothing.
func (w words) answer(t string) AnswerText {
	head, reason := w.because(t)
	if head == "" || len(head) > 200 || strings.ContainsAny(head, "\n") {
		return AnswerText{}
	}
	code, before, after, many := cutCode(head)
	if many {
		return AnswerText{}
	}
	before, after = trimMarks(before), trimMarks(after)
	if before != "" && after != "" {
		return AnswerText{}
	}
	word := before + after
	if d := w.decision(fold(word)); d != "" {
		return AnswerText{Code: code, Word: d, Reason: reason}
	}
	if code == "" || word == "" || utf8.RuneCountInString(word) > 60 {
		return AnswerText{}
	}
	return AnswerText{Code: code, Word: word, Reason: reason}
}

// because cuts the reason off.
func (w words) because(t string) (head, reason string) {
	at, n := -1, 0
	if w.en {
		low := fold(t)
		if len(low) == len(t) { // folding moved nothing, so places are the same
			for from := 0; ; {
				i := strings.Index(low[from:], "because")
				if i < 0 {
					break
				}
				i += from
				if edge(low, i, i+len("because")) {
					at, n = i, len("because")
					break
				}
				from = i + 1
			}
		}
	}
	if w.zh {
		if i := strings.Index(t, "因为"); i >= 0 && (at < 0 || i < at) {
			at, n = i, len("因为")
		}
	}
	if at < 0 {
		return t, ""
	}
	return strings.TrimSpace(t[:at]), strings.TrimSpace(strings.TrimLeft(t[at+n:], ":：,， "))
}

// edge says whether s[i:j] stands alone: no letter or digit of a script with
// spaces touches it.
func edge(s string, i, j int) bool {
	b, _ := utf8.DecodeLastRuneInString(s[:i])
	a, _ := utf8.DecodeRuneInString(s[j:])
	return !joins(b) && !joins(a)
}

func joins(r rune) bool {
	return r != utf8.RuneError && !unicode.Is(unicode.Han, r) && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-')
}

// cutCode finds a gate's code that stands alone. Two of them are many.
func cutCode(t string) (code, before, after string, many bool) {
	for i := 0; i < len(t); {
		r, n := utf8.DecodeRuneInString(t[i:])
		if r != 'g' && r != 'G' && r != 'ｇ' && r != 'Ｇ' {
			i += n
			continue
		}
		c, end := readCode(t[i:])
		if c == "" || !edge(t, i, i+end) {
			i += n
			continue
		}
		if code != "" {
			return "", "", "", true
		}
		code, before, after = c, t[:i], t[i+end:]
		i += end
	}
	if code == "" {
		before = t
	}
	return code, before, after, false
}

// readCode reads G-7 at the front, in plain or full width letters, and says how
// many bytes it took.
func readCode(t string) (string, int) {
	var b strings.Builder
	end := 0
	for i, r := range t {
		f := fold(string(r))
		switch n := b.Len(); {
		case n == 0 && f == "g":
			b.WriteByte('G')
		case n == 1 && f == "-":
			b.WriteByte('-')
		case n >= 2 && n < MaxCode && len(f) == 1 && f[0] >= '0' && f[0] <= '9' && !(n == 2 && f == "0"):
			b.WriteString(f)
		default:
			if b.Len() < 3 {
				return "", 0
			}
			return b.String(), end
		}
		end = i + utf8.RuneLen(r)
	}
	if b.Len() < 3 {
		return "", 0
	}
	return b.String(), end
}

// trimMarks takes spaces and marks off both ends, but no question mark: a
// question is no answer.
func trimMarks(s string) string { return strings.Trim(s, " \t\u3000.,:!。，：！、") }

// linkCode recognises ten characters of the code alphabet in two groups, with
// or without "link" before them.
func linkCode(t string) string {
	if len(t) > 64 {
		return ""
	}
	t = fold(t)
	t = strings.TrimPrefix(t, "/loopx ")
	for _, p := range []string{"/link ", "link ", "/关联", "关联"} {
		t = strings.TrimSpace(strings.TrimPrefix(t, p))
	}
	a, b, ok := strings.Cut(t, "-")
	if !ok || len(a) != 5 || len(b) != 5 {
		return ""
	}
	for _, c := range a + b {
		if !strings.ContainsRune("0123456789abcdefghjkmnpqrstvwxyz", c) {
			return ""
		}
	}
	return a + b
}
