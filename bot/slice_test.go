package bot

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/slack"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// rig is an engine on the model store with one simulated Slack.
type rig struct {
	t   *testing.T
	sim *slacksim.Server
	k   *kernel.Kernel
	e   *engine
}

const wei = "U0WEI"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, sim: slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}})}
	t.Cleanup(r.sim.Close)
	st := storetest.NewModel(func() int64 { return time.Now().UnixMilli() })
	t.Cleanup(func() { _ = st.Close() })
	var err error
	if r.k, err = kernel.Open(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	log := slog.New(slog.DiscardHandler)
	a, err := slack.New(slack.Config{Name: "work", AppToken: chat.NewSecret(r.sim.AppToken()), BotToken: chat.NewSecret(r.sim.BotToken()), BaseURL: r.sim.APIURL(), Sim: true, Logger: log})
	if err != nil {
		r.t.Fatal(err)
	}
	at := &attend{k: r.k, zone: time.UTC}
	r.e = &engine{k: r.k, log: log, now: time.Now, attend: at}
	r.e.conns = []*connection{{
		name: "work", platform: chat.Slack, adapter: a, sink: &sink{k: r.k, platform: chat.Slack, log: log},
		outbox: &outbox{k: r.k, name: "work", adapter: a, zone: time.UTC, now: time.Now, attend: at, log: log, lineup: newLineup(a.Caps())},
	}}
	r.e.startWriters()
	r.e.startAdapters()
	r.t.Cleanup(r.stop)
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.e.stop(ctx); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	if err := r.sim.Wait(ctx, cond); err != nil {
		r.t.Fatalf("%s: never happened; Wei sees %v", what, r.sim.Messages(r.sim.DM(wei)))
	}
}

func (r *rig) do(cmd kernel.Command, opt kernel.Options) kernel.Receipt {
	r.t.Helper()
	rec, err := r.k.Do(r.t.Context(), cmd, opt)
	if err != nil {
		r.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	return rec
}

var (
	asOwner = kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "Wei", Surface: "cli"}}
	asCLI   = kernel.Options{By: kernel.Actor{Kind: kernel.ByCLI, Surface: "cli"}}
)

// link links Wei through a code typed privately and confirmed locally.
func (r *rig) link() {
	r.t.Helper()
	r.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	r.sim.Say(wei, r.sim.DM(wei), "abcde-fghjk")
	r.until("the code is answered", func() bool { return len(r.sim.BotMessages(r.sim.DM(wei))) == 1 })
	r.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: r.sim.Team(), User: wei}, asOwner)
	r.do(anytime(), asOwner)
}

// anytime lets the owner be asked whatever the time of day a test runs at.
func anytime() *kernel.SetAttention {
	return &kernel.SetAttention{Person: "owner", QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)}
}

// gate opens a goal with one gated todo and returns the card once Wei sees it.
func (r *rig) gate(kind string) slacksim.Message {
	r.t.Helper()
	r.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder"}}, asCLI)
	r.do(&kernel.AddTodo{Goal: "site", Title: "publish"}, asCLI)
	var id string
	_ = r.k.Read(r.t.Context(), func(v *kernel.Reader) error { id = v.List("site", kernel.ListReady, "", 1)[0].ID; return nil })
	r.do(&kernel.OpenGate{Goal: "site", Agent: "builder", Question: "Publish the new pricing page?", Why: "Checks pass", Kind: kind, Todos: []string{id},
		Options: []kernel.Option{{ID: "go", Label: "Publish", Consequence: "goes live at once", Outcome: kernel.Approve}, {ID: "hold", Label: "Hold", Outcome: kernel.Reject}}}, asCLI)
	return r.card(func(m slacksim.Message) bool { return len(m.Buttons()) > 0 })
}

func (r *rig) card(fits func(slacksim.Message) bool) slacksim.Message {
	r.t.Helper()
	var card slacksim.Message
	r.until("the card", func() bool {
		for _, m := range r.sim.BotMessages(r.sim.DM(wei)) {
			if strings.Contains(m.Shown(), "pricing page") && fits(m) {
				card = m
				return true
			}
		}
		return false
	})
	return card
}

func (r *rig) cards() (n int) {
	for _, m := range r.sim.BotMessages(r.sim.DM(wei)) {
		if strings.Contains(m.Shown(), "pricing page") {
			n++
		}
	}
	return n
}

func (r *rig) press(who, channel, ts, label string) {
	r.t.Helper()
	if _, err := r.sim.PressButton(who, channel, ts, label); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) answer() *kernel.GateAnswer {
	var a *kernel.GateAnswer
	_ = r.k.Read(r.t.Context(), func(v *kernel.Reader) error {
		for _, g := range v.Gates("site", 10) {
			a = g.Answer
		}
		return nil
	})
	return a
}

