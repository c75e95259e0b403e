package cli

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readyPart is one part of the score. Action says what would give the rest.
type readyPart struct {
	ID     string `json:"id"`
	Points int    `json:"points"`
	Max    int    `json:"max"`
	Text   string `json:"text"`
	Action string `json:"action,omitempty"`
}

func readyCmd(a *app) *cobra.Command {
	var s scope
	var limit time.Duration
	c := a.verbOf("ready-score", "", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.DurationVar(&limit, "timeout", 30*time.Second, "for the check of the state file")
	}, func() error {
		r := &ready{a: a, scope: s}
		if err := r.look(limit); err != nil {
			return err
		}
		total := 0
		for _, p := range r.parts {
			total += p.Points
		}
		f := newFields().set("goal_id", r.scope.goal).set("agent_id", r.scope.agent).set("score", total).set("grade", grade(total)).set("parts", r.parts)
		return a.out(f, func() string { return r.text(total) })
	})
	c.Long = "Adds up how ready a goal is to run again and again: the folder's health, agents, chat,\n" +
		"an owner who can be reached, a next step, a slot, evidence. It reads only, and keeps no\n" +
		"score. Without a goal the first that needs somebody is taken."
	return c
}

func grade(n int) string {
	switch {
	case n >= 90:
		return "ready"
	case n >= 75:
		return "mostly_ready"
	case n >= 60:
		return "partially_ready"
	case n >= 40:
		return "needs_setup"
	}
	return "not_ready"
}

// ready is one look.
type ready struct {
	a     *app
	scope scope
	parts []readyPart
}

// add notes a part: the points of what holds, and the first thing to do about
// what does not.
func (r *ready) add(id, text string, items ...readyItem) {
	p := readyPart{ID: id, Text: text}
	for _, i := range items {
		p.Max += i.points
		if i.holds {
			p.Points += i.points
		} else if p.Action == "" {
			p.Action = i.action
		}
	}
	r.parts = append(r.parts, p)
}

type readyItem struct {
	points int
	holds  bool
	action string
}

func (r *ready) look(limit time.Duration) error {
	a := r.a
	home, err := a.home()
	if err != nil {
		return err
	}
	bad, connected := "", false
	for _, c := range checksOf(a, home, limit) {
		switch {
		case c.State == stateBad && c.Name != "connection":
			bad = c.Name + ": " + c.Text
		case c.Name == "connection" && c.State == stateOK:
			connected = true
		}
	}
	status, err := ask[view.StatusView](a, &view.Status{Goal: r.scope.goal})
	if err != nil && !noWorkspace(err) {
		return err
	}
	sum := r.choose(status)
	goal := " --goal-id " + sum.ID
	r.add("health", orText(bad, "folder, files and state are sound"), readyItem{12, bad == "", "loopx doctor"}, readyItem{12, err == nil, "loopx start-goal --guided"})
	if sum.ID == "" {
		r.none()
		return nil
	}
	page, err := ask[view.GoalPageView](a, &view.GoalPage{Goal: sum.ID})
	if err != nil {
		return err
	}
	seen := slices.ContainsFunc(sum.Agents, func(v view.AgentView) bool { return v.Running }) || len(page.Evidence) > 0
	agent := "AGENT"
	if len(sum.Agents) > 0 {
		agent = sum.Agents[0].ID
	}
	r.add("agents", count(len(sum.Agents), "agent", "agents"), readyItem{4, len(sum.Agents) > 0, "loopx agent register" + goal + " --agent-id NAME"}, readyItem{4, seen, "let an agent tick: loopx tick" + goal + " --agent-id " + agent + " --turn-instance-id TURN"})
	links, err := ask[view.LinksView](a, &view.Links{})
	if err != nil {
		return err
	}
	linked := slices.ContainsFunc(links.Links, func(l kernel.Principal) bool { return l.Status == "linked" })
	r.add("chat", map[bool]string{true: "a connection is ready", false: "no chat connection is ready"}[connected], readyItem{8, connected, "loopx-bot setup slack, lark or discord; then start loopx-bot"})
	r.add("owner", map[bool]string{true: "an owner's chat account is linked", false: "no owner's chat account is linked"}[linked], readyItem{6, linked, "loopx link"})
	r.add("goal", show(sum.Title, 60), readyItem{6, true, ""}, readyItem{6, sum.Status == kernel.GoalActive && sum.Counts.Open+sum.Counts.Monitors > 0, "loopx todo add" + goal + " --text TEXT"})
	waiting := sum.Gates + sum.Counts.Asks
	r.add("todos", count(sum.Counts.Open, "open todo", "open todos")+", "+count(waiting, "waits for a person", "wait for a person"),
		readyItem{8, len(page.ToDo)+len(page.InProgress) > 0, "loopx todo add" + goal + " --text TEXT"}, readyItem{4, waiting == 0, "loopx gate list" + goal})
	return r.turns(sum, page)
}

