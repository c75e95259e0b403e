package cli

import (
	"strconv"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"
)

// askUsage is the grammar of --ask and --ask-policy.
const askUsage = "owner, approver, person:ID (again for more), quorum:N, not-asker, chain; joined by commas"

// askPolicy reads who is asked, as owner,quorum:2 or person:wei,person:ana,chain.
func askPolicy(flag, s string) (kernel.Asked, error) {
	var a kernel.Asked
	for word := range strings.SplitSeq(s, ",") {
		name, arg, _ := strings.Cut(strings.TrimSpace(word), ":")
		switch {
		case (name == kernel.RoleOwner || name == kernel.RoleApprover) && arg == "":
			a.Role = name
		case name == "person" && arg != "":
			a.Persons = append(a.Persons, arg)
		case name == "not-asker" && arg == "":
			a.NotAsker = true
		case name == "chain" && arg == "":
			a.Chain = true
		case name == "quorum":
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 {
				return a, badAsk(flag, word)
			}
			a.Quorum = n
		default:
			return a, badAsk(flag, word)
		}
	}
	if len(a.Persons) > 0 && a.Role == "" && flag == "--ask-policy" {
		a.Role = kernel.RoleApprover // whoever is named needs a role all the same
	}
	return a, nil
}

func badAsk(flag, word string) error {
	return kernel.Errorf(kernel.Invalid, "bad_ask", "%s does not know %q", flag, show(word, 60)).Try("use " + askUsage)
}

// askPolicies reads KIND=WHO, one a kind; any is for the others.
func askPolicies(list []string) (map[string]kernel.Asked, error) {
	out := map[string]kernel.Asked{}
	for _, s := range list {
		kind, who, ok := strings.Cut(s, "=")
		if s == "" {
			continue // an empty one takes the policy back
		}
		if !ok {
			return nil, badAsk("--ask-policy", s)
		}
		a, err := askPolicy("--ask-policy", who)
		if err != nil {
			return nil, err
		}
		out[kind] = a
	}
	return out, nil
}

// askedOther is askedWho where it is another than the one owner who is always asked.
func askedOther(g view.Gate) string {
	if s := askedWho(g); s != (kernel.Asked{}).Words() {
		return s
	}
	return ""
}

// askedWho says who may answer and how far the answers are.
func askedWho(g view.Gate) string {
	s := g.Who.Words()
	if g.Who.Quorum > 1 && g.Status == kernel.GateOpen {
		s += " · " + strconv.Itoa(g.Agree) + " of " + strconv.Itoa(g.Who.Quorum) + " agree"
	}
	return s
}

// votes are the answers given so far, one a line.
func (p *printer) votes(g view.Gate) string {
	var b strings.Builder
	if g.Status != kernel.GateOpen {
		return ""
	}
	for _, v := range g.Votes {
		b.WriteString("Answered: " + show(v.Name, 40) + " says " + show(v.Option, 40) + ", " + p.clock(v.At) + "\n")
	}
	return b.String()
}
