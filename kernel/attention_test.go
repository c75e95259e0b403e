package kernel_test

import (
	"testing"

	"loopx/kernel"
)

func TestSetAttention(t *testing.T) {
	w := newWorld(t)
	w.goal("ann")
	gated := w.todo("publish", 0)
	bob := w.invite("site", "observer", "UBOB")
	gate := w.gate(gated)
	attention := func() (out kernel.Attention) {
		w.read(func(r *kernel.Reader) { out = r.Person(bob).AttentionOf() })
		return out
	}
	if a := attention(); a.QuietFrom != 1320 || a.QuietTo != 480 || a.Digest != 480 || a.Budget != 8 || a.Urgent {
		t.Errorf("the defaults are %+v", a)
	}
	hour := int64(3_600_000)
	w.do(&kernel.SetAttention{Person: bob, QuietFrom: ptr(21 * 60), QuietTo: ptr(7 * 60)}, person(bob))
	w.do(&kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Goal: "site", Until: w.now + hour}}, person(bob))
	w.do(&kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Until: w.now + 2*hour}}, person(bob))
	w.do(&kernel.SetAttention{Person: bob, Snooze: &kernel.Snooze{Gate: gate, Until: w.now + hour}}, person(bob))
	if a := attention(); a.QuietFrom != 21*60 || len(a.Mutes) != 2 || a.SnoozedUntil(gate) != w.now+hour || a.SnoozedUntil("gate_other") != 0 {
		t.Errorf("it became %+v", a)
	}
	// A mute replaces the one of the same goal; one in the past lifts it.
	w.do(&kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Goal: "site", Until: w.now + 3*hour}}, person(bob))
	w.do(&kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Until: w.now - 1}}, person(bob))
	if a := attention(); len(a.Mutes) != 1 || a.Mutes[0] != (kernel.Mute{Goal: "site", Until: w.now + 3*hour}) {
		t.Errorf("the mutes are %+v", a.Mutes)
	}
	if got := w.do(&kernel.SetAttention{Person: bob, Budget: ptr(8)}, person(bob)); got["budget"] != float64(8) {
		t.Errorf("an unchanged setting answered %v", got)
	}
	w.refuse("owner_only", &kernel.SetAttention{Person: bob, Budget: ptr(1)}, person("ana"))
	w.refuse("person_not_found", &kernel.SetAttention{Person: "ghost"}, owner())
	w.refuse("bad_quiet", &kernel.SetAttention{Person: bob, QuietFrom: ptr(1)}, person(bob))
	w.refuse("bad_time_of_day", &kernel.SetAttention{Person: bob, Digest: ptr(1440)}, person(bob))
	w.refuse("bad_time_of_day", &kernel.SetAttention{Person: bob, Digest: ptr(-1)}, person(bob))
	w.refuse("bad_budget", &kernel.SetAttention{Person: bob, Budget: ptr(1001)}, person(bob))
	w.refuse("too_far", &kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Until: w.now + 31*24*hour}}, person(bob))
	w.refuse("too_far", &kernel.SetAttention{Person: bob, Snooze: &kernel.Snooze{Gate: gate, Until: w.now + 31*24*hour}}, person(bob))
	w.refuse("gate_not_found", &kernel.SetAttention{Person: bob, Snooze: &kernel.Snooze{Gate: "gate_none", Until: w.now + hour}}, person(bob))
	// What a person may not read is as if it were not there.
	w.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write", Agents: []string{"ann"}}, cli())
	w.refuse("goal_not_found", &kernel.SetAttention{Person: bob, Mute: &kernel.Mute{Goal: "blog", Until: w.now + hour}}, person(bob))
	// Putting a question off neither answers nor hides it.
	w.read(func(r *kernel.Reader) {
		if g := r.Gate("site", gate); g.Status != kernel.GateOpen || len(r.OpenGates("site", 10)) != 1 {
			t.Errorf("the gate is %s", g.Status)
		}
	})
	w.do(&kernel.AnswerGate{Goal: "site", Gate: gate, Option: "approve"}, owner())
	w.refuse("gate_closed", &kernel.SetAttention{Person: bob, Snooze: &kernel.Snooze{Gate: gate, Until: w.now + hour}}, person(bob))
	// What has passed is gone with the next change.
	w.pass(4 * hour)
	w.do(&kernel.SetAttention{Person: bob, Urgent: ptr(true)}, person(bob))
	if a := attention(); len(a.Mutes)+len(a.Snoozes) != 0 || !a.Urgent {
		t.Errorf("old mutes stayed: %+v", a)
	}
	w.replays()
}
