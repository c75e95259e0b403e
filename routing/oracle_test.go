package routing

import (
	"loopx/adapters/chat"
)

// This is a second opinion on who may start what, written from the contract's
// sentences and not from the code: it knows how a scene was made, reads no text,
// and is a flat list of what must hold. It shares nothing with Decide but the
// names of values.

// scene is what happens, before it becomes an event and facts.
type scene struct {
	event   chat.EventKind
	kind    chat.UserKind
	noID    bool   // the platform named nobody
	tenant  string // the sender's
	own     string // the connection's, if it has one
	state   string // of the link
	person  bool   // the link leads to somebody
	owner   bool
	roles   [3][]Role // on goals g0, g1, g2
	private bool
	thread  string
	age     int64 // ms since it was said
	noTime  bool  // the platform gave no time
	noNow   bool
	history bool

	mention mentionKind
	text    textKind
	file    bool

	parent, parentOurs, rootIsParent bool
	parentGate, threadGate           bool
	threadOurs                       bool
	others                           int

	bindings []Binding
	gates    []Gate
	current  *Target
	reach    []Target
	sessions []Session
	budget   int
}

type mentionKind int

const (
	noMention mentionKind = iota
	realMention
	codeMention      // in backticks
	fenceMention     // in a fence
	quoteMention     // in a quoted line
	typedMention     // the characters of the id, listed by nobody
	disguisedMention // in code, beside the typed characters
	allMention
	otherMention // somebody else
	bothMention  // everybody and the bot
	lastMention
)

type textKind int

const (
	talk textKind = iota
	nothing
	viewWord
	wrongSlash
	toGoal      // "/to g0 hello there"
	toAgent     // "/to g0 a0 hello there"
	toOther     // "/to g2 hello there"
	toSilent    // "/to g0"
	queueTalk   // "/queue hello there"
	queueSilent // "/queue"
	plainYes
	codedYes // "yes G-1"
	linking
	sentence // talk with words of commands and answers in it
	lastText
)

// mayStart says whether the scene gives words to an agent, and at which goals.
func mayStart(s *scene) (bool, []string) {
	// Only a message or a slash command can; presses, edits and deletes cannot.
	if s.event != chat.MessageSent && s.event != chat.CommandSent {
		return false, nil
	}
	// Only a person of the own tenant whom the platform names.
	if s.kind != chat.Human || s.noID || s.own != "" && s.tenant != s.own {
		return false, nil
	}
	// Only now: no history, nothing older than half an hour or of unknown age. A
	// slash command without a time cannot be old.
	if s.history || s.noNow || !s.noTime && s.age > 30*60*1000 || s.noTime && s.event == chat.MessageSent {
		return false, nil
	}
	// A code is a code.
	if s.text == linking {
		return false, nil
	}
	// Nothing said.
	if s.text == nothing && !s.file {
		return false, nil
	}
	known := s.state == "linked" && s.person
	addressed := oracleAddressed(s)
	if known && s.private {
		return oraclePrivate(s)
	}
	if s.private {
		return false, nil
	}
	if !known {
		return oracleMember(s, addressed)
	}
	if oracleAnswers(s, addressed) {
		return false, nil
	}
	if addressed {
		switch s.text {
		case viewWord, wrongSlash, toSilent, queueSilent:
			return false, nil
		case toGoal, toAgent, toOther:
			return oracleTo(s)
		case queueTalk:
			if b := oracleBinding(s); b != nil && oracleSteers(s, b.Goals) {
				return oracleReaches(s, Target{Goal: lone(b), Goals: group2(b), Agent: b.Agent, Session: b.Session, Ingress: "queue"}), b.Goals
			}
			return false, nil
		}
	}
	// A slash command that is no command is nothing.
	if s.event == chat.CommandSent {
		return false, nil
	}
	b := oracleBinding(s)
	if b == nil {
		return false, nil
	}
	allowed := addressed
	if b.Trigger == "human_messages" && !s.parentGate && !s.threadGate {
		for _, id := range b.Allow {
			allowed = allowed || id == "U1"
		}
	}
	if !allowed {
		return false, nil
	}
	if !oracleSteers(s, b.Goals) {
		return oracleMember(s, addressed)
	}
	return oracleReaches(s, Target{Goal: lone(b), Goals: group2(b), Agent: b.Agent, Session: b.Session, Ingress: b.Ingress}), b.Goals
}

