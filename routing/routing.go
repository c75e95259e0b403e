// Package routing decides who is meant by an event and what it may cause. It is
// pure: text in, intent out; event and facts in, verdict out. No clock, no I/O,
// no kernel, so that a million events can be decided in a test.
package routing

import (
	"strings"
	"unicode/utf8"

	"loopx/adapters/chat"
)

// Action is what a verdict asks for.
type Action string

// Actions. Drop is the zero value: what nothing allows does nothing.
const (
	Drop    Action = ""
	Press   Action = "press"   // a card's button; authority is checked with the card
	Link    Action = "link"    // a one-time code in a private conversation
	Burn    Action = "burn"    // a one-time code where others can read it
	Command Action = "command" // a view for a linked person
	Unknown Action = "unknown" // a linked person wrote something no command matches
	Stray   Action = "stray"   // somebody unlinked wrote privately: one notice a day
)

// Reasons of a drop; each is counted under its name.
const (
	ReasonSelf      = "own_message"
	ReasonMalformed = "malformed"
	ReasonSender    = "sender_cannot_act"
	ReasonUnbound   = "unbound_conversation"
	ReasonKind      = "event_not_used"
	ReasonEmpty     = "no_text"
)

// Verdict is what may happen because of an event, and why.
type Verdict struct {
	Action Action
	// Reason names the drop, or the rule that allowed the action.
	Reason string
	// Word is the command ("status") or the code that was typed.
	Word string
}

// Facts are what the decision needs beside the event.
type Facts struct {
	// Linked: the sender's identity is linked and confirmed.
	Linked bool
}

// Decide gives the verdict for an event.
func Decide(e chat.Event, f Facts) Verdict {
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
	case !f.Linked:
		return Verdict{Action: Stray, Reason: "not_linked"}
	case in.Command != "":
		return Verdict{Action: Command, Reason: "command", Word: in.Command}
	case strings.TrimSpace(e.Message.Text) == "":
		return Verdict{Reason: ReasonEmpty}
	}
	return Verdict{Action: Unknown, Reason: "no_command"}
}

// Intent is what a text asks for, by whole words only.
type Intent struct {
	Command string
	Code    string // a one-time code, normalised to lower case without dash
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
// a word inside a sentence is none.
func Parse(text string) Intent {
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
