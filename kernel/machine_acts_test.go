package kernel_test

import (
	"strconv"
	"time"

	"loopx/kernel"

	"pgregory.net/rapid"
)

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":            m.invariants,
		"add todo":    m.addTodo,
		"claim":       m.claim,
		"open turn":   m.openTurn,
		"tick":        m.tick,
		"update":      m.update,
		"refresh":     m.refresh,
		"complete":    m.complete,
		"supersede":   m.supersede,
		"spend":       m.spend,
		"open gate":   m.openGate,
		"answer gate": m.answerGate,
		"end gate":    m.endGate,
		"change gate": m.changeGate,
		"rights":      m.rights,
		"goal":        m.goalVerb,
		"old lease":   m.oldLease,
		"time":        m.time,
		"time too":    m.time,
		"session":     m.session,
		"transfer":    m.transfer,
		"poll":        m.poll,
		"event":       m.event,
		"people":      m.people,
		"role":        m.role,
		"bind":        m.bind,
		"owe":         m.owe,
		"hold":        m.hold,
		"schedule":    m.schedule,
		"replan":      m.replan,
		"stuck":       m.stuck,
		"void":        m.void,
		"commit":      m.commit,
		"drive":       m.drive,
	}
}

func (m *machine) goalOf(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "blog") == 0 {
		return "blog"
	}
	return "site"
}

func (m *machine) agentOf(t *rapid.T) string {
	list := []string{}
	for _, a := range m.at.agents["site"] {
		list = append(list, a.ID, a.ID, a.ID)
	}
	return rapid.SampledFrom(append(list, "", "eve")).Draw(t, "agent")
}

func (m *machine) todoOf(t *rapid.T) string {
	ids := []string{}
	for _, v := range m.at.order {
		ids = append(ids, v.ID)
	}
	if len(ids) == 0 {
		return "todo_none"
	}
	return rapid.SampledFrom(ids).Draw(t, "todo")
}

