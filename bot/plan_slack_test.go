package bot

import (
	"strings"
	"testing"
	"time"

	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
	"loopx/kernel/store/storetest"
)

// The whole way on Slack: an owner types an invitation, confirms it on its card,
// and the invited person accepts in a conversation of his own. The bot is stopped
// and started between the steps.
func TestInvitationOnSlack(t *testing.T) {
	r := &rig{t: t, sim: slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}, {ID: bob, Name: "Bob", Kind: slacksim.Member}}})}
	t.Cleanup(r.sim.Close)
	st := storetest.NewModel(func() int64 { return time.Now().UnixMilli() })
	t.Cleanup(func() { _ = st.Close() })
	var err error
	if r.k, err = kernel.Open(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.link()
	r.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	find := func(dm, words string, buttons int) (card slacksim.Message) {
		t.Helper()
		r.until(words, func() bool {
			for _, m := range r.sim.BotMessages(dm) {
				if strings.Contains(m.Shown(), words) && len(m.Buttons()) == buttons {
					card = m
					return true
				}
			}
			return false
		})
		return card
	}
	dm, bobDM := r.sim.DM(wei), r.sim.DM(bob)
	r.sim.Say(wei, dm, "/role <@"+bob+"> approver site")
	card := find(dm, "Give a role", 2)
	r.press(wei, dm, card.TS, "Confirm")
	find(dm, "receipt r", 0)

	r.stop()
	r.start()
	r.sim.Say(bob, bobDM, "hello")
	card = find(bobDM, "approver of Homepage release", 2)
	r.press(bob, bobDM, card.TS, "Accept")
	find(bobDM, "Invitation", 0)
	_ = r.k.Read(t.Context(), func(v *kernel.Reader) error {
		roles := v.RolesOf("site")
		if len(roles) != 1 || v.RoleOf("site", roles[0].Person) != kernel.RoleApprover {
			t.Errorf("the roles are %+v", roles)
		}
		return nil
	})
	// What cannot be read is answered with how it is written.
	r.sim.Say(bob, bobDM, "/role site")
	find(bobDM, "/role @PERSON ROLE GOAL", 0)
	r.sim.Say(bob, bobDM, "/role list site")
	find(bobDM, "Bob  approver", 0)
}
