package kernel

import (
	"slices"
	"strconv"
	"strings"

	"loopx/kernel/store"
)

// Limits of how much one agent asks: open gates in its goal, and gates an hour to
// one person.
const (
	agentOpenMost = 10
	agentHourMost = 3
)

// askingAgent is the agent that asked a gate, or "" for a person and for the
// unnamed command line. What a host asks for its own permissions does not count.
func (g *Gate) askingAgent() string {
	if g.Request != "" || g.AskedBy == "cli" || strings.HasPrefix(g.AskedBy, "person:") {
		return ""
	}
	return g.AskedBy
}

// mayAsk refuses an agent that asks too much. more are gates that the same
// command opens already.
func mayAsk(r *Reader, v *Gate, more int) error {
	agent := v.askingAgent()
	if agent == "" {
		return nil
	}
	if n := len(r.lastParts(under(agentOpenMost, tblAskOpen, v.Goal, agent))); n+more >= agentOpenMost {
		return Errorf(Exhausted, "too_many_open_gates", "%s has %d open gates in %s, which is the most", agent, n, v.Goal).
			Try("withdraw one: loopx gate list --goal-id %s", v.Goal)
	}
	for _, person := range v.To {
		rg := under(agentHourMost+1, tblAskRate, v.Goal, agent, person)
		rg.From = store.Key(tblAskRate, v.Goal, agent, person, store.I64(r.steady-hourMS+1))
		first, n := int64(0), 0
		r.scan(rg, func(_, at []byte) bool {
			if n++; n == 1 {
				first, _ = strconv.ParseInt(string(at), 10, 64)
			}
			return true
		})
		if n+more >= agentHourMost {
			e := Errorf(Exhausted, "asked_too_often", "%s asked %s %d times within the hour, which is the most", agent, r.personName(Actor{ID: person}), n)
			if n > 0 {
				e.With("next", rfc3339(r.Wall(first+hourMS))).Try("ask again after %s, or work on what needs no answer", rfc3339(r.Wall(first+hourMS)))
			}
			return e
		}
	}
	return nil
}

// refusedBefore says whether a scope was refused and nothing has changed since:
// then it is not asked again. With new evidence or changed todos the same gate
// asks again.
func refusedBefore(r *Reader, v *Gate, evidence []EvidenceArg) error {
	if termsOf(r, v, r.Goal(v.Goal).Course, nil) != v.Terms {
		return nil
	}
	for _, a := range evidence {
		known := slices.ContainsFunc(v.Evidence, func(id string) bool {
			old := r.Evidence(v.Goal, id)
			return old != nil && old.Summary == a.Summary && old.Ref == a.Ref && old.Digest == a.Digest
		})
		if !known {
			return nil
		}
	}
	return Errorf(Conflict, "refused_before", "%s was refused with %s by %s, and nothing changed since", v.Scope, v.Code, v.Answer.Name).
		With("gate_id", v.ID).Try("bring new --evidence, or change what the todo asks for")
}

// askAgain is a refused gate of a scope that asks again, as v would have asked.
func askAgain(e *env, old, v *Gate) *Gate {
	n := again(e, old, "asked_again")
	n.Question, n.Why, n.Options, n.OnTimeout, n.Expires, n.Fallback = v.Question, v.Why, v.Options, v.OnTimeout, v.Expires, v.Fallback
	n.Blocks.Todos = uniq(append(slices.Clone(old.Blocks.Todos), v.Blocks.Todos...))
	n.Asked, n.AskedBy, n.Severity, n.To, n.Steady = v.Asked, v.AskedBy, min(old.Severity, v.Severity), v.To, v.Steady
	return n
}
