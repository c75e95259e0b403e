package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/bot/cards"
	"loopx/kernel"
	"loopx/kernel/view"
)

// world is a small authored workspace: the real chat surface, and a bot and a
// kernel that know just enough to answer it.
type world struct {
	console *console.Console
	start   time.Time // the real time at which the story's clock read storyNow

	mu    sync.Mutex
	goals []view.GoalPageView
	refs  map[string]chat.Ref // gate id -> its card
	step  map[string]string   // gate id -> option that waits for its second press
	seen  []chat.Event
	down  error
}

// storyNow is what the clock reads when a story starts.
func storyNow() time.Time { return time.Date(2026, 3, 2, 10, 4, 0, 0, time.UTC) }

func (w *world) now() time.Time { return storyNow().Add(time.Since(w.start)) }

func loadStory(t *testing.T) []view.GoalPageView {
	t.Helper()
	b, err := os.ReadFile("testdata/story.json")
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(`"@(-?\d+)m"`).ReplaceAllFunc(b, func(m []byte) []byte {
		n, _ := strconv.Atoi(string(m[2 : len(m)-2]))
		return strconv.AppendInt(nil, storyNow().Add(time.Duration(n)*time.Minute).UnixMilli(), 10)
	})
	var story struct {
		Goals []view.GoalPageView `json:"goals"`
	}
	if err := json.Unmarshal(b, &story); err != nil {
		t.Fatal(err)
	}
	return story.Goals
}

// newWorld runs a story until the test ends.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{start: time.Now(), goals: loadStory(t), refs: map[string]chat.Ref{}, step: map[string]string{}}
	var early atomic.Int64 // what was said before the story starts, in ms; then 0
	early.Store(storyNow().Add(-130 * time.Minute).UnixMilli())
	w.console = console.New(console.Options{Clock: func() time.Time {
		if ms := early.Load(); ms != 0 {
			return time.UnixMilli(ms)
		}
		return w.now()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.console.Run(ctx, w) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.send(t, "", chat.Outgoing{Key: "hello", Text: "Three goals run here. I write when something needs you."})
	for _, g := range w.goals {
		for _, gate := range g.Gates {
			early.Store(gate.Asked)
			card := w.card(gate)
			w.send(t, gate.ID, chat.Outgoing{Key: gate.ID, Text: chat.PlainText(card), Card: &card})
		}
	}
	early.Store(0)
	return w
}

func (w *world) send(t *testing.T, gate string, out chat.Outgoing) {
	t.Helper()
	out.Place = chat.Place{Connection: "console", Conversation: console.Conversation}
	ref, err := w.console.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if gate != "" {
		w.refs[gate] = ref
	}
}

// card draws a gate with its live buttons. Hold asks for a reason.
func (w *world) card(g view.Gate) chat.Card {
	c := cards.GateCopy{}
	if g.Status == kernel.GateOpen {
		if opt := w.step[g.ID]; opt != "" {
			c.Confirming = opt
			c.Actions = []cards.Action{{ID: g.ID + ":confirm:" + opt, Step: "confirm", Option: opt}, {ID: g.ID + ":back", Step: "back"}}
		} else {
			for _, o := range g.Options {
				c.Actions = append(c.Actions, cards.Action{ID: g.ID + ":answer:" + o.ID, Step: "answer", Option: o.ID})
			}
		}
	}
	card := cards.Gate(g, c)
	for i, b := range card.Buttons {
		if b.Label == "Hold" {
			card.Buttons[i].Label, card.Buttons[i].Form = "Hold…", true
			card.Input = &chat.Input{Name: "reason", Label: "Why hold it?", Required: true, Multi: true, Max: 500}
		}
	}
	return card
}

// Accept is the bot.
func (w *world) Accept(ctx context.Context, e chat.Event) (chat.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, e)
	if e.Press == nil {
		return chat.Answer{Reply: "Heard: " + e.Message.Text}, nil
	}
	for gi := range w.goals {
		for i := range w.goals[gi].Gates {
			g := &w.goals[gi].Gates[i]
			for _, o := range g.Options {
				switch e.Press.Action {
				case g.ID + ":answer:" + o.ID:
					if g.Protected && o.Outcome == kernel.Approve {
						w.step[g.ID] = o.ID
						return chat.Answer{}, w.update(ctx, *g)
					}
					return w.decide(ctx, gi, g, o, e.Press.Values["reason"])
				case g.ID + ":confirm:" + o.ID:
					return w.decide(ctx, gi, g, o, "")
				case g.ID + ":back":
					delete(w.step, g.ID)
					return chat.Answer{}, w.update(ctx, *g)
				}
			}
		}
	}
	return chat.Answer{Notice: "not supported any more"}, nil
}

func (w *world) update(ctx context.Context, g view.Gate) error {
	card := w.card(g)
	return w.console.Update(ctx, w.refs[g.ID], chat.Outgoing{Text: chat.PlainText(card), Card: &card})
}

func (w *world) decide(ctx context.Context, gi int, g *view.Gate, o view.Option, reason string) (chat.Answer, error) {
	g.Status, g.Running = kernel.GateAnswered, true
	g.Answer = &kernel.GateAnswer{Option: o.ID, Label: o.Label, Outcome: o.Outcome, Reason: reason, Person: "owner", Name: "Wei", Surface: "page", At: w.now().UnixMilli()}
	page := &w.goals[gi]
	page.Summary.Gates--
	for i, t := range page.Blocked {
		if len(t.BlockedBy) > 0 && t.BlockedBy[0].ID == g.ID && o.Outcome == kernel.Approve {
			t.BlockedBy, t.StateOf, t.Status, t.ClaimedBy, t.ClaimSince = nil, "claimed", "open", "builder", w.now().UnixMilli()
			g.Taken = &kernel.Taken{Agent: "builder", At: t.ClaimSince}
			page.Blocked = slices.Delete(page.Blocked, i, i+1)
			page.InProgress = append(page.InProgress, t)
			break
		}
	}
	return chat.Answer{}, w.update(ctx, *g)
}

// Do implements view.Service; the page writes nothing through it.
func (w *world) Do(context.Context, kernel.Command, kernel.Options) (kernel.Receipt, error) {
	return kernel.Receipt{}, kernel.Errorf(kernel.Internal, "no_writes", "the page writes through chat only")
}

// Query implements view.Service.
func (w *world) Query(_ context.Context, q view.Query) (json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return nil, w.down
	}
	switch q := q.(type) {
	case *view.Status:
		return json.Marshal(w.status())
	case *view.GoalPage:
		for _, g := range w.goals {
			if g.Summary.ID == q.Goal {
				g.AsOf = w.now().UnixMilli()
				return json.Marshal(g)
			}
		}
		return nil, kernel.Errorf(kernel.NotFound, "goal_not_found", "there is no goal %q in this workspace", q.Goal)
	case *view.Todos:
		for _, g := range w.goals {
			if g.Summary.ID == q.Goal {
				return json.Marshal(view.TodosView{GoalID: q.Goal, Todos: g.Done})
			}
		}
	}
	return nil, fmt.Errorf("no such view: %s", q.Name())
}

