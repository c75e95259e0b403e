package cards

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
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
		AskedBy: "builder", Kind: "direction", Severity: 0, Status: kernel.GateOpen, Enforced: "advisory", Asked: at, AsOf: at,
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
	held.Answer = &kernel.GateAnswer{Option: "hold", Label: "Hold", Outcome: kernel.Reject, Reason: "the FAQ is missing", Person: "owner", Name: "Wei", Surface: "cli", At: at + 4*minute}
	expired := base
	expired.Status, expired.Expires = "expired", at+60*minute
	withdrawn := base
	withdrawn.Status = kernel.GateWithdrawn
	zh := base
	zh.Language, zh.GoalTitle, zh.Question = "zh", "主页发布", "发布新的价格页面？"
	zhDecided := taken
	zhDecided.Language, zhDecided.GoalTitle, zhDecided.Question = "zh", "主页发布", "发布新的价格页面？"
	return []Sample{
		{"gate-open", Gate(base, open)}, {"gate-protected", Gate(protected, open)}, {"gate-confirming", Gate(protected, confirming)},
		{"gate-nobody-running", Gate(decided, GateCopy{})}, {"gate-taken", Gate(taken, GateCopy{})}, {"gate-rejected", Gate(held, GateCopy{})},
		{"gate-expired", Gate(expired, GateCopy{})}, {"gate-withdrawn", Gate(withdrawn, GateCopy{})},
		{"gate-open-zh", Gate(zh, open)}, {"gate-taken-zh", Gate(zhDecided, GateCopy{})},
	}
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
