package bot

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/routing"
)

// stopMost bounds the goals that one /stop all pauses.
const stopMost = 200

// request is a command a person typed, on its way to kernel commands. It reads
// and decides nothing: whether the person may is asked of the kernel, and where
// the kernel leaves it to the door, of allowed.
type request struct {
	r        *kernel.Reader
	e        chat.Event
	platform chat.Platform
	actor    kernel.Actor
	in       routing.Intent
	zh       bool
	// place is who reads along, bot how the daemon is.
	place audience
	bot   botState
}

func (q *request) lang() string {
	if q.zh {
		return "zh"
	}
	return "en"
}

// wanted is what a request comes to: commands to preview, or words at once.
type wanted struct {
	commands []kernel.Command
	text     string
	goal     string
	// now: one confirm and no preview, as for a stop.
	now  bool
	warn bool
	// once: done at once, as it touches nobody else; done says so.
	once bool
	done string
}

// say picks the sentence of the person's language.
func (q *request) say(en, zh string) string {
	if q.zh {
		return zh
	}
	return en
}

func (q *request) tell(en, zh string) wanted { return wanted{text: q.say(en, zh)} }

// wants turns a typed command into kernel commands. ok is false for a command
// that is no preview.
func (q *request) wants() (w wanted, ok bool) {
	a := q.in.Args
	switch q.in.Command {
	case "role":
		return roleWanted(q, a), true
	case "to":
		return toWanted(q, a), true
	case "unlink":
		return unlinkWanted(q, a), true
	case "bind":
		return bindWanted(q, a), true
	case "status":
		if a.Key != "" {
			return pinWanted(q, a.Key == "pin"), true
		}
		return wanted{}, false
	case "new":
		return createWanted(q, a), true
	case "stop":
		return stopWanted(q, a), true
	case "resume":
		return q.on(a.Goal, kernel.RoleOwner, func(goal string) wanted {
			return wanted{commands: []kernel.Command{&kernel.PauseGoal{Goal: goal, Resume: true}}}
		}), true
	case "configure":
		return configureWanted(q, a), true
	case "quota":
		return quotaWanted(q, a), true
	case "grants":
		return q.on(a.Goal, kernel.RoleObserver, func(goal string) wanted { return grantsWanted(q, goal) }), true
	case "todo":
		return q.on(a.Goal, kernel.RoleSteerer, func(goal string) wanted {
			title, body, _ := strings.Cut(a.Text, "\n")
			return wanted{commands: []kernel.Command{&kernel.AddTodo{Goal: goal, Title: strings.TrimSpace(title), Body: strings.TrimSpace(body)}}}
		}), true
	case "defer":
		return deferWanted(q, a), true
	case "assign":
		return assignWanted(q, a), true
	}
	return wanted{}, false
}

// holds says whether the person has the role in a goal.
func (q *request) holds(goal, want string) bool { return mayHold(q.r, q.actor, goal, want) }

func mayHold(r *kernel.Reader, actor kernel.Actor, goal, want string) bool {
	switch actor.Kind {
	case kernel.ByOwner:
		return true
	case kernel.ByPerson:
		return kernel.Includes(r.RoleOf(goal, actor.ID), want)
	}
	return false
}

// on runs fn with the goal that is meant: the one named, the one bound here, the
// one the person's private messages go to. A goal the person may not read is one
// that does not exist.
func (q *request) on(named, want string, fn func(goal string) wanted) wanted {
	goal := named
	if goal == "" {
		goal = q.goalHere()
	}
	if goal == "" {
		return q.tell("Which goal? Name it behind the command: /"+q.in.Command+" GOAL", "哪个目标？请在命令后写上：/"+q.in.Command+" 目标")
	}
	if q.r.Goal(goal) == nil || !q.holds(goal, kernel.RoleObserver) {
		return q.tell("There is no goal "+goal+" here. Nothing was changed.", "这里没有目标 "+goal+"。什么都没有改变。")
	}
	if !q.holds(goal, want) {
		return q.tell("That needs the role "+want+" in "+goal+". Nothing was changed.", "这需要目标 "+goal+" 的 "+want+" 角色。什么都没有改变。")
	}
	w := fn(goal)
	if w.goal == "" {
		w.goal = goal
	}
	return w
}

