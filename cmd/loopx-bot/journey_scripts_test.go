package main_test

import (
	"strings"
)

const goal = "site"

// journey is one of the scripts of the contract, from the first message of a
// person to the last card.
type journey struct {
	name   string
	groups bool // it needs a surface with groups
	steps  int
	play   func(*stage)
}

func journeys() []journey {
	return []journey{
		{"2 a gate from a phone", false, 7, answering},
		{"3 steer, queue, inbox", false, 22, steering},
		{"4 a group with a Manager", true, 22, managing},
		{"6 peers hand over", false, 14, handingOver},
	}
}

// bound joins the thread of the goal to it, or leaves the private conversation as
// the place where a goal has none. It returns where Wei talks.
func (p *stage) bound(ingress, agent, session string) string {
	p.loopx("session", "open", "--goal-id", goal, "--agent-id", agent, "--session", session)
	if p.topic == nil {
		p.talks("Wei", weiDM, "/to "+goal+" "+agent)
		p.sees(weiDM, agent)
		p.skip[weiDM] = len(p.present(weiDM))
		return weiDM
	}
	channel, thread := p.topic()
	p.asOwner("bind", "set", "--platform", p.name, "--connection", "work", "--conversation", channel, "--thread", thread, "--goal-id", goal, "--ingress", ingress,
		"--agent-id", agent, "--session", session, "--execute")
	return atThread
}

// Journey 3. An owner steers a live turn from the goal's thread, and sees it
// accepted, delivered and seen; queues two messages, sees their positions, cancels
// one; leaves one in the inbox. Every one of them is answered in that thread.
func steering(p *stage) {
	p.loopx("start-goal", "--goal-id", goal, "--objective", "Publish the pricing page", "--agent-id", "builder", "--todo", "Build the page")
	at := p.bound("steer", "builder", "s1")
	who := []string{"--goal-id", goal, "--agent-id", "builder"}
	turn := append([]string{"--turn-instance-id", "t1"}, who...)
	p.loopx(append([]string{"tick", "--session", "s1"}, turn...)...)

	p.says("Wei", at, "not the blue one")
	p.steers(at)
	p.next("builder writes back")
	p.told(append([]string{"refresh-state", "--note", "the header stands", "--idempotency-key", "one"}, turn...))
	p.shows(at, "delivered to builder")
	p.next("builder writes back again")
	p.told(append([]string{"refresh-state", "--note", "the green one it is", "--idempotency-key", "two"}, turn...))
	p.shows(at, "seen by builder")

	p.says("Wei", at, "/queue and what does it cost?")
	p.shows(at, "queued for builder, 1 of 1")
	p.says("Wei", at, "/queue never mind the footer")
	p.shows(at, "queued for builder, 2 of 2")
	p.presses("Wei", at, "Cancel", "queued for builder, 2 of 2")
	p.shows(at, "taken back")

	p.next("builder ends its turn")
	p.loopx(append([]string{"todo", "complete", "--todo-id", p.loopx("todo", "list", "--goal-id", goal).at("todos.0.todo_id"), "--no-follow-up", "--evidence", "check: 12/12 pages render"}, turn...)...)
	p.loopx(append([]string{"quota", "spend-slot", "--execute"}, turn...)...)
	p.answers(at, "It costs nothing.", append([]string{"--session", "s1"}, who...)...)

	// Nobody is there any more: what is said now is refused with a way out.
	p.next("builder closes its session")
	p.loopx("session", "close", "--goal-id", goal, "--session", "s1")
	p.says("Wei", at, "remember the sitemap")
	p.stores(at)
	p.answers(at, "The sitemap is done.", who...)
}

// steers waits until a message is in the live turn. Where it waits in the queue,
// because the place has no other way or because it was only found in the history,
// Wei sends it on.
func (p *stage) steers(at string) {
	p.next("the bot shows that it is accepted")
	p.either("Wei", at, "Send as steer", []string{"queued for builder, 1 of 1"}, "accepted, not yet taken by builder")
}

// stores leaves a message in the inbox that found nobody.
func (p *stage) stores(at string) {
	p.next("Wei leaves it in the inbox")
	p.either("Wei", at, "Store it instead", []string{"not delivered", "session"}, "stored for builder")
}

// either waits for a message of the bot, and presses a button of another one if
// that comes first.
func (p *stage) either(who, at, label string, first []string, words ...string) {
	pressed := 0
	p.until("the bot shows "+strings.Join(words, ", "), func() bool {
		_, ok := p.find(at, words...)
		if l, there := p.find(at, first...); !ok && there && pressed == 0 {
			pressed++
			_ = p.press(who, at, l.id, label)
		}
		return ok
	}, func() {
		p.admits()
		pressed = 0 // nothing happened: once more
	})
}

// told runs a step of an agent and notes what it was told in it.
func (p *stage) told(args []string) {
	o := p.loopx(args...)
	steer, _ := o["steer"].([]any)
	for _, v := range steer {
		m, _ := v.(map[string]any)
		p.note("builder is told by %s: %s", object(m).at("from"), object(m).at("text"))
	}
}

// answers lets an agent take the next message and settle it.
func (p *stage) answers(at, reply string, who ...string) {
	p.next("an agent takes a message")
	var o object
	p.until("a message waits", func() bool {
		o = p.loopx(append([]string{"inbox", "next"}, who...)...)
		return o.at("message.text") != ""
	}, p.admits)
	context, _ := o["context"].([]any)
	var lines []string
	for _, v := range context {
		m, _ := v.(map[string]any)
		lines = append(lines, object(m).at("name")+": "+object(m).at("text"))
	}
	p.note("the message %q of %s, attempt %s, after %d lines: %s", o.at("message.text"), o.at("message.from"), o.at("message.attempt"), len(lines), strings.Join(lines, " | "))
	p.next("the agent answers " + reply)
	p.loopx(append([]string{"inbox", "settle", "--message-id", o.at("message.message_id"), "--outcome", "adopted", "--reply", reply}, who...)...)
	p.shows(at, reply)
}
