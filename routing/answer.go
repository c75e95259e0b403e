package routing

import (
	"slices"

	"loopx/adapters/chat"
)

// answering is a message of a linked person as an answer to a gate.
type answering struct{ *decision }

// answer decides about a text that answers a gate: addressed to the bot, or in
// the gate's own place.
func answer(of *decision) (Verdict, bool) {
	d := answering{of}
	a := d.in.Answer
	if a.Word == "" || d.e.Kind != chat.MessageSent {
		return Verdict{}, false
	}
	var here, coded []Gate
	for _, g := range d.f.Gates {
		if g.Here {
			here = append(here, g)
		}
		if a.Code != "" && g.Code == a.Code && (g.Here || d.addressed || d.e.Private) {
			coded = append(coded, g)
		}
	}
	if a.Code == "" {
		if len(here) > 1 {
			return d.gates(here), true
		}
		if len(here) == 0 {
			return Verdict{}, false // an ordinary yes in a conversation
		}
		return d.answered(&here[0])
	}
	if near := slices.DeleteFunc(slices.Clone(coded), func(g Gate) bool { return !g.Here }); len(near) > 0 {
		coded = near
	}
	switch {
	case len(coded) == 1:
		return d.answered(&coded[0])
	case len(coded) > 1:
		return d.gates(coded), true
	case a.decides() && (d.addressed || d.e.Private):
		return d.tell(Refuse, ReasonNoGate), true
	}
	return Verdict{}, false
}

// gates lists the gates that could be meant, as far as the sender may answer
// them; nothing is decided.
func (d answering) gates(list []Gate) Verdict {
	v := d.tell(Choice, ReasonGates)
	for _, g := range list {
		if g.May {
			v.Gates = append(v.Gates, g)
		}
	}
	if len(v.Gates) == 0 {
		return d.tell(Refuse, ReasonRight)
	}
	return v
}

// decides says whether the word alone makes the text an answer.
func (a AnswerText) decides() bool { return a.Word == yes || a.Word == no || a.Word == cancel }

// answered answers one gate. A word that is none of its options is a sentence
// about it, and sentences answer nothing.
func (d answering) answered(g *Gate) (Verdict, bool) {
	a := d.in.Answer
	option := g.option(a)
	switch {
	case option == "" && !a.decides():
		return Verdict{}, false
	case !g.May:
		return d.aboutGate(ReasonRight, g), true
	case g.Protected:
		return d.aboutGate(ReasonProtected, g), true
	case option == "":
		return d.aboutGate(ReasonNoOption, g), true
	}
	v := d.tell(Answer, "gate_answer")
	v.Answer = GateAnswer{Gate: g.ID, Code: g.Code, Option: option, Reason: a.Reason}
	v.Target.Goal = g.Goal
	return v, true
}

func (d answering) aboutGate(reason string, g *Gate) Verdict {
	v := d.tell(Refuse, reason)
	v.Gates = []Gate{*g}
	return v
}

// option is the id of the one option that is meant: by its id or label, or the
// only one with the outcome that yes, no or cancel stands for.
func (g *Gate) option(a AnswerText) string {
	outcome := map[string]string{yes: "approve", no: "reject", cancel: "cancel"}[a.Word]
	word, named, meant := fold(a.Word), []string{}, []string{}
	for _, o := range g.Options {
		if fold(o.ID) == word || fold(o.Label) == word {
			named = append(named, o.ID)
		}
		if outcome != "" && o.Outcome == outcome {
			meant = append(meant, o.ID)
		}
	}
	if len(named) == 1 {
		return named[0]
	}
	if len(named) == 0 && len(meant) == 1 {
		return meant[0]
	}
	return ""
}
