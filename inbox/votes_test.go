package inbox

import (
	"testing"

	"loopx/kernel"
)

// Two must agree: the first press is a vote and leaves the buttons for the
// others, the same again says so, and another person's press decides.
func TestPressIsAVote(t *testing.T) {
	for _, kind := range []string{"direction", "publish"} {
		d := newDesk(t, kind)
		mei := kernel.Actor{Kind: kernel.ByOwner, ID: "mei", Name: "Mei", Surface: "slack"}
		d.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Quorum: 2}}}, kernel.Options{By: owner})
		say := func(actor kernel.Actor) string {
			got := d.press(d.button(StepAnswer, "approve"), home, actor, true)
			if got == "confirm" {
				got = d.press(d.button(StepConfirm, "approve"), home, actor, true)
			}
			return got
		}
		for _, c := range []struct {
			actor kernel.Actor
			want  string
		}{{owner, "voted"}, {owner, "already"}, {observer, "denied"}, {mei, "answered"}} {
			if kind == "publish" && c.actor.Kind == kernel.ByPerson {
				continue
			}
			if got := say(c.actor); got != c.want {
				t.Fatalf("%s: %s is told %s, want %s", kind, c.actor.ID, got, c.want)
			}
			if a := d.answered(); (a != nil) != (c.want == "answered") {
				t.Fatalf("%s: after %s the answer is %+v", kind, c.want, a)
			}
		}
		d.close()
	}
}

// Whom the goal does not ask any more has no right, whatever their card shows.
func TestRightIsReadNow(t *testing.T) {
	d := newDesk(t, "direction")
	defer d.close()
	yes := d.button(StepAnswer, "approve")
	d.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Persons: []string{"mei"}}}}, kernel.Options{By: owner})
	if got := d.press(yes, home, owner, true); got != "denied" || d.answered() != nil {
		t.Fatalf("who is not asked any more: %s, %+v", got, d.answered())
	}
}
