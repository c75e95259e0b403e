package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"loopx/fixtures/demo"
)

// running is a story in a workspace: its plan, and the ids that its todos and
// first gates have there, by key.
type running struct {
	demo.Story
	cli *cli
	ids map[string]string
}

// setUpAll writes the plans of all stories, or finds them there.
func setUpAll(ctx context.Context, c *cli) ([]*running, error) {
	stories, err := demo.Stories()
	if err != nil {
		return nil, err
	}
	out, errs := make([]*running, len(stories)), make([]error, len(stories))
	var wg sync.WaitGroup
	for i, s := range stories {
		out[i] = &running{Story: s, cli: c, ids: map[string]string{}}
		wg.Go(func() { errs[i] = out[i].setUp(ctx) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// key is the idempotency key of a step of the story. Every step has one, so a
// second start, or one after an interrupted first, finds what is there and goes
// on.
func (r *running) key(parts ...string) []string {
	k := "demo/" + r.Goal
	for _, p := range parts {
		k += "/" + p
	}
	return []string{"--idempotency-key", k}
}

// setUp writes the plan through the command line.
func (r *running) setUp(ctx context.Context) error {
	args := []string{"goal", "create", "--goal-id", r.Goal, "--title", r.Title, "--objective", r.Objective, "--allowed-slots", strconv.Itoa(r.Slots)}
	for _, a := range r.Agents {
		args = append(args, "--agent-id", a)
	}
	if _, err := r.cli.run(ctx, append(args, r.key()...)...); err != nil {
		return err
	}
	for i := range r.Todos {
		t := &r.Todos[i]
		if t.State == "added" {
			continue
		}
		id, err := r.add(ctx, t)
		if err != nil {
			return err
		}
		r.ids[t.Key] = id
		if t.State == "done" {
			if err := r.finished(ctx, t); err != nil {
				return err
			}
		}
	}
	for i := range r.Gates {
		if g := &r.Gates[i]; g.Asked == "" {
			id, err := r.ask(ctx, g)
			if err != nil {
				return err
			}
			r.ids[g.Key] = id
		}
	}
	return nil
}

// begin wakes the watches of the story.
func (r *running) begin(ctx context.Context) error {
	if r.Begins == "" {
		return nil
	}
	return r.fire(ctx, r.Begins)
}

// fire says that something happened that parked todos wait for.
func (r *running) fire(ctx context.Context, event string) error {
	_, err := r.cli.run(ctx, append([]string{"event", "fire", "--goal-id", r.Goal, "--key", event}, r.key("event", event)...)...)
	return err
}

// id gives the id of a todo of the plan, which is added where it is not there.
func (r *running) id(ctx context.Context, key string) (string, error) {
	if id := r.ids[key]; id != "" {
		return id, nil
	}
	t := r.Todo(key)
	if t == nil {
		return "", fmt.Errorf("the story %s has no todo %q", r.Goal, key)
	}
	return r.add(ctx, t)
}

// add puts a todo on the plan and returns its id.
func (r *running) add(ctx context.Context, t *demo.Todo) (string, error) {
	args := []string{"todo", "add", "--goal-id", r.Goal, "--text", t.Title, "--priority", "P" + strconv.Itoa(t.Priority)}
	args = append(args, r.key(t.Key)...)
	// A watch of the first story is anybody's.
	if t.Agent != "" && (t.State != "watch" || len(t.Looks) > 0) {
		args = append(args, r.onlyFor(t.Agent)...)
	}
	for _, key := range t.After {
		id, err := r.id(ctx, key)
		if err != nil {
			return "", err
		}
		args = append(args, "--after", id)
	}
	switch t.State {
	case "deferred":
		args = append(args, "--resume-when", t.Resume)
	case "watch":
		args = append(args, "--task-class", "continuous_monitor", "--cadence", t.Cadence, "--watch-only")
		if len(t.Looks) > 0 {
			args = append(args, "--resume-when", "event:"+r.Begins)
		}
	}
	a, err := r.cli.run(ctx, args...)
	if err != nil {
		return "", err
	}
	return a.str("todo_id"), nil
}

// onlyFor excludes all agents but one.
func (r *running) onlyFor(agent string) (args []string) {
	for _, a := range r.Agents {
		if a != agent {
			args = append(args, "--excluded-agent", a)
		}
	}
	return args
}

// finished takes a todo of the past through its whole tick.
func (r *running) finished(ctx context.Context, t *demo.Todo) error {
	turn := "story-" + t.Key
	who := []string{"--goal-id", r.Goal, "--agent-id", t.Agent}
	id := r.ids[t.Key]
	// These keys are those of the first demo, which had one story: its folders go on.
	prefix := "demo/" + turn
	if r.Goal != "repair-cafe" {
		prefix = "demo/" + r.Goal + "/" + turn
	}
	steps := [][]string{
		{"todo", "claim", "--todo-id", id, "--idempotency-key", prefix + "/claim"},
		{"todo", "complete", "--todo-id", id, "--evidence", t.Evidence, "--no-follow-up", "--idempotency-key", prefix + "/complete"},
		{"quota", "spend-slot", "--execute", "--idempotency-key", prefix + "/spend"},
	}
	for _, step := range steps {
		if _, err := r.cli.run(ctx, append(step, who...)...); err != nil {
			return err
		}
	}
	return nil
}

// ask opens a gate and returns its id.
func (r *running) ask(ctx context.Context, g *demo.Gate) (string, error) {
	args := []string{"gate", "open", "--goal-id", r.Goal, "--agent-id", g.Agent, "--question", g.Question, "--why", g.Why, "--kind", g.Kind, "--fallback", g.Fallback}
	args = append(args, r.key("gate", g.Key)...)
	for _, o := range g.Options {
		args = append(args, "--option", fmt.Sprintf("%s=%s:%s", o.ID, o.Label, o.Outcome), "--consequence", o.ID+"="+o.Consequence)
	}
	for _, key := range g.Blocks {
		id, err := r.id(ctx, key)
		if err != nil {
			return "", err
		}
		args = append(args, "--blocks-todo", id)
	}
	for _, e := range g.Evidence {
		args = append(args, "--evidence", e)
	}
	a, err := r.cli.run(ctx, args...)
	if err != nil {
		return "", err
	}
	return a.str("gate_id"), nil
}

// chosen is the option that people chose at a gate, or "".
func (r *running) chosen(ctx context.Context, gate string) (string, error) {
	g := r.Gate(gate)
	if g == nil {
		return "", fmt.Errorf("the story %s has no gate %q", r.Goal, gate)
	}
	id, err := r.ask(ctx, g) // it is there: the same key gives its id
	if err != nil {
		return "", err
	}
	a, err := r.cli.run(ctx, "gate", "show", "--goal-id", r.Goal, "--gate-id", id)
	if err != nil {
		return "", err
	}
	return a.sub("answer").str("option"), nil
}

// digestOf names an artifact by what is in it.
func digestOf(a *demo.Artifact) string {
	sum := sha256.Sum256([]byte(a.Text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// evidenceOf is the proof that work on a todo gives: words, or an artifact with
// the digest of what it is made of.
func evidenceOf(t *demo.Todo, option string) (summary, arg string) {
	summary = t.Evidence
	if e := t.EvidenceFor[option]; e != "" {
		summary = e
	}
	if t.Artifact == nil {
		return summary, summary
	}
	b, _ := json.Marshal(map[string]string{"kind": "artifact", "summary": summary, "ref": t.Artifact.Ref, "digest": digestOf(t.Artifact)})
	return summary, string(b)
}