func (m *machine) openTodoOf(t *rapid.T) string {
	ids := []string{}
	for _, v := range m.at.order {
		if v.Status == "open" && v.Goal == "site" {
			ids = append(ids, v.ID)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 5).Draw(t, "any todo") == 0 {
		return m.todoOf(t)
	}
	return rapid.SampledFrom(ids).Draw(t, "open todo")
}

func (m *machine) gateOf(t *rapid.T) string {
	ids := []string{"G-1"}
	for _, g := range m.at.asked {
		ids = append(ids, g.ID)
		if g.Status == "open" {
			ids = append(ids, g.ID, g.ID)
		}
	}
	return rapid.SampledFrom(ids).Draw(t, "gate")
}

// turnOf names a turn of the agent, now and then none or somebody else's.
func (m *machine) turnOf(t *rapid.T, agent string) string {
	ids := []string{""}
	for _, u := range m.at.turns {
		if u.Agent == agent || len(ids) == 1 {
			ids = append(ids, u.ID)
		}
	}
	return rapid.SampledFrom(ids).Draw(t, "turn")
}

// leaseOf shows the newest lease of a todo, mostly.
func (m *machine) leaseOf(t *rapid.T, todo string) string {
	c := m.at.claims[todo]
	if c == nil || rapid.IntRange(0, 2).Draw(t, "no lease shown") == 0 {
		return ""
	}
	return c.Token
}

// by draws who asks and under which key.
func (m *machine) by(t *rapid.T, often ...string) kernel.Options {
	kind := rapid.SampledFrom(append(often, often...)).Draw(t, "by")
	if rapid.IntRange(0, 5).Draw(t, "another") == 0 {
		kind = rapid.SampledFrom([]string{kernel.ByOwner, kernel.ByPerson, kernel.ByAgent, kernel.ByCLI, kernel.ByBot}).Draw(t, "who")
	}
	opt := kernel.Options{By: kernel.Actor{Kind: kind, Surface: "test"}}
	if kind == kernel.ByOwner {
		opt.By.ID, opt.By.Name = "owner", "Wei"
		if rapid.IntRange(0, 3).Draw(t, "another owner") == 0 {
			opt.By.ID, opt.By.Name = "mei", "Mei"
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "with key") == 0 {
		opt.Key = "k" + strconv.Itoa(rapid.IntRange(1, 12).Draw(t, "key"))
	}
	return opt
}

func evidence(t *rapid.T) []kernel.EvidenceArg {
	if rapid.Bool().Draw(t, "evidence") {
		return note("tests pass")
	}
	return nil
}

func (m *machine) addTodo(t *rapid.T) {
	p := rapid.IntRange(0, 3).Draw(t, "priority")
	c := &kernel.AddTodo{Goal: m.goalOf(t), Title: "work", Priority: &p}
	switch rapid.IntRange(0, 9).Draw(t, "sort of todo") {
	case 0:
		c.Class, c.CadenceMS, c.WatchOnly = "monitor", 3_600_000, true
	case 1:
		c.Class = "ask"
	case 2:
		c.Deferred, c.ResumeWhen = true, m.condition(t)
	case 3, 4, 5:
		for range rapid.IntRange(1, 2).Draw(t, "after") {
			c.After = append(c.After, m.todoOf(t))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "writes") == 0 {
		c.Write = []string{"site/**"}
	}
	if c.Class == "" && rapid.IntRange(0, 3).Draw(t, "with needs") == 0 {
		c.Scopes = scopesOf(t)
	}
	if rapid.IntRange(0, 4).Draw(t, "exclude") == 0 {
		c.Excluded = []string{rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "excluded")}
	}
	m.try(t, c, m.by(t, kernel.ByCLI))
}

// condition is something a parked todo waits for.
func (m *machine) condition(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "condition") {
	case 0:
		return "todo_done:" + m.todoOf(t)
	case 1:
		return "gate:" + m.gateOf(t)
	case 2:
		return "date:" + time.UnixMilli(m.now+3_600_000).UTC().Format(time.RFC3339)
	}
	return "event:x"
}

func (m *machine) event(t *rapid.T) {
	m.try(t, &kernel.FireEvent{Goal: m.goalOf(t), Key: "x"}, m.by(t, kernel.ByCLI))
}

func (m *machine) transfer(t *rapid.T) {
	held := []string{"todo_none"}
	for _, v := range m.at.order {
		if m.at.holder(v) != "" {
			held = append(held, v.ID)
		}
	}
	id := rapid.SampledFrom(held).Draw(t, "held todo")
	a := m.agentOf(t)
	if c := m.at.claims[id]; c != nil && rapid.IntRange(0, 3).Draw(t, "by the holder") > 0 {
		a = c.Agent
	}
	m.try(t, &kernel.TransferTodo{Goal: "site", Todo: id, Agent: a, Lease: m.leaseOf(t, id), To: m.agentOf(t)}, m.by(t, kernel.ByCLI, kernel.ByOwner))
}

func (m *machine) poll(t *rapid.T) {
	ids := []string{}
	for _, v := range m.at.order {
		if v.Class == "monitor" {
			ids = append(ids, v.ID)
		}
	}
	id := m.todoOf(t)
	if len(ids) > 0 {
		id = rapid.SampledFrom(ids).Draw(t, "monitor")
	}
	a := m.agentOf(t)
	c := &kernel.PollMonitor{Goal: "site", Agent: a, Todo: id, Turn: m.turnOf(t, a), Material: rapid.Bool().Draw(t, "material")}
	if rapid.IntRange(0, 2).Draw(t, "something follows") == 0 {
		c.Next = "look into it"
	}
	m.try(t, c, m.by(t, kernel.ByCLI))
}

func (m *machine) claim(t *rapid.T) {
	a := m.agentOf(t)
	c := &kernel.ClaimTodo{Goal: m.goalOf(t), Agent: a, Todo: m.openTodoOf(t), Turn: m.turnOf(t, a)}
	if c.Agent == "" {
		c.Agent = "ann"
	}
	if rapid.IntRange(0, 3).Draw(t, "short lease") == 0 {
		c.LeaseMS = 60_000
	}
	m.try(t, c, m.by(t, kernel.ByCLI))
}

func (m *machine) openTurn(t *rapid.T) {
	a := m.agentOf(t)
	c := &kernel.OpenTurn{Goal: m.goalOf(t), Agent: a, Turn: m.turnOf(t, a), Claim: rapid.Bool().Draw(t, "claim")}
	if c.Turn == "" || rapid.IntRange(0, 3).Draw(t, "new turn") > 0 {
		m.turns++
		c.Turn = "t" + strconv.Itoa(m.turns)
	}
	c.Workspace = m.workspace(t, a)
	if rapid.IntRange(0, 3).Draw(t, "another session") == 0 {
		c.Session = "s" + strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "session"))
	}
	m.try(t, c, m.by(t, kernel.ByCLI))
}