func lone(b *Binding) string {
	if b.Role == "goal" || b.Role == "direct" {
		return b.Goals[0]
	}
	return ""
}

func group2(b *Binding) []string {
	if b.Role == "manager" {
		return b.Goals
	}
	return nil
}

// oracleAddressed: a native mention outside of code and quotes, a slash command,
// or a verified reply. Where a thread's every message is a reply to its first
// one, only in a thread of ours and with one person. Never plain talk under a
// gate's card.
func oracleAddressed(s *scene) bool {
	if s.event == chat.CommandSent || s.mention == realMention || s.mention == bothMention {
		return true
	}
	if !s.parent || !s.parentOurs || s.parentGate || s.threadGate {
		return false
	}
	loose := s.thread != "" && s.rootIsParent
	return !loose || s.threadOurs && s.others == 0
}

// oracleSteers: an owner of everything, or an owner or steerer of each goal.
func oracleSteers(s *scene, goals []string) bool {
	if s.state != "linked" || !s.person || len(goals) == 0 {
		return false
	}
	for _, g := range goals {
		right := s.owner
		for n, name := range []string{"g0", "g1", "g2"} {
			for _, r := range s.roles[n] {
				if name == g && (r == "owner" || r == "steerer") {
					right = true
				}
			}
		}
		if !right {
			return false
		}
	}
	return true
}

// oracleBinding: the one active binding of the most exact rank that is taken at
// all, if its choices are known and fit each other.
func oracleBinding(s *scene) *Binding {
	rank := func(b *Binding) int {
		switch {
		case b.State == "removed":
			return 0
		case b.Thread != "" && b.Thread == s.thread:
			return 3
		case b.Thread != "":
			return 0
		case b.Role == "manager":
			return 1
		}
		return 2
	}
	var best *Binding
	for i := range s.bindings {
		b, good := &s.bindings[i], true
		for j := range s.bindings {
			c := &s.bindings[j]
			if rank(c) > rank(b) || i != j && rank(c) == rank(b) && c.State == "active" {
				good = false
			}
		}
		if good && rank(b) > 0 && b.State == "active" {
			best = b
		}
	}
	if best == nil || !oracleChoices(best) || best.Role == "direct" {
		return nil
	}
	return best
}

func oracleChoices(b *Binding) bool {
	one := func(v string, list ...string) bool {
		for _, x := range list {
			if v == x {
				return true
			}
		}
		return false
	}
	if !one(b.Role, "goal", "manager", "direct") || !one(b.Capture, "addressed", "all") || !one(b.Ingress, "steer", "queue", "inbox") || !one(b.Reply, "thread", "mirror", "none") ||
		!one(b.Audience, "linked", "members") || !one(b.ContextFrom, "linked", "all") || !one(b.Trigger, "mentions", "human_messages") {
		return false
	}
	if b.Capture == "all" && b.Role != "manager" {
		return false // capture all is the Manager's
	}
	if b.Audience == "members" && b.Ingress != "queue" {
		return false // only a turn of its own has no write scope
	}
	switch b.Role {
	case "goal":
		return len(b.Goals) == 1
	case "manager":
		return len(b.Goals) > 0 && b.Ingress == "queue" && b.Thread == ""
	}
	return len(b.Goals) < 2 && b.Thread == ""
}

// oracleMember: an owner opened this place to the own tenant, within a budget.
func oracleMember(s *scene, addressed bool) (bool, []string) {
	b := oracleBinding(s)
	switch {
	case b == nil, b.Audience != "members", !addressed, s.event != chat.MessageSent, s.own == "", s.budget <= 0:
		return false, nil
	case s.state == "suspended", s.state == "revoked", s.state == "odd":
		return false, nil
	}
	return oracleReaches(s, Target{Goal: lone(b), Goals: group2(b), Agent: b.Agent, Session: b.Session, Ingress: b.Ingress}), b.Goals
}

