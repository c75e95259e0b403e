package view

import (
	"fmt"
	"strings"
	"time"

	"loopx/kernel"
)

// Board is the five lines of one goal or all, as facts: `loopx board`, /status
// and the status card of a conversation say the same words about them.
type Board struct {
	Goal string `json:"goal,omitempty"`
}

// BoardView is the answer to Board.
type BoardView struct {
	AsOf  int64  `json:"as_of"`
	Goals []Five `json:"goals"`
}

// Five is a goal in the five lines. Times are UTC ms.
type Five struct {
	ID        string `json:"goal_id"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	Language  string `json:"language"`
	Objective string `json:"objective"`
	// Step is working, ready, waiting, nothing_open or stuck; Agent, Todo,
	// Priority and Since are of the first two.
	Step     string          `json:"step"`
	Agent    string          `json:"agent_id,omitempty"`
	Todo     string          `json:"todo,omitempty"`
	Priority kernel.Priority `json:"priority,omitempty"`
	Since    int64           `json:"since,omitempty"`
	// Gate is the most severe open decision; More counts the others.
	Gate *FiveGate `json:"gate,omitempty"`
	More int       `json:"more,omitempty"`
	// Proof are the newest pieces of evidence, Proved the time of the newest.
	Proof  []string `json:"proof,omitempty"`
	Proved int64    `json:"proved_at,omitempty"`
	Stale  bool     `json:"stale,omitempty"`
	// End is why it does not go on: closed, paused or finished; empty: it does.
	End     string `json:"end,omitempty"`
	Because string `json:"because,omitempty"`
	Free    int    `json:"free_slots"`
	Allowed int    `json:"allowed_slots"`
	Window  int64  `json:"window_ms"`
	// Wake is when an agent of the goal is to be woken next; 0: by an answer or by
	// new work.
	Wake int64 `json:"next_wake_at,omitempty"`
}

// FiveGate is a decision that waits.
type FiveGate struct {
	Code     string `json:"code"`
	Question string `json:"question"`
	Asked    int64  `json:"asked_at"`
	// Unreachable is why nobody who may answer it can be told.
	Unreachable string `json:"unreachable,omitempty"`
}

// Name implements Query.
func (*Board) Name() string { return "board" }

func (q *Board) run(r *kernel.Reader) (any, error) {
	out := BoardView{AsOf: r.Now(), Goals: []Five{}}
	goals := r.Goals(goalsShown)
	if q.Goal != "" {
		g, err := goalOf(r, q.Goal)
		if err != nil {
			return nil, err
		}
		goals = []*kernel.Goal{g}
	}
	for _, g := range goals {
		out.Goals = append(out.Goals, FiveOf(r, g))
	}
	return out, nil
}

// FiveOf derives the five lines of a goal.
func FiveOf(r *kernel.Reader, g *kernel.Goal) Five {
	f := fiveFacts(r, g, r.Counts(g.ID), r.Quota(g, ""))
	if f.End != "" {
		return f
	}
	for _, a := range r.Agents(g.ID) {
		d, err := r.Decide(kernel.Caller{Goal: g.ID, Agent: a.ID})
		if err != nil { // then the other lines still hold
			break
		}
		if w := d.Scheduler.NextWake; w > r.Now() && (f.Wake == 0 || w < f.Wake) {
			f.Wake = w
		}
	}
	return f
}

// fiveFacts are the five lines but for the next wake, which takes a decision for
// each agent.
func fiveFacts(r *kernel.Reader, g *kernel.Goal, n kernel.Counts, quota kernel.Quota) Five {
	f := Five{ID: g.ID, Title: g.Title, Status: g.Shown(), Language: g.Language, Objective: firstLine(g.Objective), Free: max(quota.Free(), 0), Allowed: quota.Allowed, Window: quota.Window}
	f.next(r, g, n)
	if gates := r.OpenGates(g.ID, 1); len(gates) > 0 {
		f.Gate, f.More = &FiveGate{Code: gates[0].Code, Question: gates[0].Question, Asked: gates[0].Created}, max(n.GatesOpen-1, 0)
		if u := r.Unreachable(gates[0]); u != nil {
			f.Gate.Unreachable = u.Reason
		}
	}
	for i, e := range r.NewestEvidence(g.ID, 3) {
		if i == 0 {
			f.Proved, f.Stale = e.Observed, e.Stale(r.Now())
		}
		f.Proof = append(f.Proof, firstLine(e.Summary))
	}
	switch {
	case g.Status == kernel.GoalCompleted:
		f.End, f.Because = "closed", firstLine(g.Outcome)
	case len(g.Pause) > 0:
		f.End, f.Because = "paused", strings.Join(g.Pause, ", ")
	case n.Open+n.Deferred+n.Monitors+n.Asks == 0 && n.LastEnd == kernel.NoFollowup:
		f.End = "finished"
	}
	return f
}

func (f *Five) next(r *kernel.Reader, g *kernel.Goal, n kernel.Counts) {
	for _, v := range r.List(g.ID, kernel.ListHeld, "", 1) {
		if c := r.Claim(g.ID, v.ID); c.Holds(r.Steady()) {
			f.Step, f.Agent, f.Todo, f.Priority, f.Since = "working", c.Agent, v.Title, v.Priority, c.Since
			return
		}
	}
	for _, v := range r.List(g.ID, kernel.ListReady, "", 1) {
		f.Step, f.Todo, f.Priority = "ready", v.Title, v.Priority
		return
	}
	switch {
	case n.Blocked > 0 && n.GatesOpen > 0:
		f.Step = "waiting"
	case n.Open == 0 && n.Done > 0:
		f.Step = "nothing_open"
	default:
		f.Step = "stuck"
	}
}

// Line is one of the five, with its label.
type Line struct{ Label, Text string }

// Lines are always five: objective, next, needs you, evidence, continues. Times
// are in the reader's zone and left out without one; now is UTC ms.
func (f *Five) Lines(lang string, now int64, zone *time.Location) []Line {
	say := func(en, zh string) string {
		if lang == "zh" {
			return zh
		}
		return en
	}
	timed := func(format, text string) string {
		if zone == nil {
			return ""
		}
		return fmt.Sprintf(format, text)
	}
	clock := func(ms int64) string {
		if zone == nil {
			return ""
		}
		return ClockIn(lang, ms, now, zone)
	}
	next := map[string]string{
		"working":      fmt.Sprintf(say("%s: %s (P%d)", "%s：%s（P%d）"), f.Agent, f.Todo, f.Priority) + timed(say(", since %s", "，自 %s"), clock(f.Since)),
		"ready":        fmt.Sprintf(say("%s (P%d), not taken yet", "%s（P%d），还没有人接手"), f.Todo, f.Priority),
		"waiting":      say("waits for a decision", "等待决定"),
		"nothing_open": say("nothing open", "没有未完成的任务"),
		"stuck":        say("nothing can run now", "目前没有可以执行的任务"),
	}[f.Step]
	needs := say("nothing", "无")
	if f.Gate != nil {
		needs = f.Gate.Code + " " + f.Gate.Question + timed(say(" (%s)", "（%s）"), Age(lang, now-f.Gate.Asked))
		if f.Gate.Unreachable != "" {
			needs += say(", nobody can be reached", "，无法联系到任何人")
		}
		if f.More > 0 {
			needs += fmt.Sprintf(say(" and %d more", "，另有 %d 项"), f.More)
		}
	}
	proof := say("none yet", "还没有")
	if len(f.Proof) > 0 {
		proof = strings.Join(f.Proof, say(", ", "、")) + timed(" · %s", clock(f.Proved))
		if f.Stale {
			proof += say(", out of date", "，已过时")
		}
	}
	goes := fmt.Sprintf(say("yes, %d of %d slots left today", "是，今天还剩 %d / %d 个配额"), f.Free, f.Allowed)
	if h := f.Window / 3_600_000; h > 0 && h != 24 {
		goes = fmt.Sprintf(say("yes, %d of %d slots left in %d h", "是，%[3]d 小时内还剩 %[1]d / %[2]d 个配额"), f.Free, f.Allowed, h)
	}
	if f.Wake > now {
		goes += timed(say("; next wake %s", "；下次唤醒 %s"), clock(f.Wake))
	}
	if f.End != "" {
		goes = map[string]string{"closed": say("no, closed", "否，已关闭"), "paused": say("no, paused", "否，已暂停"), "finished": say("no, nothing is left to do", "否，没有剩余任务")}[f.End]
		if f.Because != "" {
			goes += say(": ", "：") + f.Because
		}
	}
	return []Line{{say("Objective", "目标"), f.Objective}, {say("Next", "下一步"), next}, {say("Needs you", "待你处理"), needs}, {say("Evidence", "证据"), proof}, {say("Continues", "是否继续"), goes}}
}

// Clock writes a time of day, with the date when it is another day than now.
func Clock(ms, now int64, zone *time.Location) string {
	t, n := time.UnixMilli(ms).In(zone), time.UnixMilli(now).In(zone)
	if t.YearDay() == n.YearDay() && t.Year() == n.Year() {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}

// ClockIn is Clock with the date as a language writes it.
func ClockIn(lang string, ms, now int64, zone *time.Location) string {
	t, n := time.UnixMilli(ms).In(zone), time.UnixMilli(now).In(zone)
	if lang == "zh" && (t.YearDay() != n.YearDay() || t.Year() != n.Year()) {
		return t.Format("1 月 2 日 15:04")
	}
	return Clock(ms, now, zone)
}

// Age is a span of ms in its largest whole unit.
func Age(lang string, ms int64) string {
	d := time.Duration(max(ms, 0)) * time.Millisecond
	n, en, zh := int(d/time.Minute), "min", "分钟"
	switch {
	case d >= 48*time.Hour:
		n, en, zh = int(d/(24*time.Hour)), "days", "天"
	case d >= time.Hour:
		n, en, zh = int(d/time.Hour), "h", "小时"
	}
	if lang == "zh" {
		return fmt.Sprintf("%d %s", n, zh)
	}
	return fmt.Sprintf("%d %s", n, en)
}
