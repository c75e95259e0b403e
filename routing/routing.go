// Package routing decides who is meant by an event and what it may cause. It is
// pure: text in, intent out; event and facts in, verdict out. No clock, no I/O,
// no kernel, so that a million events can be decided in a test.
package routing

import (
	"strings"
	"unicode/utf8"

	"loopx/adapters/chat"
)

// Decide gives the verdict for an event.
func Decide(e chat.Event, f Facts) Verdict {
	linked := f.Sender.State == Linked
	switch {
	case e.Sender.Kind == chat.Self:
		return Verdict{Reason: ReasonSelf}
	case e.ID == "" || e.Place.Conversation == "":
		return Verdict{Reason: ReasonMalformed}
	case e.Kind == chat.CardPressed && e.Press != nil:
		// Also for people nobody knows: the answer tells them so, privately.
		return Verdict{Action: Press, Reason: "card"}
	case e.Sender.Kind != chat.Human:
		return Verdict{Reason: ReasonSender}
	case e.Kind != chat.MessageSent && e.Kind != chat.CommandSent || e.Message == nil:
		return Verdict{Reason: ReasonKind}
	}
	in := Parse(e.Message.Text)
	switch {
	case in.Code != "" && e.Private:
		return Verdict{Action: Link, Reason: "code", Word: in.Code}
	case in.Code != "":
		return Verdict{Action: Burn, Reason: "code_in_the_open", Word: in.Code}
	case !e.Private:
		return Verdict{Reason: ReasonUnbound}
	case !linked:
		return Verdict{Action: Stray, Reason: "not_linked"}
	case in.Command != "":
		return Verdict{Action: Command, Reason: "command", Word: in.Command, Intent: in}
	case strings.TrimSpace(e.Message.Text) == "":
		return Verdict{Reason: ReasonEmpty}
	}
	return Verdict{Action: Unknown, Reason: "no_command", Intent: in}
}

// Intent is what a text asks for, by whole words only. At most one of Code,
// Command, Near and Answer is set.
type Intent struct {
	// Code is a one-time code, normalised to lower case without dash.
	Code string
	// Command is the command's English name, without a slash.
	Command string
	// Args are the command's arguments, typed.
	Args Args
	// Near are the commands that come nearest to one that does not exist.
	Near []string
	// Answer is an answer to a gate.
	Answer AnswerText
}

// Args are what stands behind a command. The fields a command does
// not use are empty.
type Args struct {
	// Words are the arguments as they were typed, without those read below.
	Words []string
	// Text is free text: a message to an agent, a question, a new goal.
	Text string
	// Gate is a code such as G-7.
	Gate string
	// Goal is the id of a goal, Agent of an agent, Todo of a todo. What a word
	// means is read from its place and never guessed.
	Goal, Agent, Todo string
	// User is the platform id of who was mentioned.
	User string
	// Role of /role.
	Role Role
	// Value of configure and quota, Key what it is of.
	Key, Value string
	// For is a duration, ms. Until is a moment as it was typed: "tomorrow", a
	// date, a time of day; zone and calendar are the person's.
	For   int64
	Until string
	// From and To are hours of the day, 0 to 23.
	From, To int
	// All: of everything, as in /stop all.
	All bool
	// Off: takes back, as in /quiet off.
	Off bool
	// Bad says in one word what could not be read; empty when all was.
	Bad string
}

// AnswerText is what a text says to a gate.
type AnswerText struct {
	// Code is the gate's, upper case; empty for a plain yes or no.
	Code string
	// Word is what was answered: yes, no, or an option as it was typed.
	Word string
	// Reason is what stands behind because.
	Reason string
}

// commands maps the words people use, in both languages, to the command.
func commands(word string) string {
	switch word {
	case "help", "?", "帮助":
		return "help"
	case "status", "状态":
		return "status"
	case "gates", "gate", "decisions", "待决", "待决事项":
		return "gates"
	}
	return ""
}

// Parse reads a text. A command is the whole message, with or without a slash;
// a word inside a sentence is none. Languages ("en", "zh") say whose words count;
// none means all.
func Parse(text string, lang ...string) Intent {
	if len(text) > 4096 || !utf8.ValidString(text) {
		return Intent{}
	}
	t := strings.TrimSpace(text)
	if code := linkCode(t); code != "" {
		return Intent{Code: code}
	}
	return Intent{Command: commands(strings.ToLower(strings.TrimPrefix(t, "/")))}
}

// linkCode recognises ten characters of the code alphabet in two groups, with
// or without "link" before them.
func linkCode(t string) string {
	t = strings.ToLower(t)
	for _, p := range []string{"/link ", "link "} {
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