// oracleReaches: an inbox needs a goal; a queue the one session and room in it; a
// steer the one session with a live turn on a host that can take it.
func oracleReaches(s *scene, t Target) bool {
	if t.Ingress == "inbox" && len(t.Goals) == 0 {
		return true
	}
	if len(t.Goals) > 0 && (t.Agent == "" || t.Ingress != "queue") {
		return false
	}
	var fit []Session
	for _, one := range s.sessions {
		goal := one.Goal == t.Goal
		for _, g := range t.Goals {
			goal = goal || g == one.Goal
		}
		if goal && (t.Agent == "" || one.Agent == t.Agent) && (t.Session == "" || one.ID == t.Session) {
			fit = append(fit, one)
		}
	}
	if len(fit) != 1 {
		return false
	}
	return t.Ingress == "queue" && fit[0].Waiting < 20 || t.Ingress == "steer" && fit[0].Turn != "" && fit[0].Steer
}

// oracleAnswers: the words answer a gate, whatever comes of it. A file answers
// nothing. Talk is never an answer.
func oracleAnswers(s *scene, addressed bool) bool {
	if s.file || s.event != chat.MessageSent {
		return false
	}
	here := 0
	coded := 0
	for _, g := range s.gates {
		if g.Here {
			here++
		}
		if g.Code == "G-1" && (g.Here || addressed || s.private) {
			coded++
		}
	}
	switch s.text {
	case plainYes:
		return here > 0
	case codedYes:
		return coded > 0 || addressed || s.private
	}
	return false
}

func oraclePrivate(s *scene) (bool, []string) {
	if oracleAnswers(s, true) {
		return false, nil
	}
	// The direct binding, if there is one, must be usable.
	var active, any int
	var b *Binding
	for i := range s.bindings {
		if s.bindings[i].State != "removed" {
			any++
		}
		if s.bindings[i].State == "active" {
			active++
			b = &s.bindings[i]
		}
	}
	shut := any > 0 && active == 0 || active == 1 && (!oracleChoices(b) || b.Role != "direct")
	var t *Target
	switch {
	case s.current != nil:
		t = s.current
	case active == 1 && !shut && len(b.Goals) == 1:
		t = &Target{Goal: b.Goals[0], Agent: b.Agent, Session: b.Session, Ingress: b.Ingress}
	}
	switch s.text {
	case viewWord, wrongSlash, toSilent, queueSilent:
		return false, nil
	case toGoal, toAgent, toOther:
		return oracleTo(s)
	case queueTalk:
		if shut || t == nil {
			return false, nil
		}
		q := *t
		q.Ingress = "queue"
		return oracleSteers(s, []string{q.Goal}) && oracleReaches(s, q), []string{q.Goal}
	}
	// Plain talk under a gate's card is no turn, here as anywhere.
	if (s.parentGate || s.threadGate) && s.mention != realMention && s.mention != bothMention {
		return false, nil
	}
	if s.event == chat.CommandSent && s.text == nothing && !s.file || shut || t == nil {
		return false, nil
	}
	return oracleSteers(s, []string{t.Goal}) && oracleReaches(s, *t), []string{t.Goal}
}

// oracleTo: the address names exactly one target the person can reach.
func oracleTo(s *scene) (bool, []string) {
	goal := "g0"
	if s.text == toOther {
		goal = "g2"
	}
	var all, whole, agent []Target
	for _, t := range s.reach {
		if t.Goal != goal {
			continue
		}
		all = append(all, t)
		if t.Agent == "" && len(whole) == 0 {
			whole = append(whole, t)
		}
		if t.Agent == "a0" && s.text == toAgent {
			agent = append(agent, t)
		}
	}
	pick := all
	if len(whole) > 0 {
		pick = whole
	}
	if len(agent) > 0 {
		pick = agent
	}
	if len(pick) != 1 {
		return false, nil
	}
	return oracleSteers(s, []string{goal}) && oracleReaches(s, pick[0]), []string{goal}
}

// mayKeep says whether the message may be kept as context.
func mayKeep(s *scene) bool {
	if s.private || s.event != chat.MessageSent || s.text == linking || s.text == nothing && !s.file || s.noID {
		return false
	}
	b := oracleBinding(s)
	if b == nil || b.Role != "manager" || b.Capture != "all" || s.own != "" && s.tenant != s.own && s.kind == chat.Human {
		return false
	}
	if s.kind == chat.Human {
		return b.ContextFrom == "all" || s.state == "linked" && s.person
	}
	return s.kind == chat.Bot && b.ContextFrom == "all"
}
