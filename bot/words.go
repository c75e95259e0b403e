package bot

import (
	"fmt"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"
)

// Bounds of what one answer in a chat shows.
const (
	goalsRead   = 200 // goals that are looked at for one person
	statusShown = 5
	gatesShown  = 10
)

// readable are the goals the person may read, or the one named, if it is one of
// them.
func readable(q *request) []*kernel.Goal {
	var out []*kernel.Goal
	add := func(g *kernel.Goal) {
		if g != nil && (q.in.Args.Goal == "" || q.in.Args.Goal == g.ID) && q.holds(g.ID, kernel.RoleObserver) {
			out = append(out, g)
		}
	}
	switch {
	case q.in.Args.Goal != "":
		add(q.r.Goal(q.in.Args.Goal))
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

// commandWords answers a chat command; each is a view of what the person may
// read, and calls no model.
func commandWords(q *request) (string, error) {
	switch q.in.Command {
	case "status":
		return statusWords(q), q.r.Err()
	case "gates":
		return gateWords(q)
	case "help":
		return helpWords(q), q.r.Err()
	}
	return q.say("I know these words here: status, gates, help. Nothing was changed.", "我认识这些词：status、gates、help。什么都没有改变。"), nil
}

func statusWords(q *request) string {
	goals := readable(q)
	switch {
	case len(goals) == 0 && q.in.Args.Goal != "":
		return q.say("There is no goal "+q.in.Args.Goal+" here.", "这里没有目标 "+q.in.Args.Goal+"。")
	case len(goals) == 0 && q.actor.Kind == kernel.ByOwner:
		return "There is no goal yet. Start one with: loopx goal create --goal-id ID --objective TEXT"
	case len(goals) == 0:
		return q.say("You have no role in a goal yet. Ask an owner.", "你还没有任何目标的角色，请联系所有者。")
	}
	var b strings.Builder
	for i, goal := range goals {
		if i == statusShown {
			fmt.Fprintf(&b, "\n… %d more: /status GOAL", len(goals)-i)
			break
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		g := view.SummaryOf(q.r, goal)
		fmt.Fprintf(&b, "%s\nObjective  %s\nNext  %s\nNeeds you  %s\nEvidence  %s\nContinues  %s", g.Title, g.Objective, g.Next, g.NeedsYou, g.Evidence, g.Continues)
	}
	return b.String()
}

func gateWords(q *request) (string, error) {
	var lines []string
	for _, goal := range readable(q) {
		if len(lines) >= gatesShown {
			break
		}
		v, err := view.Run(q.r, &view.Gates{Goal: goal.ID, Limit: gatesShown})
		if err != nil {
			return "", err
		}
		for _, g := range v.(view.GatesView).Gates {
			if len(lines) < gatesShown {
				lines = append(lines, fmt.Sprintf("%s  %s (%s)", g.Code, g.Question, g.GoalTitle))
			}
		}
	}
	if len(lines) == 0 {
		return "Nothing waits for you.", nil
	}
	return strings.Join(lines, "\n"), nil
}

// helpWords lists what the person may do, and no more.
func helpWords(q *request) string {
	steers, owns := false, q.actor.Kind == kernel.ByOwner
	for _, v := range q.r.RolesBy(q.actor.ID) {
		role := q.r.RoleOf(v.Goal, q.actor.ID)
		steers = steers || kernel.Includes(role, kernel.RoleSteerer)
		owns = owns || role == kernel.RoleOwner
	}
	lines := []string{
		q.say("I show decisions as cards here; press a button to answer one.", "待决事项会以卡片显示在这里，按按钮即可回答。"),
		q.say("status  how each goal is", "status  各目标的状态"), q.say("gates  what waits for you", "gates  等你处理的事项"),
	}
	if steers || owns {
		lines = append(lines, q.say("/to  whom your messages go to", "/to  消息发给谁"), q.say("/todo, /defer, /assign  work of a goal", "/todo、/defer、/assign  目标的任务"), q.say("/stop  stop a goal, or all", "/stop  停止一个或全部目标"))
	}
	if owns {
		lines = append(lines, q.say("/role, /bind, /unlink  people and places", "/role、/bind、/unlink  人员与会话"), q.say("/resume, /configure, /quota, /grants  settings of a goal", "/resume、/configure、/quota、/grants  目标的设置"))
	}
	if q.actor.Kind == kernel.ByOwner {
		lines = append(lines, q.say("/new  a new goal", "/new  新建目标"))
	}
	return strings.Join(append(lines, q.say("help  this", "help  本说明")), "\n")
}
