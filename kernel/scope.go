package kernel

import (
	"slices"
	"strings"

	"loopx/kernel/store"
)

// Grant is a standing approval: what an approved gate of a goal-wide scope
// leaves behind. It is no wider than what was asked.
type Grant struct {
	ID      string `json:"id"`
	Goal    string `json:"goal"`
	Scope   string `json:"scope"`
	Gate    string `json:"gate"`
	Digest  string `json:"digest"` // of the gate as it was approved
	By      string `json:"by"`
	Created int64  `json:"created"`
	Expires int64  `json:"expires"`
	Revoked int64  `json:"revoked,omitempty"`
	// Used is when a todo was last taken on the strength of it alone.
	Used int64 `json:"used,omitempty"`
}

// Live says whether a grant counts at a time.
func (g *Grant) Live(now int64) bool { return g.Revoked == 0 && now < g.Expires }

// grantMS is how long a standing approval lasts.
const grantMS = 30 * dayMS

// grantsMost bounds the grants of a goal that are kept.
const grantsMost = 256

// scopeMax bounds the scopes one todo needs.
const scopeMax = 8

// parseScope reads kind:granularity:key and normalises the kind.
func parseScope(s string) (kind, granularity, key string, err error) {
	parts := strings.SplitN(s, ":", 3)
	bad := Errorf(Invalid, "bad_scope", "scope %s must be kind:granularity:key, as publish:goal:website", show(s))
	if len(parts) != 3 {
		return "", "", "", bad
	}
	kind, granularity, key = parts[0], parts[1], parts[2]
	if kind == "public_claim" {
		kind = "publish"
	}
	if !slices.Contains(gateKinds(), kind) || rank(granularity) < 0 || checkToken("scope", key, 120) != nil {
		return "", "", "", bad
	}
	return kind, granularity, key, nil
}

// gateKinds are the kinds of gates and scopes; the last four are protected.
func gateKinds() []string {
	return []string{"private_read", "write_scope", "resource", "direction", "other", "production", "publish", "permission", "destructive"}
}

func protectedKind(kind string) bool { return slices.Index(gateKinds(), kind) >= 5 }

// rank orders granularities from narrow to broad. For now an action is its lane
// and a project is everything.
func rank(granularity string) int {
	switch granularity {
	case "action", "lane":
		return 0
	case "goal":
		return 1
	case "project", "global":
		return 2
	}
	return -1
}