func (q *request) goalHere() string {
	if q.e.Private {
		if p := q.r.Person(q.actor.ID); p != nil && p.Target != nil {
			return p.Target.Goal
		}
		if all := q.r.Goals(2); len(all) == 1 {
			return all[0].ID
		}
		return ""
	}
	at := q.r.BindingAt(q.e.Place.Connection, q.e.Place.Conversation, q.e.Place.Thread)
	if len(at) == 0 && q.e.Place.Thread != "" {
		at = q.r.BindingAt(q.e.Place.Connection, q.e.Place.Conversation, "")
	}
	if len(at) == 1 && at[0].State == kernel.BindActive && len(at[0].Goals) == 1 {
		return at[0].Goals[0]
	}
	return ""
}

// mentioned is the account of a mention that stands in the message: a name in
// the text, the bot itself and a whole group are nobody.
func (q *request) mentioned(id string) bool {
	for _, m := range q.e.Message.Mentions {
		if m.ID == id && id != "" && !m.Self && !m.All {
			return true
		}
	}
	return false
}

func roleWanted(q *request, a routing.Args) wanted {
	if a.User == "" {
		return q.on(a.Goal, kernel.RoleObserver, func(goal string) wanted { return rolesWanted(q, goal) })
	}
	if !q.mentioned(a.User) {
		return q.tell("I need a mention of the person, not a name. Nothing was changed.", "请用 @ 提及对方，不能只写名字。什么都没有改变。")
	}
	return q.on(a.Goal, kernel.RoleOwner, func(goal string) wanted {
		if !a.Off {
			// Whoever is mentioned is looked for in the asker's own tenant and nowhere else.
			return wanted{commands: []kernel.Command{&kernel.GrantRole{Goal: goal, Role: string(a.Role), Platform: string(q.platform), Connection: q.e.Place.Connection, Tenant: q.e.Sender.Tenant, User: a.User}}}
		}
		p := q.r.Principal(string(q.platform), q.e.Place.Connection, q.e.Sender.Tenant, a.User)
		if p == nil || q.r.Role(goal, p.Person) == nil {
			return q.tell("They have no role in "+goal+".", "对方在目标 "+goal+" 中没有角色。")
		}
		return wanted{commands: []kernel.Command{&kernel.RevokeRole{Goal: goal, Person: p.Person}}}
	})
}

