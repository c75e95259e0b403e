package workspace

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"
)

// feed reads what the page shows. Several streams that ask at once share one
// reading, so ten open tabs cost the kernel as much as one.
type feed struct {
	service view.Service

	mu   sync.Mutex // held while reading: the others wait for the result
	keep map[string]kept
}

type kept struct {
	at   time.Time
	json json.RawMessage
	asOf int64
	err  error
}

// freshFor is how old a shared reading may be when nothing is known to have changed.
const freshFor = 150 * time.Millisecond

// doneGoals and doneEach bound what "done today" reads.
const (
	doneGoals  = 20
	doneEach   = 30
	doneWithin = 36 * time.Hour // the reader's own day is cut out of it in the browser
)

// overview is the five groups, and what was done lately.
type overview struct {
	view.StatusView
	Done []doneItem `json:"done"`
}

type doneItem struct {
	Goal  string `json:"goal_id"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Agent string `json:"agent,omitempty"`
	At    int64  `json:"at"`
}

// get gives a section as JSON without the time it was read at, so that equal
// state gives equal bytes; the time stands beside it. The reading began at or
// after the given moment.
func (f *feed) get(ctx context.Context, goal string, after time.Time) (json.RawMessage, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if k, ok := f.keep[goal]; ok && !k.at.Before(after) {
		return k.json, k.asOf, k.err
	}
	for name, k := range f.keep {
		if now.Sub(k.at) > time.Minute {
			delete(f.keep, name)
		}
	}
	k := kept{at: now}
	if goal == "" {
		k.json, k.asOf, k.err = f.status(ctx)
	} else {
		k.json, k.asOf, k.err = f.goal(ctx, goal)
	}
	if ctx.Err() == nil { // a reader that left says nothing about the state
		f.keep[goal] = k
	}
	return k.json, k.asOf, k.err
}

func (f *feed) status(ctx context.Context) (json.RawMessage, int64, error) {
	s, err := view.Ask[view.StatusView](ctx, f.service, &view.Status{})
	if err != nil {
		return nil, 0, err
	}
	out := overview{StatusView: s, Done: []doneItem{}}
	for _, g := range s.Goals[:min(len(s.Goals), doneGoals)] {
		if g.Counts.Done == 0 {
			continue
		}
		list, err := view.Ask[view.TodosView](ctx, f.service, &view.Todos{Goal: g.ID, Status: "done", Limit: doneEach})
		if err != nil {
			return nil, 0, err
		}
		for _, t := range list.Todos {
			if t.Done != nil && t.Done.At > s.AsOf-doneWithin.Milliseconds() {
				out.Done = append(out.Done, doneItem{Goal: g.ID, ID: t.ID, Title: t.Title, Agent: t.Done.By, At: t.Done.At})
			}
		}
	}
	asOf := out.AsOf
	out.AsOf = 0
	b, err := json.Marshal(out)
	return b, asOf, err
}

func (f *feed) goal(ctx context.Context, id string) (json.RawMessage, int64, error) {
	g, err := view.Ask[view.GoalPageView](ctx, f.service, &view.GoalPage{Goal: id})
	if err != nil {
		return nil, 0, err
	}
	asOf := g.AsOf
	g.AsOf = 0
	for i := range g.Gates {
		g.Gates[i].AsOf = 0
	}
	b, err := json.Marshal(g)
	return b, asOf, err
}

// trouble is what the page says when a section cannot be read; what it showed
// before stays.
func trouble(err error) *kernel.Error {
	e := kernel.AsError(err)
	return &kernel.Error{Class: e.Class, Code: e.Code, Message: e.Message, Fix: e.Fix}
}
