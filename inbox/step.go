package inbox

import (
	"errors"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// grantMS is how long an approval for a goal stands, 30 days.
const grantMS = 30 * 24 * 3600_000

// stepOpen is a press on an open gate by somebody who may answer it.
func stepOpen(t *Tx, k *kernel.Kernel, r *kernel.Reader, e chat.Event, actor kernel.Actor, b *Button, out Outcome) (Outcome, error) {
	it, g := out.Item, out.Gate
	say := Confirm{Option: b.Option, Grant: b.Grant, Reason: strings.TrimSpace(e.Press.Values["reason"])}
	switch outcome := optionOutcome(g, b.Option); {
	case b.Step == StepSnooze:
		out.Code = StepSnooze
		return out, nil
	case b.Step == StepPage:
		out.Code = StepPage
		if it.Page++; it.Page > len(Pages(r, g)) {
			it.Page = 0
		}
		return out, redraw(t, r, it, g)
	case b.Step == StepDisown:
		return firstPress(t, r, it, g, actor, Confirm{Step: StepDisown}, out)
	case b.Step == StepBack:
		out.Code, it.Confirm = "back", nil
		return out, redraw(t, r, it, g)
	case b.Step == StepConfirm:
		if code, err := secondPress(t, r, it, g, actor, b); code != "" || err != nil {
			out.Code = code
			return out, err
		}
		say = *it.Confirm
		if say.Step == StepDisown {
			return runAfter(t, k, r, it, actor, &kernel.DisownAnswer{Goal: g.Goal, Gate: g.ID}, "disowned", out)
		}
	case FreeAnswer(g.Options, b.Option) && say.Reason == "":
		out.Code = "needs_text"
		return out, nil
	case g.Protected() && letsGo(outcome), b.Grant == "goal":
		if b.Grant == "goal" {
			say.GrantUntil = t.now + grantMS
		}
		return firstPress(t, r, it, g, actor, say, out)
	}
	return decidePress(t, k, r, actor, b, say, out)
}

func decidePress(t *Tx, k *kernel.Kernel, r *kernel.Reader, actor kernel.Actor, b *Button, say Confirm, out Outcome) (Outcome, error) {
	it, g := out.Item, out.Gate
	rec, err := k.DoTx(t.tx, &kernel.AnswerGate{Goal: g.Goal, Gate: g.ID, Option: say.Option, Reason: say.Reason, Digest: b.Digest, Grant: say.Grant, GrantUntil: say.GrantUntil}, kernel.Options{By: actor})
	if err != nil {
		if out.Code = refusedAs(err); out.Code == "" {
			return out, err
		}
		if it.Confirm != nil {
			it.Confirm = nil
			return out, redraw(t, r, it, g)
		}
		return out, nil
	}
	out.Code, out.Receipt, it.Confirm = "answered", rec, nil
	if err := t.put(it, tblItem, it.ID); err != nil {
		return out, err
	}
	after := r.Gate(g.Goal, g.ID) // read again through the same transaction
	if after == nil {
		return out, r.Err()
	}
	out.Gate = after
	if after.Status == kernel.GateOpen { // one of several who must agree
		out.Code = "voted"
		if !rec.Changed {
			out.Code = "already"
		}
		if b.Step == StepConfirm {
			return out, redraw(t, r, it, after)
		}
		return out, t.want(it) // its buttons still ask the same of the others
	}
	// The copies are made dirty here and not first by the projector: the person
	// who pressed is looking at one.
	return out, t.show(r, after, nil)
}

// refusedAs is a refusal of the kernel in an outcome's words; empty for an error
// that is none of the presser's.
func refusedAs(err error) string {
	ke, ok := errors.AsType[*kernel.Error](err)
	switch {
	case !ok:
		return ""
	case ke.Code == "change_late", ke.Code == "quorum_needed":
		return ke.Code
	case ke.Code == "not_decider":
		return "decided"
	case strings.HasPrefix(ke.Code, "grant_"), strings.HasPrefix(ke.Code, "bad_grant"), ke.Code == "owner_only":
		return "grant_refused"
	case ke.Class == kernel.Invalid:
		return "bad_reason"
	}
	return ""
}

// firstPress keeps a press that takes a second one.
func firstPress(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate, actor kernel.Actor, c Confirm, out Outcome) (Outcome, error) {
	c.Person, c.Until, c.Digest, c.Status = actor.ID, r.Steady()+confirmMS, g.Digest, g.Status
	out.Code, it.Confirm = "confirm", &c
	return out, redraw(t, r, it, g)
}

// secondPress says why a press does not confirm the first one; empty when it does.
func secondPress(t *Tx, r *kernel.Reader, it *Item, g *kernel.Gate, actor kernel.Actor, b *Button) (string, error) {
	c := it.Confirm
	switch {
	case c == nil || c.Option != b.Option || c.Until < r.Steady():
		it.Confirm = nil
		return "confirm_expired", redraw(t, r, it, g)
	case c.Person != actor.ID:
		return "wrong_person", nil
	}
	return "", nil
}

// stepDecided is a press on a decided gate: it corrects the decision, or says that
// it was not theirs.
func stepDecided(t *Tx, k *kernel.Kernel, r *kernel.Reader, e chat.Event, actor kernel.Actor, b *Button, out Outcome) (Outcome, error) {
	it, g := out.Item, out.Gate
	switch b.Step {
	case StepChange, StepDisown:
		if b.Step == StepChange && g.Answer.Person != actor.ID {
			out.Code = "decided"
			return out, nil
		}
		return firstPress(t, r, it, g, actor, Confirm{Step: b.Step}, out)
	case StepBack:
		out.Code, it.Confirm = "back", nil
		return out, redraw(t, r, it, g)
	}
	if code, err := secondPress(t, r, it, g, actor, &Button{Option: it.Confirm.Option}); code != "" || err != nil {
		out.Code = code
		return out, err
	}
	if b.Step == StepConfirm {
		return runAfter(t, k, r, it, actor, &kernel.DisownAnswer{Goal: g.Goal, Gate: g.ID}, "disowned", out)
	}
	reason := strings.TrimSpace(e.Press.Values["reason"])
	if FreeAnswer(g.Options, b.Option) && reason == "" {
		out.Code = "needs_text"
		return out, nil
	}
	return runAfter(t, k, r, it, actor, &kernel.ChangeGate{Goal: g.Goal, Gate: g.ID, Option: b.Option, Reason: reason}, "changed", out)
}

// runAfter runs a command about what was decided and shows every copy again.
func runAfter(t *Tx, k *kernel.Kernel, r *kernel.Reader, it *Item, actor kernel.Actor, cmd kernel.Command, code string, out Outcome) (Outcome, error) {
	rec, err := k.DoTx(t.tx, cmd, kernel.Options{By: actor})
	it.Confirm = nil
	if err != nil {
		if out.Code = refusedAs(err); out.Code == "" {
			return out, err
		}
		if out.Code == "grant_refused" {
			out.Code = "denied"
		}
		return out, redraw(t, r, it, out.Gate)
	}
	out.Code, out.Receipt = code, rec
	if err := t.put(it, tblItem, it.ID); err != nil {
		return out, err
	}
	now := r.Gate(it.Goal, it.Gate)
	if now == nil {
		return out, r.Err()
	}
	out.Gate = now
	return out, t.show(r, now, nil)
}
