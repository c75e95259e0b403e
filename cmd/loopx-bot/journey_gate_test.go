package main_test

// Journey 2. The builder needs an approval that is protected; the card says what
// is asked, why and what it holds up. Wei presses twice. The one card shows who
// decided, and then that the builder has taken it up.
func answering(p *stage) {
	todo := p.loopx("start-goal", "--goal-id", goal, "--objective", "Publish the pricing page", "--agent-id", "builder", "--todo", "Publish the page").at("todos.0.todo_id")
	p.next("the builder asks")
	gate := p.loopx("gate", "open", "--goal-id", goal, "--agent-id", "builder", "--question", "Publish the new pricing page?", "--why", "Checks pass", "--kind", "publish",
		"--blocks-todo", todo, "--option", "go=Publish:approve", "--option", "hold=Hold:reject").at("gate_id")
	p.shows(weiDM, "Publish the new pricing page?", "Checks pass", "Blocks the only open todo")
	p.presses("Wei", weiDM, "Publish…", "Publish the new pricing page?")
	p.presses("Wei", weiDM, "Confirm: Publish", "Publish the new pricing page?")
	p.shows(weiDM, "Publish the new pricing page?", "decided by")
	p.next("the builder, who waits, is told")
	p.note("the answer: %s", p.loopx("wait", "--gate-id", gate, "--timeout", "30s").at("outcome"))
	p.turn("builder", "b1", todo, "--no-follow-up", "--evidence", "check: the page is public")
	p.shows(weiDM, "Publish the new pricing page?", "taken by builder")
}
