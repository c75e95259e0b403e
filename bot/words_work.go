package bot

import (
	"fmt"
	"strings"
	"time"

	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/view"
)

// openLists are a goal's unfinished todos in the order people read them.
func openLists() []string {
	return []string{kernel.ListHeld, kernel.ListReady, kernel.ListGated, kernel.ListBlocked, kernel.ListAfter, kernel.ListAsk, kernel.ListMonitor, kernel.ListDeferred}
}

func todoWords(q *request, goals []*kernel.Goal) (string, error) {
	var lines []string
	more := 0
	for _, g := range goals {
		for _, list := range openLists() {
			for _, v := range q.r.List(g.ID, list, "", 100) {
				if len(lines) == todosShown {
					more++
					continue
				}
				line := fmt.Sprintf("P%d  %s · %s", v.Priority, v.Title, stateWords(q, v))
				switch {
				case q.in.Args.Goal != "":
					line += "  " + v.ID // what /defer and /assign take
				case len(goals) > 1:
					line += " (" + g.Title + ")"
				}
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return q.say("No todo is open.", "没有未完成的任务。"), q.r.Err()
	}
	if more > 0 {
		lines = append(lines, q.more(more, "loopx todo list"))
	}
	return strings.Join(lines, "\n"), q.r.Err()
}

// stateWords says in a phrase how a todo is, and what it waits for.
func stateWords(q *request, v *kernel.Todo) string {
	t := view.TodoOf(q.r, v)
	var codes, titles []string
	for _, b := range t.BlockedBy {
		codes = append(codes, b.Code)
	}
	for _, id := range t.WaitsFor {
		if w := q.r.Todo(v.Goal, id); w != nil {
			titles = append(titles, w.Title)
		}
	}
	switch t.StateOf {
	case "claimed":
		return fmt.Sprintf(q.say("%s since %s", "%s，自 %s"), t.ClaimedBy, q.clock(t.ClaimSince))
	case "gated":
		return q.say("waits for ", "等待 ") + strings.Join(codes, ", ")
	case "blocked":
		return q.say("stopped by ", "被决定停止：") + strings.Join(codes, ", ")
	case "waiting":
		return q.say("comes after: ", "在此之后：") + strings.Join(titles, q.say(", ", "、"))
	case "deferred":
		if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(v.ResumeWhen, "date:")); err == nil {
			return q.say("deferred until ", "推迟至 ") + q.clock(at.UnixMilli())
		}
		return q.say("deferred", "已推迟")
	case "watching":
		return q.say("watching", "观察中")
	case "asked":
		return q.say("a request to a person", "需要人处理")
	case "done", "superseded":
		return q.say("done", "已完成")
	}
	return q.say("not taken yet", "还没有人接手")
}

func (q *request) clock(ms int64) string { return view.ClockIn(q.lang(), ms, q.r.Now(), q.zone()) }

// todayWords is what was finished and decided since the person's midnight.
func todayWords(q *request, goals []*kernel.Goal) (string, error) {
	now := time.UnixMilli(q.r.Now()).In(q.zone())
	from := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()).UnixMilli()
	var done, decided []string
	waits := 0
	for _, g := range goals {
		waits += q.r.Counts(g.ID).GatesOpen
		for _, v := range q.r.List(g.ID, kernel.ListDone, "", 100) {
			if v.Status == kernel.TodoDone && v.Updated >= from {
				done = append(done, "● "+v.Title+" ("+q.clock(v.Updated)+")")
			}
		}
		for _, v := range q.r.Gates(g.ID, 100) {
			if a := v.Answer; a != nil && a.At >= from {
				decided = append(decided, fmt.Sprintf(q.say("%s  %s, by %s %s", "%s  %s，由 %s 于 %s"), v.Code, a.Label, a.Name, q.clock(a.At)))
			}
		}
	}
	lines := []string{fmt.Sprintf(q.say("Done today (%d)", "今日完成（%d）"), len(done))}
	cut := func(list []string) {
		for i, l := range list {
			if i == todosShown {
				lines = append(lines, fmt.Sprintf(q.say("… %d more", "… 另有 %d 项"), len(list)-i))
				break
			}
			lines = append(lines, l)
		}
	}
	cut(done)
	lines = append(lines, fmt.Sprintf(q.say("Decided today (%d)", "今日决定（%d）"), len(decided)))
	cut(decided)
	lines = append(lines, fmt.Sprintf(q.say("Needs you: %d", "待你处理：%d"), waits))
	return strings.Join(lines, "\n"), q.r.Err()
}

// findMost bounds the rows one search in a chat reads: it runs where events are
// taken in, and they must not wait for it.
const findMost = 4000

func findWords(q *request, goals []*kernel.Goal) (string, error) {
	text := strings.TrimSpace(q.in.Args.Text)
	if len(text) > 200 {
		return q.say("That is too long to look for.", "要查找的文字太长。"), nil
	}
	v := view.FindIn(q.r, text, goals, findMost)
	var lines []string
	for i, h := range v.Hits {
		if i == hitsShown {
			lines = append(lines, q.more(len(v.Hits)-i, "loopx find"))
			break
		}
		name := h.Code
		if name == "" {
			name = kindWord(q, h.Kind)
		}
		lines = append(lines, fmt.Sprintf("%s  %s (%s, %s)", name, h.Text, h.Goal, q.clock(h.At)))
	}
	if len(lines) == 0 {
		lines = append(lines, q.say("Nothing you may read holds that.", "在你能查看的内容中没有找到。"))
	}
	if v.Partial {
		lines = append(lines, q.say("I did not look through everything: loopx find does.", "没有全部查完，完整查找请用 loopx find。"))
	}
	return strings.Join(lines, "\n"), q.r.Err()
}