// tick is a whole well-behaved tick of one agent, so that deep states are common.
func (m *machine) tick(t *rapid.T) {
	a := rapid.SampledFrom(m.at.agents["site"]).Draw(t, "agent").ID
	m.turns++
	turn := "t" + strconv.Itoa(m.turns)
	out, err := m.try(t, &kernel.OpenTurn{Goal: "site", Agent: a, Turn: turn, Claim: true, Workspace: workspaceOf(a)}, cli())
	if err != nil || out["lease"] == nil {
		return
	}
	token := out["lease"].(map[string]any)["token"].(string)
	m.pass(rapid.SampledFrom([]int64{1000, 600_000}).Draw(t, "ms"))
	end := rapid.SampledFrom([]string{"complete", "next", "refresh", "nothing"}).Draw(t, "end")
	switch end {
	case "complete", "next":
		c := &kernel.CompleteTodo{Goal: "site", Agent: a, Todo: todoOf(out), Turn: turn, Lease: token, Evidence: note("done")}
		if end == "next" {
			c.Next = "what follows"
		}
		_, err = m.try(t, c, cli())
	case "refresh":
		_, err = m.try(t, &kernel.Refresh{Goal: "site", Agent: a, Turn: turn, Lease: token, Outcome: kernel.Progress}, cli())
	default:
		return
	}
	if err == nil && rapid.IntRange(0, 4).Draw(t, "dies before it pays") == 0 {
		return
	}
	if err != nil {
		t.Fatalf("a tick of %s cannot %s its own todo: %v", a, end, err)
	}
	if _, err := m.try(t, &kernel.SpendSlot{Goal: "site", Agent: a, Turn: turn}, cli()); err != nil && out["kind"] == "deliver" {
		t.Fatalf("a tick of %s cannot pay with the slot that is reserved for it: %v", a, err)
	}
}

func (m *machine) update(t *rapid.T) {
	id, a := m.openTodoOf(t), m.agentOf(t)
	c := &kernel.UpdateTodo{Goal: m.goalOf(t), Todo: id, Agent: a, Turn: m.turnOf(t, a), Lease: m.leaseOf(t, id), Evidence: evidence(t)}
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		c.ClearClaim = true
	case 1:
		c.Status, c.ResumeWhen = "deferred", m.condition(t)
	case 2:
		c.Status = rapid.SampledFrom([]string{"open", "deferred", "done", "blocked"}).Draw(t, "status")
	case 3:
		p := rapid.IntRange(0, 3).Draw(t, "priority")
		c.Priority = &p
	case 4:
		s := rapid.SampledFrom([]string{"work", "other work"}).Draw(t, "title")
		c.Title = &s
		if v := m.at.todos[id]; v != nil && v.Class == "work" && rapid.Bool().Draw(t, "needs") {
			needs := rapid.SampledFrom([][]string{nil, v.Scopes, scopesOf(t)}).Draw(t, "what it needs")
			c.Title, c.Scopes = nil, &needs
		}
	default:
		s := rapid.SampledFrom([]string{"half", "nearly"}).Draw(t, "note")
		c.Note = &s
	}
	m.try(t, c, m.by(t, kernel.ByCLI, kernel.ByAgent, kernel.ByOwner))
}

func (m *machine) refresh(t *rapid.T) {
	a := m.agentOf(t)
	c := &kernel.Refresh{Goal: m.goalOf(t), Agent: a, Turn: m.turnOf(t, a), Outcome: rapid.SampledFrom([]string{"", "outcome_gap", "outcome_progress", "primary_goal_outcome"}).Draw(t, "outcome"), Evidence: evidence(t)}
	if rapid.Bool().Draw(t, "on a todo") {
		c.Todo = m.openTodoOf(t)
		c.Lease = m.leaseOf(t, c.Todo)
	}
	m.try(t, c, m.by(t, kernel.ByCLI))
}

func (m *machine) complete(t *rapid.T) {
	id, a := m.openTodoOf(t), m.agentOf(t)
	c := &kernel.CompleteTodo{Goal: m.goalOf(t), Todo: id, Agent: a, Turn: m.turnOf(t, a), Lease: m.leaseOf(t, id), Evidence: evidence(t)}
	switch rapid.IntRange(0, 4).Draw(t, "continuation") {
	case 0:
		c.NoFollowup = true
	case 1:
		c.Next = "what follows"
	case 2:
		c.Successors = []string{m.todoOf(t)}
	case 3:
		c.NoFollowup, c.Next = true, "both"
	}
	m.try(t, c, m.by(t, kernel.ByCLI, kernel.ByAgent, kernel.ByOwner))
}

func (m *machine) supersede(t *rapid.T) {
	id, a := m.openTodoOf(t), m.agentOf(t)
	m.try(t, &kernel.SupersedeTodo{Goal: m.goalOf(t), Todo: id, Agent: a, Turn: m.turnOf(t, a), Lease: m.leaseOf(t, id), Next: "instead"}, m.by(t, kernel.ByCLI, kernel.ByOwner))
}

