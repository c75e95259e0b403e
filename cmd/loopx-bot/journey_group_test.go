package main_test

import "fmt"

// Journey 4. Wei and Ana talk in a group with a Manager, and nothing happens. Ana
// mentions the bot: the turn gets what she asked and at most eight lines before
// it, and is answered there.
func managing(p *stage) {
	p.loopx("start-goal", "--goal-id", goal, "--objective", "Publish the pricing page", "--agent-id", "chief", "--todo", "Build the page")
	p.loopx("session", "open", "--goal-id", goal, "--agent-id", "chief", "--session", "s1")
	p.invites("Ana", anaDM, "steerer")
	p.asOwner("bind", "set", "--platform", p.name, "--connection", "work", "--conversation", p.group, "--goal-id", goal, "--role", "manager", "--capture", "all", "--ingress", "queue",
		"--agent-id", "chief", "--session", "s1", "--execute")
	who := []string{"--goal-id", goal, "--agent-id", "chief", "--session", "s1"}

	for i := range 10 {
		p.next("people talk")
		p.talks([]string{"Wei", "Ana"}[i%2], atGroup, fmt.Sprintf("thought %d about the page", i))
	}
	p.next("nothing comes of it")
	if o := p.loopx(append([]string{"inbox", "next"}, who...)...); o.at("empty") != "true" {
		p.fail("talk made a turn: %v", o)
	}
	p.says("Ana", atGroup, "which of these first?")
	p.shows(atGroup, "queued for chief, 1 of 1")
	p.answers(atGroup, "The second, it blocks the others.", who...)

	p.next("people talk on")
	p.talks("Wei", atGroup, "good, the second then")
	p.says("Wei", atGroup, "and when?")
	p.shows(atGroup, "queued for chief, 1 of 1")
	p.answers(atGroup, "On Thursday.", who...)
}

// invites lets the owner give somebody a role, who accepts it privately.
func (p *stage) invites(who, private, role string) {
	p.asOwner("role", "grant", "--goal-id", goal, "--role", role, "--platform", p.name, "--connection", "work", "--tenant", p.tenant, "--user", p.users[who], "--user-name", who, "--execute")
	p.until("the invitation", func() bool { _, ok := p.find(private); return ok }, func() { _ = p.say(who, private, "hello") })
	p.either(who, private, "Accept", []string{role + " of", "waits for you"}, role+" of", "done")
	p.skip[private] = len(p.present(private))
}

// Journey 6. Wei asks for a comparison in the goal's thread; the editor, who does
// none of the work, has his question until it is answered. The analyst's
// artifact is used by its digest, the reviewer rejects the page, Wei corrects the
// constraint in chat, the plan changes, the second review passes, and the result
// comes to the thread that asked.
func handingOver(p *stage) {
	o := p.loopx("start-goal", "--goal-id", goal, "--objective", "Publish a fair price comparison", "--agent-id", "analyst", "--agent-id", "builder", "--agent-id", "reviewer", "--agent-id", "editor",
		"--todo", "[P0] Compare the tariffs", "--todo", "[P1] Build the page", "--todo", "[P2] Review the page")
	compare, build, review := o.at("todos.0.todo_id"), o.at("todos.1.todo_id"), o.at("todos.2.todo_id")
	at := p.bound("queue", "editor", "s1")
	const digest = "sha256:6ae8a75555209fd6c44157c0aed8016e763ff435a19cf186f76863140143ff72"
	artifact := func(summary, digest string) string {
		return `{"kind":"artifact","summary":"` + summary + `","ref":"site/prices","digest":"` + digest + `"}`
	}

	p.says("Wei", at, "which tariff is the cheapest?")
	asked := p.takes("--agent-id", "editor", "--session", "s1")
	p.shows(at, "editor works on this message")

	p.next("the analyst compares")
	p.loopx("todo", "claim", "--goal-id", goal, "--agent-id", "analyst", "--todo-id", compare)
	p.turn("analyst", "a1", compare, "--no-follow-up", "--evidence", artifact("three tariffs compared", digest))
	p.next("the builder uses what the analyst made, by its digest")
	handed := p.loopx("todo", "show", "--goal-id", goal, "--todo-id", compare).at("evidence.0.digest")
	p.note("the builder was handed %s", handed)
	p.turn("builder", "b1", build, "--no-follow-up", "--evidence", artifact("page from the compared tariffs", handed))
	p.next("the reviewer rejects")
	p.turn("reviewer", "r1", review, "--next-agent-todo", "Show taxes in every price", "--evidence", "check: review rejected, prices are shown without taxes")

	p.says("Wei", weiDM, "/configure "+goal+" objective Publish a fair price comparison, no price without taxes")
	p.presses("Wei", weiDM, "Confirm", "no price without taxes")
	p.shows(weiDM, "receipt")

	p.next("the builder replans")
	fix := p.replans("builder", "b2", "[P1] Recompute the prices with taxes")
	p.next("the builder builds it again")
	p.turn("builder", "b3", fix, "--no-follow-up", "--evidence", artifact("page with taxes", "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"))
	p.next("the reviewer replans and passes")
	second := p.replans("reviewer", "r2", "[P0] Second review, taxes in every price")
	p.turn("reviewer", "r3", second, "--no-follow-up", "--evidence", "check: second review passed, 3 of 3 prices with taxes")

	p.next("the result goes to who asked")
	p.loopx("inbox", "settle", "--goal-id", goal, "--agent-id", "editor", "--session", "s1", "--message-id", asked, "--outcome", "adopted", "--reply", "Tariff B, with taxes; reviewed twice.")
	p.shows(at, "Tariff B, with taxes; reviewed twice.")
	p.note("evidence: %s", p.loopx("review-packet", "--goal-id", goal).at("evidence.0.summary"))
}

// takes leases the next message of a session and gives its id.
func (p *stage) takes(who ...string) string {
	p.next("an agent takes a message")
	var o object
	p.until("a message waits", func() bool {
		o = p.loopx(append([]string{"inbox", "next", "--lease", "1h", "--goal-id", goal}, who...)...)
		return o.at("message.text") != ""
	}, p.admits)
	p.note("%s of %s", o.at("message.text"), o.at("message.from"))
	return o.at("message.message_id")
}

// turn is one turn of an agent on a todo. Committed again, as a host does that
// got no answer, it changes nothing.
func (p *stage) turn(agent, id, todo string, more ...string) {
	who := []string{"--goal-id", goal, "--agent-id", agent, "--turn-instance-id", id}
	o := p.loopx(append([]string{"tick"}, who...)...)
	if got := o.at("selected_todo.todo_id"); got != todo {
		p.fail("step %d: %s was given %q, not %q: %v", p.step, agent, got, todo, o)
	}
	commit := append(append([]string{"turn", "commit", "--todo-id", todo, "--complete"}, who...), more...)
	p.loopx(commit...)
	if p.loopx(commit...).at("idempotent_replay") != "true" {
		p.fail("step %d: the turn %s was committed twice", p.step, id)
	}
}

// replans is the turn in which an agent is told first that the goal has changed,
// and changes the plan. It gives the new todo.
func (p *stage) replans(agent, id, todo string) string {
	o := p.loopx("tick", "--goal-id", goal, "--agent-id", agent, "--turn-instance-id", id)
	if o.at("rule") != "R05" {
		p.fail("step %d: %s was not told to replan: %v", p.step, agent, o)
	}
	return p.loopx("todo", "add", "--goal-id", goal, "--agent-id", agent, "--text", todo, "--replan-obligation-id", o.at("replan.obligation_id")).at("todo_id")
}