func kindWord(q *request, kind string) string {
	if !q.zh {
		return kind
	}
	return map[string]string{"goal": "目标", "todo": "任务", "agent": "Agent", "evidence": "证据", "gate": "待决事项", "run": "执行记录"}[kind]
}

// whyWords says why something waits: a decision, a todo or a goal.
func whyWords(q *request) (said, error) {
	a := q.in.Args
	name := a.Gate
	if len(a.Words) > 0 {
		name = a.Words[0]
	}
	tell := func(g *kernel.Goal, text string) (said, error) {
		if g != nil && q.place.shows(g) && !q.place.alone {
			return said{here: text}, q.r.Err()
		}
		return said{private: text}, q.r.Err()
	}
	unknown := q.say("I know no "+name+" here.", "这里没有 "+name+"。")
	if a.Gate != "" {
		return whyGate(q, a.Gate, tell, unknown)
	}
	if name == "" {
		name = q.goalHere()
	}
	if name == "" {
		return said{here: usageWords(q, "why")}, nil
	}
	if goal := q.r.GoalOfTodo(name); goal != "" && q.holds(goal, kernel.RoleObserver) {
		v := q.r.Todo(goal, name)
		if v == nil {
			return tell(nil, unknown)
		}
		return tell(q.r.Goal(goal), v.Title+"\n"+stateWords(q, v))
	}
	g := q.r.Goal(name)
	if g == nil || !q.holds(name, kernel.RoleObserver) {
		return tell(nil, unknown)
	}
	f := view.FiveOf(q.r, g)
	lines := []string{g.Title}
	for i, l := range f.Lines(q.lang(), q.r.Now(), q.zone()) {
		if i == 1 || i == 2 || i == 4 {
			lines = append(lines, l.Label+"  "+l.Text)
		}
	}
	for _, m := range q.r.Agents(g.ID) {
		d, err := q.r.Decide(kernel.Caller{Goal: g.ID, Agent: m.ID})
		if err != nil || len(lines) > 8 {
			break
		}
		line := m.ID + q.say(": ", "：") + nextWords(q, d)
		if w := d.Scheduler.NextWake; w > 0 {
			line += q.say("; next wake ", "；下次唤醒 ") + q.clock(w)
		}
		lines = append(lines, line)
	}
	return tell(g, strings.Join(lines, "\n"))
}

func whyGate(q *request, code string, tell func(*kernel.Goal, string) (said, error), unknown string) (said, error) {
	var found []*kernel.Gate
	for _, goal := range readable(q, true) {
		if g := q.r.GateByCode(goal.ID, code); g != nil {
			found = append(found, g)
		}
	}
	if here := q.goalHere(); len(found) > 1 && here != "" { // the number is counted a goal
		if g := q.r.GateByCode(here, code); g != nil && q.holds(here, kernel.RoleObserver) {
			found = []*kernel.Gate{g}
		}
	}
	if len(found) == 0 {
		return tell(nil, unknown)
	}
	if len(found) > 1 {
		return tell(nil, fmt.Sprintf(q.say("%d goals have a %s. Ask where one of them is bound.", "有 %d 个目标都有 %s，请在绑定的会话中询问。"), len(found), code))
	}
	g := found[0]
	v := view.GateOf(q.r, g)
	lines := []string{g.Code + "  " + g.Question}
	if g.Why != "" {
		why := []rune(g.Why)
		if len(why) > 300 {
			why = append(why[:299], '…')
		}
		lines = append(lines, fmt.Sprintf(q.say("%s asks: “%s”", "%s 提问：“%s”"), v.AskedBy, string(why)))
	}
	if g.Answer != nil {
		lines = append(lines, fmt.Sprintf(q.say("%s, decided by %s %s", "%s，由 %s 于 %s 决定"), g.Answer.Label, g.Answer.Name, q.clock(g.Answer.At)))
	} else {
		lines = append(lines, fmt.Sprintf(q.say("Blocks %d of %d todos", "阻塞 %d / %d 个任务"), len(v.Blocks.Todos), v.Blocks.OpenTodos))
		var names []string
		for _, id := range q.r.AskedPersons(g) {
			if p := q.r.Person(id); p != nil {
				names = append(names, p.Name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, q.say("Waits for ", "等待：")+strings.Join(names, q.say(", ", "、")))
		} else {
			lines = append(lines, q.say("Nobody can be asked now", "目前没有可询问的人"))
		}
	}
	lines = append(lines, q.say("asked ", "提出于 ")+q.clock(g.Created))
	return tell(q.r.Goal(g.Goal), strings.Join(lines, "\n"))
}

// queueWords says what waits where the person's messages go.
func queueWords(q *request) (said, error) {
	goal := q.goalHere()
	g := q.r.Goal(goal)
	if g == nil || !q.holds(goal, kernel.RoleObserver) {
		return said{here: usageWords(q, "queue")}, q.r.Err()
	}
	var lines []string
	for _, a := range q.r.Agents(goal) {
		queues, err := inbox.Queues(q.r.Tx(), goal, a.ID)
		if err != nil {
			return said{}, err
		}
		n := 0
		for _, waiting := range queues {
			n += waiting
		}
		lines = append(lines, fmt.Sprintf(q.say("%s  %d waiting", "%s  排队 %d 条"), a.ID, n))
	}
	if len(lines) == 0 {
		lines = append(lines, q.say("No agent works on this goal yet.", "这个目标还没有 Agent。"))
	}
	text := strings.Join(append(lines, usageWords(q, "queue")), "\n")
	if q.place.shows(g) && !q.place.alone {
		return said{here: text}, q.r.Err()
	}
	return said{private: text}, q.r.Err()
}