func (m *machine) spend(t *rapid.T) {
	a := m.agentOf(t)
	m.try(t, &kernel.SpendSlot{Goal: m.goalOf(t), Agent: a, Turn: m.turnOf(t, a), Slots: rapid.SampledFrom([]int{0, 0, 1, 2, 3, 1001}).Draw(t, "slots")}, m.by(t, kernel.ByCLI))
}

func (m *machine) openGate(t *rapid.T) {
	by := m.agentOf(t)
	if rapid.Bool().Draw(t, "unnamed") {
		by = "" // who is not counted, so that gates stay common
	}
	c := &kernel.OpenGate{Goal: m.goalOf(t), Agent: by, Question: rapid.SampledFrom([]string{"Go on?", "Publish?"}).Draw(t, "question")}
	switch rapid.IntRange(0, 5).Draw(t, "blocks") {
	case 0:
		c.LaneOf = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "lane")
	case 1:
		c.WholeGoal = true
	case 2:
		c.Advisory = true
	default:
		for range rapid.IntRange(1, 3).Draw(t, "todos") {
			c.Todos = append(c.Todos, m.openTodoOf(t))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "with a scope") == 0 {
		c.Scope, c.Evidence = scopesOf(t)[0], evidence(t)
	}
	if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
		c.Expires = m.now + 1_800_000
	}
	if rapid.IntRange(0, 3).Draw(t, "options") == 0 {
		c.Options = []kernel.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B", Outcome: kernel.Cancel}}
	}
	m.try(t, c, m.by(t, kernel.ByAgent, kernel.ByCLI))
}

func (m *machine) answerGate(t *rapid.T) {
	id := m.gateOf(t)
	c := &kernel.AnswerGate{Goal: "site", Gate: id, Option: rapid.SampledFrom([]string{"approve", "approve", "reject", "cancel", "a", "b"}).Draw(t, "option")}
	if g := m.at.gates[id]; g != nil && rapid.Bool().Draw(t, "as shown") {
		c.Goal, c.Digest = g.Goal, g.Digest
		if rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
			c.Digest = "0"
		}
	}
	m.try(t, c, m.asPerson(t, kernel.ByOwner, kernel.ByOwner, kernel.ByAgent))
}

// changeGate lets somebody think better of a decision, mostly who made it.
func (m *machine) changeGate(t *rapid.T) {
	var decided []*kernel.Gate
	for _, g := range m.at.asked {
		if g.Answer != nil {
			decided = append(decided, g)
		}
	}
	if len(decided) == 0 || rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
		m.try(t, &kernel.ReopenGate{Goal: "site", Gate: m.gateOf(t), Expires: rapid.SampledFrom([]int64{0, m.now + 1_800_000}).Draw(t, "until")}, m.by(t, kernel.ByOwner))
		return
	}
	g := rapid.SampledFrom(decided).Draw(t, "decided gate")
	opt := m.asPerson(t, kernel.ByOwner)
	if rapid.IntRange(0, 3).Draw(t, "by the decider") > 0 && opt.By.Kind == kernel.ByOwner {
		opt.By.ID = g.Answer.Person
	}
	m.try(t, &kernel.ChangeGate{Goal: g.Goal, Gate: g.ID, Option: rapid.SampledFrom(g.Options).Draw(t, "option").ID}, opt)
}

func (m *machine) endGate(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		m.try(t, &kernel.ReleaseGate{Goal: "site", Gate: m.gateOf(t)}, m.by(t, kernel.ByOwner, kernel.ByAgent))
	case 1:
		m.try(t, &kernel.NotifyGate{Goal: "site", Gate: m.gateOf(t)}, m.by(t, kernel.ByBot))
	default:
		m.try(t, &kernel.WithdrawGate{Goal: "site", Gate: m.gateOf(t), Agent: m.agentOf(t)}, m.by(t, kernel.ByOwner, kernel.ByCLI))
	}
}

