package bot

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"
)

// Bounds of what one answer in a chat shows: it fits a phone.
const (
	goalsRead   = 200 // goals that are looked at for one person
	statusShown = 5
	gatesShown  = 10
	todosShown  = 10
	hitsShown   = 8
)

// view is a part of an answer about some goals.
type viewer func(q *request, goals []*kernel.Goal) (string, error)

// readable are the goals the person may read that a command is about: the one
// named, those bound where it was asked, or all of them.
func readable(q *request, all bool) []*kernel.Goal {
	var out []*kernel.Goal
	add := func(g *kernel.Goal) {
		if g != nil && len(out) < goalsRead && q.holds(g.ID, kernel.RoleObserver) {
			out = append(out, g)
		}
	}
	bound := q.place.bound
	switch {
	case q.in.Args.Goal != "":
		add(q.r.Goal(q.in.Args.Goal))
	case len(bound) > 0 && !all:
		seen := map[string]bool{}
		for _, id := range bound {
			if !seen[id] {
				add(q.r.Goal(id))
			}
			seen[id] = true
		}
	case q.actor.Kind == kernel.ByOwner:
		for _, g := range q.r.Goals(goalsRead) {
			add(g)
		}
	default:
		for _, v := range q.r.RolesBy(q.actor.ID) {
			add(q.r.Goal(v.Goal))
		}
	}
	return out
}

// about answers with a view of goals, each part where it may be read.
func (q *request) about(all bool, fn viewer) (said, error) {
	goals := readable(q, all)
	if len(goals) == 0 {
		none := noGoals(q)
		if q.in.Args.Goal != "" || q.place.alone { // whether it exists is nobody else's business
			return said{private: none}, q.r.Err()
		}
		return said{here: none}, q.r.Err()
	}
	var here, rest []*kernel.Goal
	for _, g := range goals {
		if q.place.shows(g) && !q.place.alone {
			here = append(here, g)
		} else {
			rest = append(rest, g)
		}
	}
	var out said
	var err error
	if len(here) > 0 {
		out.here, err = fn(q, here)
	}
	if len(rest) > 0 && err == nil {
		out.private, err = fn(q, rest)
	}
	if err == nil {
		err = q.r.Err()
	}
	return out, err
}

func noGoals(q *request) string {
	switch {
	case q.in.Args.Goal != "":
		return q.say("There is no goal "+q.in.Args.Goal+" here.", "这里没有目标 "+q.in.Args.Goal+"。")
	case q.actor.Kind == kernel.ByOwner:
		return q.say("There is no goal yet. Start one with: /new OBJECTIVE", "还没有目标。新建：/new 目标内容")
	}
	return q.say("You have no role in a goal yet. Ask an owner.", "你还没有任何目标的角色，请联系所有者。")
}

// commandWords answers a chat command; each is a view of what the person may
// read, and calls no model.
func commandWords(q *request) (said, error) {
	switch q.in.Command {
	case "status":
		return statusAnswer(q)
	case "gates":
		return q.about(false, gateWords)
	case "todos":
		return q.about(false, todoWords)
	case "today":
		return q.about(false, todayWords)
	case "find":
		if strings.TrimSpace(q.in.Args.Text) == "" {
			return said{here: usageWords(q, "find")}, nil
		}
		return q.about(true, findWords)
	case "why":
		return whyWords(q)
	case "report":
		return said{here: q.say("Reports come later; this version writes none yet. /today says what was done today.", "报告功能尚未提供。/today 可查看今天的进展。")}, nil
	case "queue":
		return queueWords(q)
	case "link":
		return said{private: linkWords(q)}, q.r.Err()
	case "help":
		return said{here: helpWords(q)}, q.r.Err()
	}
	return said{here: unknownWords(q)}, nil
}

// more is the line behind a list that was cut.
func (q *request) more(n int, command string) string {
	return fmt.Sprintf(q.say("… %d more: %s", "… 另有 %d 项：%s"), n, command)
}

func statusAnswer(q *request) (said, error) {
	if q.in.Args.Goal == "" && len(readable(q, false)) == 0 {
		text := noGoals(q)
		return said{here: text + "\n\n" + botLine(q, q.place.alone)}, q.r.Err()
	}
	out, err := q.about(false, statusWords)
	switch {
	case q.in.Args.Goal != "": // about one goal and not about the bot
	case out.here != "":
		out.here += "\n\n" + botLine(q, false)
	case out.private != "":
		out.private += "\n\n" + botLine(q, true)
	}
	return out, err
}

func statusWords(q *request, goals []*kernel.Goal) (string, error) {
	var b strings.Builder
	now, zone := q.r.Now(), q.zone()
	for i, goal := range goals {
		if i == statusShown {
			b.WriteString("\n\n" + q.more(len(goals)-i, q.say("/status GOAL", "/status 目标")))
			break
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		f := view.FiveOf(q.r, goal)
		b.WriteString(f.Title + "  (" + q.say("as of ", "截至 ") + view.Clock(now, now, zone) + ")")
		for _, l := range f.Lines(q.lang(), now, zone) {
			b.WriteString("\n" + l.Label + "  " + l.Text)
		}
	}
	return b.String(), q.r.Err()
}

// botLine says how the bot is. Where others read along it names no machine and
// no connection but this one.
func botLine(q *request, alone bool) string {
	h := q.bot
	since := ""
	if h.since > 0 {
		since = q.say(", since ", "，启动于 ") + view.ClockIn(q.lang(), h.since, q.r.Now(), q.zone())
	}
	out := "loopx " + h.version
	if alone && h.machine != "" {
		out += q.say(" on ", "，主机 ") + h.machine
	}
	out += since
	if h.connections == nil {
		return out
	}
	for _, c := range h.connections() {
		if alone || c.Name == q.e.Place.Connection {
			out += "\n" + c.Name + "  " + c.State
			if c.Since > 0 {
				out += q.say(" since ", "，自 ") + view.ClockIn(q.lang(), c.Since, q.r.Now(), q.zone())
			}
		}
	}
	return out
}

func gateWords(q *request, goals []*kernel.Goal) (string, error) {
	var lines []string
	total := 0
	for _, goal := range goals {
		total += q.r.Counts(goal.ID).GatesOpen
		for _, g := range q.r.OpenGates(goal.ID, gatesShown) {
			if len(lines) == gatesShown {
				break
			}
			lines = append(lines, fmt.Sprintf(q.say("%s  %s (%s, %s)", "%s  %s（%s，%s）"), g.Code, g.Question, goal.Title, view.Age(q.lang(), q.r.Now()-g.Created)))
		}
	}
	if len(lines) == 0 {
		return q.say("Nothing waits for you.", "没有待你处理的事项。"), q.r.Err()
	}
	if total > len(lines) {
		lines = append(lines, q.more(total-len(lines), q.say("/gates GOAL", "/gates 目标")))
	}
	return strings.Join(lines, "\n"), q.r.Err()
}
