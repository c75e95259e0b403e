package bot

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/routing"
)

// jargon is what nobody who answers a decision needs to know.
var jargon = regexp.MustCompile(`(?i)\b(lease|revision|digest of|frontier|journal|idempoten\w*|null|nil|err|gate_\w+|todo_\w+|successfully|projector|outbox|payload|UTC ms)\b|!`)

// latin are words of two letters or more.
var latin = regexp.MustCompile(`[A-Za-z][A-Za-z']+`)

// mayStand tells what may stand in a Chinese text: names of people, goals, agents and products,
// and what is typed.
func mayStand(word, asked string) bool {
	if strings.Contains(asked, word) {
		return true // they wrote it themselves
	}
	return slices.Contains([]string{
		"loopx", "Slack", "Discord", "Lark", "Agent", "Wei", "Ana", "Bob", "publish", "Homepage", "release", "site", "builder", "tester", "Ship", "it", "slack", "work", "UTC", "cli",
		"Publish", "Approve", "Reject", "Cancel", "PERSON", "GOAL", "AGENT", "MESSAGE", "TODO", "TIME", "WORDS", "TEXT", "COMMAND", "OBJECTIVE", "KEY", "VALUE", "SLOTS", "CODE", "ID", "ROLE", "DATE",
		"off", "tomorrow", "all", "list", "revoke", "until", "to", "objective", "language", "en", "visibility", "private", "handoff", "soft",
	}, word)
}

// plain reports what is wrong with a text for a person.
func plain(t *testing.T, what, lang, text string) {
	t.Helper()
	if m := jargon.FindString(text); m != "" {
		t.Errorf("%s says %q: %q", what, m, text)
	}
	for line := range strings.Lines(text) {
		if n := len([]rune(line)); n > 280 {
			t.Errorf("%s has a line of %d characters: %q", what, n, line)
		}
		for s := range strings.SplitSeq(line, ". ") {
			if n := len(strings.Fields(s)); n > 34 {
				t.Errorf("%s has a sentence of %d words: %q", what, n, s)
			}
		}
	}
	if lang != "zh" {
		return
	}
	// What is typed stands as it is typed.
	typed := regexp.MustCompile(`/[a-z]+( [A-Za-z@|\[\]=.:-]+)*|loopx [a-z -]+|G-\d+|[a-z]+_[a-z0-9]+`).ReplaceAllString(text, "")
	for _, w := range latin.FindAllString(typed, -1) {
		if !mayStand(w, what) {
			t.Errorf("%s says %q to a Chinese reader: %q", what, w, text)
		}
	}
}

// Every notice about a press, every answer to a command and every refusal of one
// is in the reader's language, without a word of ours, and fits a phone.
func TestPlainWords(t *testing.T) {
	codes := []string{
		"voted", "already", "decided", "withdrawn", "expired", "stale", "confirm_expired", "wrong_person", "denied", "needs_text", "bad_reason", "grant_refused", "change_late", "quorum_needed",
		"not_yours", "moved_on", "no_live_turn", "queue_full", "other_place", "unknown_action",
	}
	for _, lang := range []string{"en", "zh"} {
		for _, code := range codes {
			for _, o := range []inbox.Outcome{
				{Code: code, Gate: &kernel.Gate{Code: "G-7"}},
				{Code: code, Reads: true, Gate: &kernel.Gate{Code: "G-7", Answer: &kernel.GateAnswer{Name: "Wei", Label: "Publish"}}},
				{Code: code, Reads: true, Moved: true, Gate: &kernel.Gate{Code: "G-7"}},
			} {
				text := pressWords(lang, []string{"Wei", "Bob"}, o)
				if text == "" {
					t.Errorf("%s says nothing", code)
				}
				plain(t, "the notice "+code, lang, text)
			}
		}
		for _, err := range []error{
			kernel.Errorf(kernel.Invalid, "bad_time", "a revision is not a time"), kernel.Errorf(kernel.Denied, "no_right", "no"), kernel.Errorf(kernel.Conflict, "plan_changed", "it changed"),
			kernel.Errorf(kernel.NotFound, "not_there", "gone"), kernel.Errorf(kernel.Internal, "is_broken", "broken"),
		} {
			if lang == "zh" { // in English they are the kernel's own sentences
				plain(t, "a refusal", lang, refusalWords(lang, err))
			}
		}
		l := newLobby(t)
		l.do(&kernel.SetPerson{Person: "owner", Language: new(lang)}, asOwner)
		l.do(&kernel.AddTodo{Goal: "site", Title: "Publish"}, asCLI)
		l.gateIn("D-"+wei, "Publish?", "direction")
		seen, dm := told{}, "D-"+wei
		l.told(seen, dm)
		var asks []string
		for _, c := range routing.Commands() {
			asks = append(asks, "/"+c, "/help "+c)
		}
		asks = append(asks, "/status site", "/status nothing", "/why G-1", "/why site", "/mute 2h", "/mute off", "/mute soon", "/snooze G-1 tomorrow", "/snooze G-9", "/quiet 21-7", "/quiet off", "/quiet 40",
			"/away until tomorrow", "/away off", "/to site", "/to nothing", "/link list", "/grants site", "/quota site", "/configure site", "/find Publish", "/find", "/stauts", "blah blah", "yes G-1", "yes G-9", "/report site", "/today")
		for _, text := range asks {
			l.say(wei, dm, true, text)
			plain(t, text, lang, l.told(seen, dm))
		}
		// The cards that show what a command would do, and the cards of gates.
		for _, text := range []string{"/new Publish it", "/stop site", "/stop all", "/todo site: Publish", "/quota site 10", "/configure site language en", "/grants site", "/resume site", "/bind site"} {
			l.say(wei, dm, true, text)
			plans, _ := l.owed(dm)
			for _, it := range plans {
				l.read(func(r *kernel.Reader) {
					card, err := planCard(r, it, time.UTC)
					if err != nil {
						t.Fatal(err)
					}
					plain(t, text, lang, chat.PlainText(card))
				})
			}
		}
		for _, s := range cards.Samples() {
			if strings.HasSuffix(s.Name, "-zh") == (lang == "zh") {
				s.Card.Quotes, s.Card.Options, s.Card.Evidence = nil, nil, nil // words of agents stay as written
				plain(t, s.Name, lang, strings.NewReplacer("loopx-bot setup slack", "", "the FAQ is missing", "", "write the FAQ", "", "Ship the new pricing page by Friday", "", "Publish the new pricing page?", "", "212 tests", "", "preview", "", "Is the new page up?", "", "The prices are wrong.", "", "stop site", "", "Not yet", "", "pricing", "", "Hold", "", "Answer", "", "pts", "").Replace(chat.PlainText(s.Card)))
			}
		}
	}
}

// A code that somebody typed is answered in both languages: nobody knows theirs
// yet.
func TestLinkWordsInBothLanguages(t *testing.T) {
	l := newLobby(t)
	seen := told{}
	for who, text := range map[string]string{"U0NEW": "abcde-fghjk", "U0NEW2": "zzzzz-zzzzz"} {
		l.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
		l.say(who, "D-"+who, true, text)
		got := l.told(seen, "D-"+who)
		if got == "" || !regexp.MustCompile(`\p{Han}`).MatchString(got) || !latin.MatchString(got) {
			t.Errorf("%s is answered with %q", text, got)
		}
	}
}