// turns scores what an agent would be told now, and what was delivered before.
func (r *ready) turns(sum view.Summary, page view.GoalPageView) error {
	goal := " --goal-id " + sum.ID
	if r.scope.agent == "" && len(sum.Agents) > 0 {
		r.scope.agent = sum.Agents[0].ID
	}
	var d kernel.Decision
	text := "no agent to ask for"
	if r.scope.agent != "" {
		var err error
		if d, err = ask[kernel.Decision](r.a, &view.ShouldRun{Caller: kernel.Caller{Goal: sum.ID, Agent: r.scope.agent}}); err != nil {
			return err
		}
		text = r.scope.agent + " would " + d.Kind + ": " + show(d.Reason, 100)
	}
	why := "loopx why" + goal
	if r.scope.agent != "" {
		why += " --agent-id " + r.scope.agent
	}
	r.add("turn", text, readyItem{8, d.ShouldRun, why}, readyItem{5, d.Kind == "deliver", why},
		readyItem{4, sum.Allowed > sum.Spent, "loopx configure-goal" + goal + " --allowed-slots N --execute"}, readyItem{3, len(d.Contract.CLI.Next) > 0, why})
	history, err := ask[view.HistoryView](r.a, &view.History{Goal: sum.ID, Limit: 100})
	if err != nil {
		return err
	}
	day := r.a.now().Add(-24 * time.Hour).UnixMilli()
	recent := slices.ContainsFunc(history.Runs, func(x kernel.Run) bool { return x.At > day })
	progress := slices.ContainsFunc(history.Runs, func(x kernel.Run) bool { return x.At > day && x.Accountable })
	fresh := slices.ContainsFunc(page.Evidence, func(e view.Evidence) bool { return !e.Stale && e.Observed > day })
	r.add("history", count(len(history.Runs), "writeback", "writebacks"), readyItem{3, len(history.Runs) > 0, "let an agent settle a turn"},
		readyItem{3, progress, "settle a turn with evidence"}, readyItem{2, recent, "let an agent tick"}, readyItem{2, fresh, "record evidence with the next turn"})
	return nil
}

// none are the parts of a workspace without a goal.
func (r *ready) none() {
	start := "loopx start-goal --guided"
	for _, p := range []readyPart{{ID: "agents", Max: 8}, {ID: "chat", Max: 8}, {ID: "owner", Max: 6}, {ID: "goal", Max: 12}, {ID: "todos", Max: 12}, {ID: "turn", Max: 20}, {ID: "history", Max: 10}} {
		p.Text, p.Action = "there is no goal yet", start
		r.parts = append(r.parts, p)
	}
}

// choose takes the goal that was named, else the first that needs somebody, else
// the first.
func (r *ready) choose(v view.StatusView) view.Summary {
	if len(v.Goals) == 0 {
		return view.Summary{}
	}
	sum := v.Goals[0]
	if len(v.NeedsYou) > 0 {
		for _, g := range v.Goals {
			if g.ID == v.NeedsYou[0].Goal {
				sum = g
			}
		}
	}
	r.scope.goal = sum.ID
	return sum
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return show(s, 120)
}

func (r *ready) text(total int) string {
	rows := make([][]string, 0, len(r.parts))
	for _, p := range r.parts {
		rows = append(rows, []string{fmt.Sprintf("%3d/%d", p.Points, p.Max), p.ID, p.Text})
	}
	text := fmt.Sprintf("%s of 100: %s", r.a.bold(fmt.Sprint(total)), strings.ReplaceAll(grade(total), "_", " "))
	if r.scope.goal != "" {
		text += ", " + r.scope.goal
	}
	text += "\n" + r.a.table(rows)
	left := 3
	for _, p := range r.parts {
		if p.Action != "" && left > 0 && (left == 3 || !strings.Contains(text, "try: "+p.Action)) {
			text += "  " + p.ID + ": try: " + p.Action + "\n"
			left--
		}
	}
	return text
}

func firstRunCmd(a *app) *cobra.Command {
	c := a.verbOf("first-run-report", "", nil, func() error {
		home, err := a.home()
		if err != nil {
			return err
		}
		daemon := "not running"
		if client.New(home).Listening() {
			daemon = "running"
		}
		f := newFields().set("version", client.Version).set("go", runtime.Version()).set("os", runtime.GOOS).set("arch", runtime.GOARCH).
			set("at", a.now().UTC().Format(time.RFC3339)).set("workspace", home.Exists()).set("bot", daemon).set("sent", false)
		return a.out(f, func() string {
			return a.table([][]string{
				{"version", client.Version}, {"system", runtime.GOOS + "/" + runtime.GOARCH}, {"go", runtime.Version()}, {"time", a.now().UTC().Format(time.RFC3339)},
				{"workspace", map[bool]string{true: "there", false: "none yet"}[home.Exists()]}, {"bot", daemon},
			}) + "Add what you did, what you expected and what you saw. Leave out logs, paths, tokens,\n" +
				"names of projects and texts of goals. This is only printed: nothing is sent.\n"
		})
	})
	c.Long = "Prints what somebody who helps needs to know first: version, system, whether there is a\n" +
		"workspace and a running bot. It holds no path, name or text of yours, and sends nothing."
	return c
}