func rolesWanted(q *request, goal string) wanted {
	var b strings.Builder
	if p := q.r.Person("owner"); p != nil {
		b.WriteString(p.Name + "  " + roleWords(q, kernel.RoleOwner) + "\n")
	}
	for _, v := range q.r.RolesOf(goal) {
		name := v.Person
		if p := q.r.Person(v.Person); p != nil {
			name = p.Name
		}
		b.WriteString(name + "  " + roleWords(q, v.Role))
		if v.State != kernel.RoleActive {
			b.WriteString(" " + chat.Bracketed(q.lang(), accountWords(q, v.State)))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return q.tell("Nobody has a role in "+goal+" yet.", "目标 "+goal+" 还没有人有角色。")
	}
	return wanted{text: strings.TrimSpace(b.String())}
}

// toWanted says where private messages go, and with a goal changes it.
func toWanted(q *request, a routing.Args) wanted {
	p := q.r.Person(q.actor.ID)
	if p == nil && q.actor.Kind == kernel.ByOwner {
		p = &kernel.Person{ID: "owner"} // on the page, before any account was linked
	}
	switch {
	case p == nil:
		return q.tell("Link your account first: loopx link. Nothing was changed.", "请先关联账号：loopx link。什么都没有改变。")
	case a.Goal == "" && p.Target == nil:
		return q.tell("Your messages go nowhere yet. Choose with /to GOAL.", "你的消息还没有去向。用 /to 目标 来选择。")
	case a.Goal == "":
		return q.tell("Your messages go to "+strings.TrimSpace(p.Target.Goal+" "+p.Target.Agent)+".", "你的消息发给 "+strings.TrimSpace(p.Target.Goal+" "+p.Target.Agent)+"。")
	}
	return q.on(a.Goal, kernel.RoleSteerer, func(goal string) wanted {
		name := strings.TrimSpace(q.r.Goal(goal).Title + " " + a.Agent)
		return wanted{once: true, done: q.say("From now on your messages here go to "+name+".", "从现在起，你在这里的消息发给 "+name+"。"),
			commands: []kernel.Command{&kernel.SetPerson{Person: p.ID, Target: &kernel.Target{Goal: goal, Agent: a.Agent}}}}
	})
}

func unlinkWanted(q *request, a routing.Args) wanted {
	user := q.e.Sender.ID
	if a.User != "" {
		user = a.User
	}
	p := q.r.Principal(string(q.platform), q.e.Place.Connection, q.e.Sender.Tenant, user)
	switch {
	case p == nil:
		return q.tell("That account is not linked.", "这个账号没有关联。")
	case a.User == "" || p.Person == q.actor.ID && a.User == q.e.Sender.ID:
		return wanted{warn: true, commands: []kernel.Command{&kernel.Unlink{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User}}}
	case q.actor.Kind != kernel.ByOwner || !q.mentioned(a.User):
		return q.tell("Only an owner takes somebody else's account away. Nothing was changed.", "只有所有者能收回别人的账号。什么都没有改变。")
	}
	return wanted{warn: true, commands: []kernel.Command{&kernel.SettleLink{Platform: p.Platform, Connection: p.Connection, Tenant: p.Tenant, User: p.User, Revoke: true}}}
}

func createWanted(q *request, a routing.Args) wanted {
	switch {
	case q.actor.Kind != kernel.ByOwner:
		return q.tell("Only the owner makes a goal. Nothing was changed.", "只有所有者能新建目标。什么都没有改变。")
	case strings.TrimSpace(a.Text) == "":
		return q.tell("What is to be reached? /new followed by the objective.", "想达成什么？请写 /new 加目标内容。")
	}
	id := slugOf(a.Text)
	for n := 2; q.r.Goal(id) != nil; n++ {
		id = strings.TrimRight(slugOf(a.Text), "-") + "-" + strconv.Itoa(n)
	}
	return wanted{goal: id, commands: []kernel.Command{&kernel.CreateGoal{Goal: id, Objective: strings.TrimSpace(a.Text), Language: q.say("en", "zh")}}}
}

// slugOf makes a goal's id from the first words of its objective.
func slugOf(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '\n' || b.Len() >= 24:
			return strings.Trim(b.String(), "-")
		case (unicode.IsSpace(r) || r == '-') && b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "goal"
}

func stopWanted(q *request, a routing.Args) wanted {
	if !a.All {
		return q.on(a.Goal, kernel.RoleSteerer, func(goal string) wanted {
			return wanted{now: true, commands: []kernel.Command{&kernel.PauseGoal{Goal: goal}}}
		})
	}
	out := wanted{now: true}
	for _, g := range q.r.Goals(stopMost) {
		if g.Status == kernel.GoalActive && q.holds(g.ID, kernel.RoleSteerer) {
			out.commands = append(out.commands, &kernel.PauseGoal{Goal: g.ID})
		}
	}
	if len(out.commands) == 0 {
		return q.tell("There is no goal of yours to stop.", "没有你能停止的目标。")
	}
	return out
}

func configureWanted(q *request, a routing.Args) wanted {
	if a.Key == "" {
		return q.on(a.Goal, kernel.RoleObserver, func(goal string) wanted { return settingsWanted(q, goal) })
	}
	return q.on(a.Goal, kernel.RoleOwner, func(goal string) wanted {
		c := &kernel.ConfigureGoal{Goal: goal}
		switch strings.ToLower(a.Key) {
		case "title":
			c.Title = &a.Value
		case "objective":
			c.Objective = &a.Value
		case "language":
			c.Language = a.Value
		case "visibility":
			c.Visibility = a.Value
		case "handoff":
			c.Handoff = a.Value
		case "repo", "write", "write_scope", "write-scope":
			return q.tell("Paths are set on the machine only: loopx goal configure. Nothing was changed.", "路径只能在本机设置：loopx goal configure。什么都没有改变。")
		default:
			return q.tell("I can set title, objective, language, visibility and handoff here. Nothing was changed.", "这里可以设置 title、objective、language、visibility、handoff。什么都没有改变。")
		}
		return wanted{commands: []kernel.Command{c}}
	})
}

func settingsWanted(q *request, goal string) wanted {
	g := q.r.Goal(goal)
	return wanted{text: g.Title + "\nobjective: " + g.Objective + "\nlanguage: " + g.Language + "\nvisibility: " + g.Visibility + "\nhandoff: " + g.Handoff + "\n" + slotsLine(q, g)}
}

func slotsLine(q *request, g *kernel.Goal) string {
	n := q.r.Quota(g, "")
	hours := strconv.Itoa(g.WindowHours())
	return q.say(strconv.Itoa(n.Spent)+" of "+strconv.Itoa(g.Allowed)+" slots in "+hours+" h used", hours+" 小时内已用 "+strconv.Itoa(n.Spent)+" / "+strconv.Itoa(g.Allowed)+" 个配额")
}

func quotaWanted(q *request, a routing.Args) wanted {
	if a.Value == "" {
		return q.on(a.Goal, kernel.RoleObserver, func(goal string) wanted { return wanted{text: slotsLine(q, q.r.Goal(goal))} })
	}
	return q.on(a.Goal, kernel.RoleOwner, func(goal string) wanted {
		n, err := strconv.Atoi(a.Value)
		if err != nil {
			return q.tell("How many slots? A whole number.", "多少个配额？请写整数。")
		}
		return wanted{commands: []kernel.Command{&kernel.ConfigureGoal{Goal: goal, Allowed: &n}}}
	})
}

// grantsMost is how many standing approvals one answer lists.
const grantsMost = 10

func grantsWanted(q *request, goal string) wanted {
	var lines []string
	for _, g := range q.r.Grants(goal) {
		if g.Live(q.r.Now()) && len(lines) < grantsMost {
			lines = append(lines, g.Scope+q.say("  until ", "  截止 ")+time.UnixMilli(g.Expires).In(q.zone()).Format("2 Jan 15:04")+"  "+g.ID)
		}
	}
	if len(lines) == 0 {
		return q.tell("No approval stands in "+goal+".", "目标 "+goal+" 没有长期授权。")
	}
	return wanted{text: strings.Join(lines, "\n") + "\n" + q.say("To take one back: loopx grant revoke", "收回：loopx grant revoke")}
}

func (q *request) zone() *time.Location {
	if p := q.r.Person(q.actor.ID); p != nil && p.Zone != "" {
		if z, err := time.LoadLocation(p.Zone); err == nil {
			return z
		}
	}
	return time.UTC
}

// onTodo runs fn with the todo that is meant and its goal.
func (q *request) onTodo(id string, fn func(goal string) wanted) wanted {
	goal := q.r.GoalOfTodo(id)
	if goal == "" || !q.holds(goal, kernel.RoleObserver) {
		return q.tell("There is no todo "+id+" here. Nothing was changed.", "这里没有任务 "+id+"。什么都没有改变。")
	}
	return q.on(goal, kernel.RoleSteerer, fn)
}

func deferWanted(q *request, a routing.Args) wanted {
	return q.onTodo(a.Todo, func(goal string) wanted {
		at, ok := momentOf(a, time.UnixMilli(q.r.Now()).In(q.zone()))
		if !ok {
			return q.tell("Until when? For example 2h, tomorrow, 18:00 or 2026-12-03.", "推迟到什么时候？例如 2小时、明天、18:00、2026-12-03。")
		}
		return wanted{commands: []kernel.Command{&kernel.UpdateTodo{Goal: goal, Todo: a.Todo, Status: kernel.TodoDeferred, ResumeWhen: "date:" + at.UTC().Format(time.RFC3339)}}}
	})
}

func assignWanted(q *request, a routing.Args) wanted {
	return q.onTodo(a.Todo, func(goal string) wanted {
		if a.User != "" {
			return q.tell("A todo goes to an agent here; a person takes one on the machine. Nothing was changed.", "这里只能指派给 Agent；人的任务请在本机领取。什么都没有改变。")
		}
		if q.r.Claim(goal, a.Todo).Holds(q.r.Steady()) {
			return wanted{commands: []kernel.Command{&kernel.TransferTodo{Goal: goal, Todo: a.Todo, To: a.Agent}}}
		}
		return wanted{commands: []kernel.Command{&kernel.ClaimTodo{Goal: goal, Todo: a.Todo, Agent: a.Agent}}}
	})
}

// allowed says no where the kernel leaves the right to the door: work on a goal
// is a steerer's, a new goal the owner's.
func allowed(r *kernel.Reader, actor kernel.Actor, cmd kernel.Command) bool {
	switch c := cmd.(type) {
	case *kernel.CreateGoal:
		return actor.Kind == kernel.ByOwner
	case *kernel.PauseGoal:
		return mayHold(r, actor, c.Goal, kernel.RoleSteerer)
	case *kernel.AddTodo:
		return mayHold(r, actor, c.Goal, kernel.RoleSteerer)
	case *kernel.UpdateTodo:
		return mayHold(r, actor, c.Goal, kernel.RoleSteerer)
	case *kernel.ClaimTodo:
		return mayHold(r, actor, c.Goal, kernel.RoleSteerer)
	case *kernel.TransferTodo:
		return mayHold(r, actor, c.Goal, kernel.RoleSteerer)
	case *kernel.GrantRole, *kernel.RevokeRole, *kernel.Unlink, *kernel.SettleLink, *kernel.SetBinding, *kernel.RemoveBinding, *kernel.SetBindingState, *kernel.ConfigureGoal, *kernel.AcceptRole, *kernel.SetPerson:
		return true // the kernel asks for the owner itself
	}
	return false
}