func (m *machine) goalVerb(t *rapid.T) {
	switch rapid.IntRange(0, 10).Draw(t, "verb") {
	case 6:
		policy := map[string]kernel.Asked{}
		if rapid.Bool().Draw(t, "two agree") {
			policy["any"] = kernel.Asked{Quorum: 2}
		}
		if rapid.Bool().Draw(t, "approvers too") {
			a := policy["any"]
			a.Role = "approver"
			policy["any"] = a
		}
		m.try(t, &kernel.ConfigureGoal{Goal: "site", Ask: &policy}, m.by(t, kernel.ByOwner))
	case 5:
		course := rapid.SampledFrom([]string{"Ship the page", "Ship it twice"}).Draw(t, "objective")
		m.try(t, &kernel.ConfigureGoal{Goal: "site", Objective: &course}, m.by(t, kernel.ByOwner))
	case 9:
		mode := rapid.SampledFrom([]string{"monitor_only", "active"}).Draw(t, "mode")
		m.try(t, &kernel.ConfigureGoal{Goal: "site", Agent: m.agentOf(t), Mode: mode}, m.by(t, kernel.ByOwner))
	case 0:
		m.try(t, &kernel.CloseGoal{Goal: "blog", Outcome: "done with it"}, m.by(t, kernel.ByOwner))
	case 1, 2, 3:
		m.try(t, &kernel.PauseGoal{Goal: m.goalOf(t)}, m.by(t, kernel.ByCLI))
	case 4:
		m.try(t, &kernel.RegisterAgent{Goal: m.goalOf(t), Agent: rapid.SampledFrom([]string{"ann", "eve"}).Draw(t, "new agent")}, m.by(t, kernel.ByCLI))
	default:
		m.try(t, &kernel.PauseGoal{Goal: m.goalOf(t), Resume: true}, m.by(t, kernel.ByOwner))
	}
}

func (m *machine) session(t *rapid.T) {
	id := "s" + strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "session"))
	if rapid.Bool().Draw(t, "the usual session") {
		id = "cli:" + m.agentOf(t)
	}
	if rapid.Bool().Draw(t, "open") {
		m.try(t, &kernel.OpenSession{Goal: "site", Agent: m.agentOf(t), Session: id}, m.by(t, kernel.ByCLI))
	} else {
		m.try(t, &kernel.CloseSession{Goal: "site", Session: id}, m.by(t, kernel.ByCLI))
	}
}

// oldLease lets somebody write with a lease that is no longer the todo's newest.
func (m *machine) oldLease(t *rapid.T) {
	var lost []lease
	for _, l := range m.leases {
		v, c := m.at.todos[l.todo], m.at.claims[l.todo]
		if v.Status == "open" && (m.at.held(v, m.steady()) == "" || c.Token != l.token) {
			lost = append(lost, l)
		}
	}
	if len(lost) == 0 {
		return
	}
	l := rapid.SampledFrom(lost).Draw(t, "lost lease")
	token := l.token
	// By its turn alone the loser is known when somebody took the todo over.
	if c := m.at.claims[l.todo]; l.turn != "" && c.Generation > l.generation && c.Agent != l.agent && rapid.Bool().Draw(t, "by turn") {
		token = ""
	}
	var cmd kernel.Command
	switch rapid.IntRange(0, 3).Draw(t, "late write") {
	case 0:
		late := "late"
		cmd = &kernel.UpdateTodo{Goal: l.goal, Todo: l.todo, Agent: l.agent, Turn: l.turn, Lease: token, Note: &late}
	case 1:
		cmd = &kernel.CompleteTodo{Goal: l.goal, Todo: l.todo, Agent: l.agent, Turn: l.turn, Lease: token, Evidence: note("late")}
	case 2:
		cmd = &kernel.SupersedeTodo{Goal: l.goal, Todo: l.todo, Agent: l.agent, Turn: l.turn, Lease: token, Next: "late"}
	default:
		cmd = &kernel.Refresh{Goal: l.goal, Todo: l.todo, Agent: l.agent, Turn: l.turn, Lease: token, Outcome: kernel.Progress}
	}
	before := len(m.at.journal)
	if _, err := m.try(t, cmd, cli()); err == nil && len(m.at.journal) > before {
		t.Fatalf("%s lost the lease %d on %s and still wrote: %s %s", l.agent, l.generation, l.todo, cmd.Name(), asJSON(cmd))
	}
}

func (m *machine) pass(ms int64) { m.now += ms; m.bootMS += ms }

func (m *machine) time(t *rapid.T) {
	const hour, decade = int64(3_600_000), int64(87_600) * 3_600_000
	switch rapid.IntRange(0, 9).Draw(t, "what time does") {
	case 0:
		m.now += rapid.SampledFrom([]int64{-decade, -hour, hour, decade}).Draw(t, "wall clock step")
	case 1:
		m.boots++
		m.bootMS = 5_000
		m.now += 20_000
	case 2:
		if m.reopen != nil {
			if err := m.reopen(); err != nil {
				t.Fatal(err)
			}
		}
	default:
		m.pass(rapid.SampledFrom([]int64{1, 1000, 90_000, 10 * 60_000, 44 * 60_000, 47 * 60_000, 5 * hour, 25 * hour}).Draw(t, "ms"))
	}
}
