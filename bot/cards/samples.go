package cards

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// Sample is a card with made-up data, for looking at and for golden files.
type Sample struct {
	Name string    `json:"name"`
	Card chat.Card `json:"card"`
}

// Samples draws every state of every card, in both languages.
func Samples() []Sample {
	at := time.Date(2026, 12, 3, 9, 58, 0, 0, time.UTC).UnixMilli()
	const minute = 60_000
	base := view.Gate{
		ID: "gate_sample00", Code: "G-7", Goal: "site", GoalTitle: "Homepage release", Language: "en",
		Question: "Publish the new pricing page?", Why: "Checks pass, the copy was reviewed by Ana, and the old page still shows last year's prices.",
		Asks: []string{"Wei"}, AskedBy: "builder", Kind: "direction", Severity: 0, Status: kernel.GateOpen, Enforced: "advisory", Asked: at, AsOf: at,
		Options: []view.Option{
			{ID: "publish", Label: "Publish", Consequence: "goes live at once on www.example.com", Outcome: kernel.Approve},
			{ID: "hold", Label: "Hold", Consequence: "stays in draft", Outcome: kernel.Reject},
		},
		Blocks:   view.GateBlocks{Todos: []view.TodoRef{{ID: "todo_a", Title: "publish"}}, OpenTodos: 6, OthersGo: 2},
		Evidence: []view.Evidence{{Summary: "tests 212/212", Observed: at + 3*minute}, {Summary: "preview", Ref: "https://preview.example.com/p/7", Observed: at - 20*minute, Stale: true}},
	}
	open := GateCopy{Actions: []Action{{ID: "x1", Step: "answer", Option: "publish"}, {ID: "x2", Step: "answer", Option: "hold"}}}
	protected := base
	protected.Kind, protected.Protected = "publish", true
	confirming := GateCopy{Confirming: "publish", Actions: []Action{{ID: "x3", Step: "confirm", Option: "publish"}, {ID: "x4", Step: "back"}}}
	decided := base
	decided.Status = kernel.GateAnswered
	decided.Answer = &kernel.GateAnswer{Option: "publish", Label: "Publish", Outcome: kernel.Approve, Person: "owner", Name: "Wei", Surface: "slack", At: at + 4*minute}
	taken := decided
	taken.Taken = &kernel.Taken{Agent: "builder", At: at + 5*minute}
	held := decided
	held.Answer = &kernel.GateAnswer{Option: "hold", Label: "Hold", Outcome: kernel.Reject, Reason: "the FAQ is missing", Person: "owner", Name: "Wei", Surface: "cli", Process: "loopx", Terminal: "pts/3", At: at + 4*minute}
	expired := base
	expired.Status, expired.Expires = "expired", at+60*minute
	withdrawn := base
	withdrawn.Status = kernel.GateWithdrawn
	scoped := base
	scoped.Scope, scoped.Question = "resource:goal:printer", "Use the printer for the flyers?"
	scopes := GateCopy{Actions: []Action{{ID: "x1", Step: "answer", Option: "publish", Grant: "action"}, {ID: "x2", Step: "answer", Option: "publish", Grant: "goal"}, {ID: "x3", Step: "answer", Option: "hold"}, {ID: "x4", Step: "snooze"}}}
	granting := GateCopy{Confirming: "publish", GrantUntil: at + 30*24*60*minute, Actions: []Action{{ID: "x5", Step: "confirm", Option: "publish", Grant: "goal"}, {ID: "x6", Step: "back"}}}
	own := base
	own.Question, own.Options = "What do we charge?", []view.Option{{ID: "say", Label: "Answer", Outcome: kernel.Answer}, {ID: "no", Label: "Not yet", Outcome: kernel.Reject}}
	words := GateCopy{Actions: []Action{{ID: "x1", Step: "answer", Option: "say"}, {ID: "x2", Step: "answer", Option: "no"}}}
	long := base
	long.Kind, long.Protected, long.Why = "permission", true, strings.Repeat("The old importer is replaced by ./import.sh, which reads every page. ", 30)
	pages := []string{"Publish the new pricing page?\n▸ Publish: goes live at once on www.example.com", strings.Repeat("The old importer is replaced by ./import.sh, which reads every page. ", 3)}
	front := GateCopy{Pages: pages, Actions: []Action{{ID: "x2", Step: "answer", Option: "hold"}, {ID: "x3", Step: "page"}}}
	last := GateCopy{Pages: pages, Page: 2, Actions: []Action{{ID: "x1", Step: "answer", Option: "publish"}, {ID: "x2", Step: "answer", Option: "hold"}, {ID: "x3", Step: "page"}}}
	pending := protected
	pending.Pending = &kernel.GateAnswer{Option: "publish", Label: "Publish", Outcome: kernel.Approve, Person: "owner", Name: "Wei", Surface: "cli", Process: "loopx", Terminal: "pts/3", At: at + minute}
	waits := GateCopy{Actions: []Action{{ID: "x1", Step: "answer", Option: "publish"}, {ID: "x2", Step: "answer", Option: "hold"}, {ID: "x3", Step: "disown"}}}
	parked := base
	parked.OnTimeout, parked.Expires, parked.Parked = "park", at+60*minute, true
	unheard := base
	unheard.Unreachable = &kernel.Unreachable{Reason: "connections_down", Words: "the connection work is down", Fix: "loopx-bot setup slack"}
	twin := GateCopy{Lookalike: "pricing", Actions: []Action{{ID: "x2", Step: "answer", Option: "hold"}}}
	changeable := GateCopy{Actions: []Action{{ID: "x1", Step: "change"}}}
	changing := GateCopy{Step: "change", Actions: []Action{{ID: "x1", Step: "change_to", Option: "hold"}, {ID: "x2", Step: "back"}}}
	corrected := held
	corrected.Past = []kernel.PastAnswer{{Answer: *decided.Answer, Why: "changed", At: at + 4*minute, Taken: taken.Taken}}
	notMe := GateCopy{Step: "disown", Actions: []Action{{ID: "x1", Step: "confirm"}, {ID: "x2", Step: "back"}}}
	votes := base
	votes.Who, votes.Agree, votes.Asks = kernel.Asked{Quorum: 2}, 1, []string{"Wei", "Ana"}
	by := GateCopy{Role: "owner", Linked: at - 30*24*60*minute}
	changeable.Role, changeable.Linked, changing.Role, changing.Linked, notMe.Role = by.Role, by.Linked, by.Role, by.Linked, by.Role
	zhOf := func(g view.Gate) view.Gate {
		g.Language, g.GoalTitle, g.Question = "zh", "主页发布", "发布新的价格页面？"
		return g
	}
	var out []Sample
	for _, s := range []struct {
		name string
		gate view.Gate
		copy GateCopy
	}{
		{"gate-open", base, open}, {"gate-protected", protected, open}, {"gate-confirming", protected, confirming}, {"gate-scope", scoped, scopes}, {"gate-scope-confirming", scoped, granting},
		{"gate-own-words", own, words}, {"gate-long", long, front}, {"gate-long-last-page", long, last}, {"gate-pending", pending, waits}, {"gate-parked", parked, open}, {"gate-unreachable", unheard, open}, {"gate-lookalike", base, twin}, {"gate-votes", votes, open},
		{"gate-onlooker", base, GateCopy{Onlooker: true}}, {"gate-nobody-running", decided, by}, {"gate-taken", taken, by}, {"gate-rejected", held, GateCopy{Role: "owner"}}, {"gate-changeable", decided, changeable}, {"gate-change", decided, changing},
		{"gate-corrected", corrected, GateCopy{Role: "owner"}}, {"gate-not-me", held, notMe}, {"gate-expired", expired, GateCopy{}}, {"gate-withdrawn", withdrawn, GateCopy{}},
	} {
		out = append(out, Sample{s.name, Gate(s.gate, s.copy)}, Sample{s.name + "-zh", Gate(zhOf(s.gate), s.copy)})
	}
	five := view.Five{Title: "Homepage release", Objective: "Ship the new pricing page by Friday", Step: "working", Agent: "builder", Todo: "write the FAQ", Priority: 1, Since: at - 18*minute,
		Gate: &view.FiveGate{Code: "G-7", Question: "Publish the new pricing page?", Asked: at - 120*minute}, Proof: []string{"212 tests", "preview"}, Proved: at + 3*minute, Free: 14, Allowed: 40, Wake: at + 16*minute}
	for _, s := range []struct {
		name string
		b    Board
	}{{"status", Board{}}, {"status-away", Board{Away: at}}, {"status-off", Board{Off: true}}} {
		s.b.Lang, s.b.Goals, s.b.Now = "en", []view.Five{five}, at+6*minute
		zh := s.b
		zh.Lang = "zh"
		out = append(out, Sample{s.name, Status(s.b, true)}, Sample{s.name + "-zh", Status(zh, true)})
	}
	for _, lang := range []string{"en", "zh"} {
		name := map[string]string{"en": "away", "zh": "away-zh"}[lang]
		out = append(out, Sample{name, Away(AwayCopy{Lang: lang, From: at - 600*minute, To: at, Now: at, Zone: time.UTC, Gates: []string{"G-7"}, More: 1,
			Messages: []MissedMessage{
				{From: "Ana", Goal: "Homepage release", Agent: "builder", At: at - 300*minute, Text: "Is the new page up?", State: "missed"},
				{From: "Wei", Goal: "Homepage release", Agent: "builder", At: at - 200*minute, Text: "The prices are wrong.", Files: 1, State: "given"},
				{From: "Wei", At: at - 100*minute, Text: "stop site", State: "command"},
			}, Actions: []Action{{ID: "x1", Step: "admit", Option: "1"}}})})
	}
	return out
}

// Run is `loopx-bot cards`: it prints every sample as text or JSON.
func Run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("loopx-bot cards", flag.ContinueOnError)
	fs.SetOutput(stderr)
	format := fs.String("format", "text", "text or json")
	if fs.Parse(args) != nil || fs.NArg() > 0 {
		return 2
	}
	switch *format {
	case "json":
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if e.Encode(Samples()) != nil {
			return 1
		}
	case "text":
		for _, s := range Samples() {
			fmt.Fprintf(stdout, "== %s\n%s\n\n", s.Name, chat.PlainText(s.Card))
		}
	default:
		fmt.Fprintf(stderr, "loopx-bot cards: --format %q must be text or json\n", *format)
		return 2
	}
	return 0
}