func (w *world) status() view.StatusView {
	s := view.StatusView{AsOf: w.now().UnixMilli(), NeedsYou: []view.Item{}, Running: []view.Item{}, Watching: []view.Item{}, Scheduled: []view.Item{}, Stopped: []view.Item{}, Goals: []view.Summary{}}
	for _, g := range w.goals {
		id := g.Summary.ID
		s.Goals = append(s.Goals, g.Summary)
		for _, v := range g.Gates {
			if v.Status == kernel.GateOpen {
				s.NeedsYou = append(s.NeedsYou, view.Item{Kind: "gate", Goal: id, ID: v.ID, Code: v.Code, Title: v.Question, Agent: v.AskedBy, Since: v.Asked})
			}
		}
		for _, v := range g.InProgress {
			s.Running = append(s.Running, view.Item{Kind: "todo", Goal: id, ID: v.ID, Title: v.Title, Agent: v.ClaimedBy, Prio: v.Priority, Since: v.ClaimSince})
		}
		for _, v := range g.Later {
			if v.Watch != nil {
				s.Watching = append(s.Watching, view.Item{Kind: "watch", Goal: id, ID: v.ID, Title: v.Title, Prio: v.Priority, Next: v.Watch.NextDue, Since: v.Created})
			} else {
				s.Scheduled = append(s.Scheduled, view.Item{Kind: "deferred", Goal: id, ID: v.ID, Title: v.Title, Prio: v.Priority, Note: v.ResumeWhen})
			}
		}
		for _, v := range g.ToDo {
			s.Scheduled = append(s.Scheduled, view.Item{Kind: "ready", Goal: id, ID: v.ID, Title: v.Title, Prio: v.Priority, Since: v.Created})
		}
		if g.Summary.Status != "active" {
			s.Stopped = append(s.Stopped, view.Item{Kind: "goal", Goal: id, ID: id, Title: g.Summary.Title, Note: "paused: stop", Since: storyNow().Add(-20 * time.Hour).UnixMilli()})
		}
	}
	return s
}

func (w *world) presses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.seen {
		if e.Press != nil {
			n++
		}
	}
	return n
}

// page starts a page on the world, in home.
func (w *world) page(t *testing.T, home string, change func(*Options, *Page)) *Page {
	t.Helper()
	opt := Options{
		Service: w, Chat: w.console, Home: home, Version: "0.1.0", Now: w.now,
		Health: func() []Connection {
			return []Connection{
				{Name: "console", Platform: chat.Console, Health: w.console.Health()},
				{Name: "slack", Platform: chat.Slack, Health: chat.Health{State: chat.Retrying, Detail: "no answer from the platform"}},
			}
		},
	}
	p := New(opt)
	if change != nil {
		change(&opt, p)
		p.opt = opt
		p.sessions.asOwner = opt.OpenAsOwner
		p.feed.service = opt.Service
		if p.opt.Logger == nil {
			p.opt.Logger = New(Options{}).opt.Logger
		}
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}