// normalScopes checks a todo's needs and writes each in one way.
func normalScopes(list []string) ([]string, error) {
	if len(list) > scopeMax {
		return nil, Errorf(Invalid, "too_many", "a todo needs at most %d scopes", scopeMax)
	}
	var out []string
	for _, s := range list {
		kind, g, key, err := parseScope(s)
		if err != nil {
			return nil, err
		}
		out = append(out, kind+":"+g+":"+key)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return uniq(out), nil
}

// scopeCovers: same kind, the same key or an owner's *, at least as broad.
func scopeCovers(have, need string) bool {
	hk, hg, hkey, err1 := parseScope(have)
	nk, ng, nkey, err2 := parseScope(need)
	return err1 == nil && err2 == nil && hk == nk && (hkey == nkey || hkey == "*") && rank(hg) >= rank(ng)
}

// Grants lists the grants of a goal, revoked and expired ones included.
func (r *Reader) Grants(goal string) []*Grant {
	return rows[Grant](r, under(grantsMost, tblGrant, goal))
}

// approvedFor says whether the answer to the gate that asked for this todo
// approved its need.
func approvedFor(r *Reader, v *Todo, scope string) bool {
	return r.raw(store.Key(tblScopeDone, v.Goal, v.ID, scope)) != nil
}

// grantFor is the standing approval that covers a need now, or nil.
func grantFor(r *Reader, goal, scope string) *Grant {
	for _, g := range r.Grants(goal) {
		if g.Live(r.now) && scopeCovers(g.Scope, scope) {
			return g
		}
	}
	return nil
}

// covered says whether a need of a todo is approved now.
func (r *Reader) covered(v *Todo, scope string) bool {
	return approvedFor(r, v, scope) || grantFor(r, v.Goal, scope) != nil
}

// uncovered are the needs of a todo that nobody has approved, or no longer; in a
// tainted turn standing approvals do not count.
func (r *Reader) uncovered(v *Todo, tainted bool) []string {
	var out []string
	for _, s := range v.Scopes {
		if !approvedFor(r, v, s) && (tainted || grantFor(r, v.Goal, s) == nil) {
			out = append(out, s)
		}
	}
	return out
}

// lapsed are approvals a todo had and has no longer: its grant ran out or was
// revoked, and no gate asks for it yet.
func (s *situation) lapsed(v *Todo) []string {
	if len(v.Scopes) == 0 || len(s.r.Blocks(s.g.ID, v.ID)) > 0 {
		return nil
	}
	replaces := ""
	if s.caller.Turn != "" {
		replaces = or(s.caller.Session, "cli:"+s.agent)
	}
	return s.r.uncovered(v, s.caller.Tainted || tainted(s.r, s.g.ID, s.agent, s.caller.Turn, replaces))
}

// grantsUsed notes which standing approvals a todo is taken on.
func grantsUsed(r *Reader, e *env, v *Todo) []Event {
	var out []Event
	for _, s := range v.Scopes {
		if g := grantFor(r, v.Goal, s); g != nil && !approvedFor(r, v, s) {
			n := *g
			n.Used = e.now
			out = append(out, Event{Type: GrantUsed, Goal: v.Goal, Subject: n.ID, Grant: &n})
		}
	}
	return out
}

// askScopes opens or joins the gate of each scope that a new todo needs and
// nobody has approved. A scope that was refused holds the todo back unasked.
func (r *Reader) askScopes(e *env, v *Todo, by string, asked ...Event) []Event {
	var out []Event
	opened := 0
	for _, s := range v.Scopes {
		// What the same command asks again already needs no second gate.
		again := slices.ContainsFunc(asked, func(ev Event) bool {
			return ev.Type == GateReopened && ev.Gate.Scope == s
		})
		if again || r.covered(v, s) {
			continue
		}
		if g := r.scopeGate(v.Goal, s); g != nil {
			out = append(out, joined(r, e, g, []string{v.ID}, map[string]*Todo{v.ID: v}))
			continue
		}
		kind, _, key, _ := parseScope(s)
		g := &Gate{
			Goal: v.Goal, Code: "G-" + utoa(uint64(r.Counts(v.Goal).Gates+opened+1)), Scope: s, Kind: kind,
			Question: cutRunes("Allow "+scopeWords(kind)+" "+key+" for: "+v.Title, titleMax),
			Options:  (&OpenGate{}).options(), Blocks: Blocks{Todos: []string{v.ID}}, Severity: v.Priority, OnTimeout: "wait",
			Status: GateOpen, AskedBy: by, Steady: e.steady, Revision: 1, Created: e.now, Updated: e.now,
		}
		g.Kind = floorOf(kind, kindsOf(r, g, map[string]*Todo{v.ID: v}))
		if g.To = r.AskedPersons(g); mayAsk(r, g, opened) != nil {
			continue // it stays unapproved and untaken until somebody asks
		}
		opened++
		g.Terms = termsOf(r, g, r.Goal(v.Goal).Course, map[string]*Todo{v.ID: v})
		g.Digest = g.digest()
		for g.ID == "" || r.GoalOfGate(g.ID) != "" {
			g.ID = e.id("gate_")
		}
		out = append(out, Event{Type: GateOpened, Goal: v.Goal, Subject: g.ID, Gate: g})
	}
	return out
}

func scopeWords(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// scopeGate is the gate that a new need of a scope joins: the open one, or the
// one whose answer was no.
func (r *Reader) scopeGate(goal, scope string) *Gate {
	id := r.raw(store.Key(tblScopeGate, goal, scope))
	if id == nil {
		return nil
	}
	g := r.Gate(goal, string(id))
	if g == nil || g.Lifted || len(g.Blocks.Todos) >= blocksMax {
		return nil
	}
	if g.Status == GateOpen && !g.Expired(r.now) || g.Status == GateAnswered && (g.Answer.Outcome == Reject || g.Answer.Outcome == Cancel) {
		return g
	}
	return nil
}

// joined adds todos to what a gate holds back. What it asks has changed with
// that, so a card shown before no longer answers it.
func joined(r *Reader, e *env, g *Gate, todos []string, over map[string]*Todo) Event {
	n := *g
	n.Blocks.Todos = uniq(append(slices.Clone(g.Blocks.Todos), todos...))
	n.Revision, n.Updated = g.Revision+1, e.now
	course := r.Goal(g.Goal).Course
	if n.Status != GateOpen && termsOf(r, g, course, nil) == g.Terms {
		n.Terms = termsOf(r, &n, course, over) // one more todo is nothing new to ask about
	}
	if n.Status == GateOpen {
		n.Kind = floorOf(n.Kind, kindsOf(r, &n, over))
		n.Terms = termsOf(r, &n, course, over)
	}
	n.Digest = n.digest()
	return Event{Type: GateJoined, Goal: g.Goal, Subject: g.ID, Gate: &n}
}

// grantWish is what the person who approves says about the future: "action" for
// this once, "goal" for the goal until a date, "" for what was asked.
type grantWish struct {
	wide  string
	until int64
	right string // of the person in the goal
}

// granted is the standing approval that an approved gate leaves: no wider than
// what was asked, 30 days at most, and only from an owner.
func granted(e *env, g *Gate, by string, w grantWish) ([]Event, error) {
	kind, granularity, key, err := parseScope(g.Scope)
	if err != nil {
		if w.wide != "" {
			return nil, Errorf(Invalid, "grant_nothing", "%s asks for no scope, so nothing can stand for later", g.Code)
		}
		return nil, nil
	}
	if w.wide != "" {
		if err := oneOf("grant", w.wide, "action", "goal"); err != nil {
			return nil, err
		}
	}
	switch {
	case w.wide == "" && w.until != 0, w.until != 0 && (w.until <= e.now || w.until > e.now+grantMS):
		return nil, Errorf(Invalid, "bad_grant_until", "an approval for the goal ends within 30 days")
	case w.wide == "goal" && rank(granularity) < 1:
		return nil, Errorf(Invalid, "grant_wider", "%s asks for this once, and an approval is no wider than what was asked", g.Code)
	case w.wide == "goal" && w.right != RoleOwner:
		return nil, Errorf(Denied, "owner_only", "an approval for the whole goal is an owner's act").Try("approve it for this action, or let an owner answer")
	case w.wide == "action", rank(granularity) < 1, w.right != RoleOwner:
		return nil, nil // what it blocks is approved, and nothing stands
	case w.wide == "goal":
		granularity = "goal"
	}
	until := w.until
	if until == 0 {
		until = e.now + grantMS
	}
	v := &Grant{ID: e.id("grant_"), Goal: g.Goal, Scope: kind + ":" + granularity + ":" + key, Gate: g.ID, Digest: g.Digest, By: by, Created: e.now, Expires: until}
	return []Event{{Type: GrantGiven, Goal: g.Goal, Subject: v.ID, Grant: v}}, nil
}

// floor raises a gate's kind to the most protected scope that what it blocks
// needs: what an agent calls a thing never makes it less protected.
func (r *Reader) floor(v *Gate) { v.Kind = floorOf(v.Kind, kindsOf(r, v, nil)) }

func floorOf(kind string, kinds []string) string {
	order := gateKinds() // the protected ones come last, each above the one before
	for _, k := range kinds {
		if protectedKind(k) && slices.Index(order, k) > slices.Index(order, kind) {
			kind = k
		}
	}
	return kind
}

// kindsOf are the kinds of scopes that a gate's own scope and its todos name.
func kindsOf(r *Reader, v *Gate, over map[string]*Todo) []string {
	var out []string
	add := func(scope string) {
		if kind, _, _, err := parseScope(scope); err == nil {
			out = append(out, kind)
		}
	}
	add(v.Scope)
	for _, id := range v.Blocks.Todos {
		if t := stands(r, v.Goal, id, over); t != nil {
			for _, s := range t.Scopes {
				add(s)
			}
		}
	}
	return out
}

// RevokeGrant takes a standing approval back: an owner's act. Open todos that
// rested on it cannot be taken until somebody asks again.
type RevokeGrant struct {
	Goal  string `json:"goal"`
	Grant string `json:"grant"`
}

// Name implements Command.
func (*RevokeGrant) Name() string { return "grant.revoke" }

func (c *RevokeGrant) decide(r *reader, e *env) (*decided, error) {
	g, err := r.needGoal(c.Goal)
	if err != nil {
		return nil, err
	}
	if err := ownerOf(r, e, g.ID, "revoking a grant"); err != nil {
		return nil, err
	}
	v := get[Grant](r, tblGrant, g.ID, c.Grant)
	if v == nil {
		return nil, Errorf(NotFound, "grant_not_found", "there is no grant %s in %s", show(c.Grant), g.ID).Try("loopx grant list --goal-id %s", g.ID)
	}
	out := &decided{result: map[string]any{"grant_id": v.ID, "goal_id": g.ID, "scope": v.Scope, "status": "revoked"}}
	if v.Revoked > 0 {
		return out, nil
	}
	n := *v
	n.Revoked = e.now
	out.changed = true
	out.events = []Event{{Type: GrantRevoked, Goal: g.ID, Subject: v.ID, Grant: &n}}
	return out, nil
}
