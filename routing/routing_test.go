package routing

import (
	"testing"

	"pgregory.net/rapid"

	"loopx/adapters/chat"
)

// noon is when all happens.
const noon = 1_800_000_000_000

func message(text string, private bool, kind chat.UserKind) chat.Event {
	return chat.Event{Kind: chat.MessageSent, ID: "e1", Place: chat.Place{Connection: "work", Conversation: "D1"}, Private: private,
		Sender: chat.User{ID: "U1", Kind: kind}, At: noon, Message: &chat.Message{ID: "m1", Text: text}}
}

func standing(linked bool) Facts {
	if !linked {
		return Facts{Now: noon}
	}
	return Facts{Now: noon, Sender: Sender{Person: "wei", State: Linked}}
}

func TestDecide(t *testing.T) {
	press := chat.Event{Kind: chat.CardPressed, ID: "e1", Place: chat.Place{Conversation: "D1"}, Sender: chat.User{Kind: chat.Guest}, Press: &chat.Press{}}
	self := message("status", true, chat.Self)
	edit := message("status", true, chat.Human)
	edit.Kind = chat.MessageEdited
	for _, c := range []struct {
		name   string
		e      chat.Event
		linked bool
		want   Action
		reason string
	}{
		{"a linked person's command", message("status", true, chat.Human), true, Command, "command"},
		{"with a slash", message("/Gates ", true, chat.Human), true, Command, "command"},
		{"in Chinese", message("状态", true, chat.Human), true, Command, "command"},
		{"a word inside a sentence is none", message("what is the status of it", true, chat.Human), true, Unknown, "no_command"},
		{"a stranger's command", message("status", true, chat.Human), false, Stray, "not_linked"},
		{"a code, privately", message("abcde-fghjk", true, chat.Human), false, Link, "code"},
		{"a code with the word before it", message("/link ABCDE-FGHJK", true, chat.Human), false, Link, "code"},
		{"a code where others read it", message("abcde-fghjk", false, chat.Human), false, Burn, "code_in_the_open"},
		{"no code: letters that are not in the alphabet", message("hello-world", true, chat.Human), false, Stray, "not_linked"},
		{"a channel nobody bound", message("deploy it", false, chat.Human), true, Drop, ReasonUnbound},
		{"a bot", message("status", true, chat.Bot), true, Drop, ReasonSender},
		{"a guest", message("status", true, chat.Guest), true, Drop, ReasonSender},
		{"somebody external", message("abcde-fghjk", true, chat.External), false, Drop, ReasonSender},
		{"somebody of unknown kind", message("status", true, chat.Unknown), true, Drop, ReasonSender},
		{"B86 the bot's own message", self, true, Drop, ReasonSelf},
		{"B86 an edit starts nothing", edit, true, Edited, "stored_message"},
		{"an empty text", message(" ", true, chat.Human), true, Drop, ReasonEmpty},
		{"a press of a guest is answered, with the card's rules", press, false, Press, "card"},
		{"no event id", chat.Event{Kind: chat.CardPressed, Place: chat.Place{Conversation: "D1"}, Press: &chat.Press{}}, true, Drop, ReasonMalformed},
	} {
		if v := Decide(c.e, standing(c.linked)); v.Action != c.want || v.Reason != c.reason {
			t.Errorf("%s: %+v, want %s (%s)", c.name, v, c.want, c.reason)
		}
	}
}

// Whatever comes: without a mention only a human's private message or slash
// command is ever a command, and only a linked human's; only a human's private
// message links.
func TestNobodyElseActs(t *testing.T) {
	kinds := []chat.UserKind{chat.Unknown, chat.Human, chat.Guest, chat.External, chat.Bot, chat.Self}
	events := []chat.EventKind{chat.MessageSent, chat.MessageEdited, chat.MessageDeleted, chat.CommandSent, chat.BotAdded, chat.BotRemoved, "new"}
	rapid.Check(t, func(rt *rapid.T) {
		e := message(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"status", "abcde-fghjk", "help"})).Draw(rt, "text"), rapid.Bool().Draw(rt, "private"), rapid.SampledFrom(kinds).Draw(rt, "kind"))
		e.Kind = rapid.SampledFrom(events).Draw(rt, "event")
		linked := rapid.Bool().Draw(rt, "linked")
		v := Decide(e, standing(linked))
		human := e.Sender.Kind == chat.Human
		if (v.Action == Command || v.Action == Unknown) && !(human && linked && (e.Private || e.Kind == chat.CommandSent)) || v.Action == Link && !(human && e.Private) || v.Action == Burn && e.Private {
			rt.Fatalf("%+v (linked %v) may %+v", e, linked, v)
		}
	})
}