// settled says that a card can only be looked at, or its decision taken back.
func settled(m slacksim.Message) bool {
	return !slices.ContainsFunc(m.Buttons(), func(b slacksim.Button) bool { return b.Label != "Change" && b.Label != "Not me…" })
}

// The whole way of a gate: linked owner, card, press, decision, the same card
// updated without buttons, the lane resumed.
func TestGateOverSlack(t *testing.T) {
	r := newRig(t)
	r.link()
	c := r.gate("direction")
	r.press(wei, c.Channel, c.TS, "Publish")
	done := r.card(func(m slacksim.Message) bool { return settled(m) })
	if done.TS != c.TS || r.cards() != 1 {
		t.Fatalf("the decision made another card")
	}
	if !strings.Contains(done.Shown(), "Wei") || !strings.Contains(done.Shown(), "nobody is running") {
		t.Fatalf("the decided card reads %s", done.Shown())
	}
	if a := r.answer(); a == nil || a.Option != "go" || a.Surface != "slack" || a.Name != "Wei" {
		t.Fatalf("answer %+v", a)
	}
	r.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Claim: true}, asCLI)
	r.card(func(m slacksim.Message) bool { return strings.Contains(m.Shown(), "taken by builder") })
}

// Protected kinds take two presses, and yes and no weigh the same.
func TestProtectedTakesTwoPresses(t *testing.T) {
	r := newRig(t)
	r.link()
	c := r.gate("publish")
	r.press(wei, c.Channel, c.TS, "Publish…")
	c = r.card(func(m slacksim.Message) bool { return strings.Contains(m.Shown(), "confirm") && len(m.Buttons()) == 2 })
	if r.answer() != nil {
		t.Fatal("one press decided a protected gate")
	}
	r.press(wei, c.Channel, c.TS, "Confirm: Publish")
	r.card(func(m slacksim.Message) bool { return settled(m) })
	if a := r.answer(); a == nil || a.Option != "go" {
		t.Fatalf("answer %+v", a)
	}
}

// B24: a person without the right is told so privately and nothing is consumed.
// Only Wei can see a card in Wei's private chat, so the right is taken away
// between the card and the press.
func TestB24_NoRightNoEffect(t *testing.T) {
	r := newRig(t)
	r.link()
	c := r.gate("direction")
	who := &kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: r.sim.Team(), User: wei}
	revoke := *who
	revoke.Revoke = true
	r.do(&revoke, asOwner)
	r.press(wei, c.Channel, c.TS, "Publish")
	r.until("the private notice", func() bool { return len(r.sim.Ephemeral(wei)) > 0 })
	if got := r.sim.Ephemeral(wei)[0].Shown(); !strings.Contains(got, "Ask Wei to add you") {
		t.Fatalf("the notice reads %q", got)
	}
	if a := r.answer(); a != nil {
		t.Fatalf("somebody without the right decided: %+v", a)
	}
}

// Answered by the CLI while the bot is down: the card is updated once when it
// returns, and a press on the old buttons is told who decided.
func TestAnsweredWhileDown(t *testing.T) {
	r := newRig(t)
	r.link()
	c := r.gate("direction")
	r.stop()
	var gate string
	_ = r.k.Read(t.Context(), func(v *kernel.Reader) error { gate = v.OpenGates("site", 1)[0].ID; return nil })
	r.do(&kernel.AnswerGate{Gate: gate, Option: "hold"}, asOwner)
	before := len(r.sim.Calls("chat.update"))
	r.start()
	r.card(func(m slacksim.Message) bool { return settled(m) && strings.Contains(m.Shown(), "Hold") })
	if n := len(r.sim.Calls("chat.update")) - before; n != 1 {
		t.Fatalf("the card was updated %d times", n)
	}
	_ = c
}

// The send's answer is lost: the card is found, not sent again.
func TestUnknownOutcomeIsLookedUp(t *testing.T) {
	r := newRig(t)
	r.link()
	r.sim.Inject(slacksim.Fault{Method: "chat.postMessage", Kind: slacksim.FaultWriteReset})
	r.gate("direction")
	wake := r.k.Store().Watch(t.Context())
	for sent := false; !sent; {
		_ = r.k.Store().View(t.Context(), func(tx store.ReadTx) error {
			due, _, err := inbox.Next(tx, "work", time.Now().Add(time.Hour).UnixMilli(), 10)
			sent = err == nil && len(due) == 0
			return err
		})
		if !sent {
			select {
			case <-wake:
			case <-time.After(10 * time.Second):
				t.Fatal("the send is never recorded")
			}
		}
	}
	if n := r.cards(); n != 1 {
		t.Fatalf("Wei sees %d cards", n)
	}
}
