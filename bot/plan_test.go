package bot

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
	"loopx/routing"
)

// lobby is a sink on the model store whose clock the test moves, with a goal and
// its linked owner Wei.
type lobby struct {
	t   *testing.T
	k   *kernel.Kernel
	st  store.Store
	s   *sink
	now int64
	n   int
}

func (l *lobby) Boot() (string, int64) { return "boot", l.now }

const bob = "U0BOB"

func newLobby(t *testing.T) *lobby {
	t.Helper()
	l := &lobby{t: t, now: 1_800_000_000_000}
	l.st = storetest.NewModel(func() int64 { return l.now })
	t.Cleanup(func() { _ = l.st.Close() })
	var err error
	if l.k, err = kernel.Open(t.Context(), l.st, l); err != nil {
		t.Fatal(err)
	}
	l.s = &sink{k: l.k, platform: chat.Slack, log: slog.New(slog.DiscardHandler)}
	l.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"builder", "tester"}}, asCLI)
	l.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	l.say(wei, "D-"+wei, true, "abcde-fghjk")
	l.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: wei}, asOwner)
	return l
}

func (l *lobby) do(cmd kernel.Command, opt kernel.Options) {
	l.t.Helper()
	if _, err := l.k.Do(l.t.Context(), cmd, opt); err != nil {
		l.t.Fatalf("%s: %v", cmd.Name(), err)
	}
}

func (l *lobby) read(fn func(*kernel.Reader)) {
	l.t.Helper()
	if err := l.k.Read(l.t.Context(), func(r *kernel.Reader) error { fn(r); return nil }); err != nil {
		l.t.Fatal(err)
	}
}

// say is a message; every @id in it that is a user's is a mention.
func (l *lobby) say(who, where string, private bool, text string) {
	l.t.Helper()
	l.n++
	e := chat.Event{Kind: chat.MessageSent, ID: fmt.Sprint("e", l.n), Place: chat.Place{Connection: "work", Conversation: where}, Private: private, At: l.now,
		Sender: chat.User{Tenant: "T1", ID: who, Kind: chat.Human, Name: "name of " + who}, Message: &chat.Message{ID: fmt.Sprint("m", l.n), Text: text}}
	for _, word := range strings.Fields(text) {
		if id, ok := strings.CutPrefix(word, "@U0"); ok {
			e.Message.Mentions = append(e.Message.Mentions, chat.Mention{ID: "U0" + id, Self: id == "SELF"})
		}
	}
	if _, err := l.s.Accept(l.t.Context(), e); err != nil {
		l.t.Fatalf("%q: %v", text, err)
	}
}

func (l *lobby) press(who, where, action string) string {
	l.t.Helper()
	l.n++
	a, err := l.s.Accept(l.t.Context(), chat.Event{Kind: chat.CardPressed, ID: fmt.Sprint("e", l.n), Place: chat.Place{Connection: "work", Conversation: where}, At: l.now,
		Sender: chat.User{Tenant: "T1", ID: who, Kind: chat.Human}, Press: &chat.Press{Message: "x", Action: action}})
	if err != nil {
		l.t.Fatal(err)
	}
	return a.Notice
}

// owed are the items of a place, oldest first by what they say.
func (l *lobby) owed(where string) (plans []*inbox.Item, texts []string) {
	l.t.Helper()
	err := l.st.View(l.t.Context(), func(tx store.ReadTx) error {
		due, _, err := inbox.Next(tx, "work", l.now, 1000)
		for _, it := range due {
			switch {
			case it.Place.Conversation != where:
			case it.Kind == inbox.PlanCard:
				plans = append(plans, it)
			case it.Kind == inbox.Text:
				texts = append(texts, it.Text)
			}
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return plans, texts
}

// plan is the one open plan of a place.
func (l *lobby) plan(where string) *inbox.Item {
	l.t.Helper()
	plans, texts := l.owed(where)
	for _, it := range plans {
		if it.Plan.State == inbox.PlanOpen {
			return it
		}
	}
	l.t.Fatalf("no plan is open in %s; said were %q", where, texts)
	return nil
}

func confirm(it *inbox.Item) string { return it.Buttons[0].ID }

func (l *lobby) lastText(where string) string {
	_, texts := l.owed(where)
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// A role is invited, previewed to the owner privately, confirmed by a press, and
// accepted by the invited account privately.
func TestRoleByChat(t *testing.T) {
	l := newLobby(t)
	l.say(wei, "C1", false, "@U0SELF /role @U0BOB approver site")
	dm := "D-" + wei
	it := l.plan(dm)
	if got := strings.Join(it.Plan.Lines, "|"); !strings.Contains(got, "approver of site") || !strings.Contains(got, "accept") {
		t.Errorf("the preview says %q", got)
	}
	if got := l.lastText("C1"); got != "I answer you privately." {
		t.Errorf("in the channel stands %q", got)
	}
	l.read(func(r *kernel.Reader) {
		if len(r.RolesOf("site")) != 0 {
			t.Error("a preview changed something")
		}
	})
	// Nobody else confirms it, nowhere else, and nothing is consumed by trying.
	if got := l.press(bob, dm, confirm(it)); !strings.Contains(got, "Only who asked") {
		t.Errorf("another's press: %q", got)
	}
	if got := l.press(wei, "C1", confirm(it)); !strings.Contains(got, "copy") {
		t.Errorf("a press elsewhere: %q", got)
	}
	if got := l.press(wei, dm, confirm(it)); got != "" {
		t.Errorf("the asker's press: %q", got)
	}
	if got := l.press(wei, dm, confirm(it)); !strings.Contains(got, "settled") {
		t.Errorf("the same again: %q", got)
	}
	// Bob is nobody until he accepts.
	bobDM := "D-" + bob
	l.say(bob, bobDM, true, "hello")
	inv := l.plan(bobDM)
	if got := strings.Join(inv.Plan.Lines, "|"); got != "You are invited to be approver of Homepage release" {
		t.Errorf("the invitation says %q", got)
	}
	if got := l.press(wei, bobDM, confirm(inv)); !strings.Contains(got, "Only who asked") {
		t.Errorf("another accepts: %q", got)
	}
	l.press(bob, bobDM, confirm(inv))
	l.read(func(r *kernel.Reader) {
		v := r.RolesOf("site")
		if len(v) != 1 || r.RoleOf("site", v[0].Person) != kernel.RoleApprover {
			t.Fatalf("the roles are %+v", v)
		}
		if p := r.PrincipalsOf(v[0].Person); len(p) != 1 || p[0].Private != bobDM || p[0].Status != kernel.Linked {
			t.Errorf("Bob's accounts are %+v", p[0])
		}
	})
	// An approver gives nobody a role, and what he may not read does not exist.
	l.do(&kernel.CreateGoal{Goal: "secret", Objective: "x"}, asCLI)
	l.say(bob, bobDM, true, "/role @U0EVE owner site")
	if got := l.lastText(bobDM); !strings.Contains(got, "needs the role owner") {
		t.Errorf("an approver grants: %q", got)
	}
	l.say(bob, bobDM, true, "/configure secret title x")
	if _, texts := l.owed(bobDM); !strings.Contains(strings.Join(texts, "|"), "There is no goal secret here") {
		t.Errorf("a goal that is not his: %q", texts)
	}
	// What a person reads is what he has a role in, and no more.
	l.say(bob, bobDM, true, "/status")
	l.say(bob, bobDM, true, "/status secret")
	l.say(bob, bobDM, true, "/gates")
	l.say(bob, bobDM, true, "/to site")
	_, texts := l.owed(bobDM)
	said := strings.Join(texts, "|")
	for _, want := range []string{"Homepage release", "There is no goal secret here", "Nothing waits for you", "needs the role steerer"} {
		if !strings.Contains(said, want) {
			t.Errorf("Bob is not told %q: %q", want, said)
		}
	}
	if strings.Contains(said, "Objective  x") {
		t.Errorf("Bob reads a goal that is not his: %q", said)
	}
	l.say(wei, dm, true, "/to site builder")
	l.read(func(r *kernel.Reader) {
		if p := r.Person("owner"); p.Target == nil || *p.Target != (kernel.Target{Goal: "site", Agent: "builder"}) {
			t.Errorf("the owner's messages go to %+v", p.Target)
		}
	})
	// Taken back.
	l.say(wei, dm, true, "/role revoke @U0BOB approver site")
	l.press(wei, dm, confirm(l.plan(dm)))
	l.read(func(r *kernel.Reader) {
		if len(r.RolesOf("site")) != 0 {
			t.Error("the role is still there")
		}
	})
}

// A plan is bound to what was shown, lasts fifteen minutes, and can be dropped.
func TestPlanStaleExpiredDropped(t *testing.T) {
	l := newLobby(t)
	dm := "D-" + wei
	l.say(wei, dm, true, "/configure site title New name")
	it := l.plan(dm)
	title := "In between"
	l.do(&kernel.ConfigureGoal{Goal: "site", Title: &title}, asOwner)
	if got := l.press(wei, dm, confirm(it)); !strings.Contains(got, "has changed") {
		t.Fatalf("a press on an old plan: %q", got)
	}
	again := l.plan(dm)
	if got := l.press(wei, dm, confirm(it)); !strings.Contains(got, "out of date") {
		t.Errorf("the old button: %q", got)
	}
	l.press(wei, dm, confirm(again))
	goal := func() (g *kernel.Goal) { l.read(func(r *kernel.Reader) { g = r.Goal("site") }); return g }
	if got := goal().Title; got != "New name" {
		t.Errorf("the title is %q", got)
	}

	l.say(wei, dm, true, "/quota site 7")
	it = l.plan(dm)
	l.press(wei, dm, it.Buttons[1].ID)
	if goal().Allowed == 7 {
		t.Error("a dropped plan was done")
	}
	l.say(wei, dm, true, "/quota site 8")
	it = l.plan(dm)
	l.now += inbox.PlanMS + 1000
	if err := l.st.Update(t.Context(), func(tx store.Tx) error { return inbox.ExpirePlans(inbox.Over(tx), l.k) }); err != nil {
		t.Fatal(err)
	}
	if got := l.press(wei, dm, confirm(it)); !strings.Contains(got, "settled") {
		t.Errorf("a press after the end: %q", got)
	}
	l.say(wei, dm, true, "/quota site 9")
	it = l.plan(dm)
	l.now += inbox.PlanMS + 1000
	if got := l.press(wei, dm, confirm(it)); !strings.Contains(got, "Fifteen minutes") {
		t.Errorf("a press after the end, before the sweep: %q", got)
	}
	if got := goal().Allowed; got == 8 || got == 9 {
		t.Errorf("an expired plan set %d slots", got)
	}
	// Who lost the right meanwhile confirms nothing.
	l.say(wei, dm, true, "/quota site 6")
	it = l.plan(dm)
	l.do(&kernel.SuspendPrincipal{Platform: "slack", Connection: "work", Tenant: "T1", User: wei}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot}})
	l.press(wei, dm, confirm(it))
	if goal().Allowed == 6 {
		t.Error("a suspended account confirmed a plan")
	}
}

// Random presses by anybody, anywhere, at any time, with any button that ever
// was: a naive oracle says when the plan is done.
func TestRandomPlanPresses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLobby(t)
		dm := "D-" + wei
		l.say(wei, dm, true, "/quota site 7")
		it := l.plan(dm)
		id, asked := it.ID, l.now
		seen := map[string]inbox.Button{"forged": {}}
		state := inbox.PlanOpen
		for range rapid.IntRange(1, 12).Draw(rt, "presses") {
			_ = l.st.View(t.Context(), func(tx store.ReadTx) error { it, _ = inbox.Load(tx, id); return nil })
			for _, b := range it.Buttons {
				seen[b.ID] = b
			}
			action := rapid.SampledFrom(slices.Sorted(maps.Keys(seen))).Draw(rt, "button")
			who := rapid.SampledFrom([]string{wei, wei, bob}).Draw(rt, "who")
			where := rapid.SampledFrom([]string{dm, dm, "C1"}).Draw(rt, "where")
			l.now += int64(rapid.SampledFrom([]int{0, 60_000, 6 * 60_000}).Draw(rt, "ms"))
			if rapid.IntRange(0, 5).Draw(rt, "renamed") == 0 {
				title := fmt.Sprint("title ", l.n)
				l.do(&kernel.ConfigureGoal{Goal: "site", Title: &title}, asOwner)
			}
			b := seen[action]
			shown := ""
			l.read(func(r *kernel.Reader) { shown = fmt.Sprint(r.Goal("site").Revision) })
			before := state
			if who == wei && where == dm && b.ID != "" && state == inbox.PlanOpen {
				switch {
				case l.now-asked > inbox.PlanMS:
					state = inbox.PlanExpired
				case b.Gen != it.Gen:
				case b.Step == inbox.StepDrop:
					state = inbox.PlanCancelled
				case it.Plan.Rev != l.rev(it):
				default:
					state = inbox.PlanDone
				}
			}
			l.press(who, where, action)
			_ = l.st.View(t.Context(), func(tx store.ReadTx) error { it, _ = inbox.Load(tx, id); return nil })
			allowed := 0
			l.read(func(r *kernel.Reader) { allowed = r.Goal("site").Allowed })
			if it.Plan.State != state || (allowed == 7) != (state == inbox.PlanDone) {
				rt.Fatalf("%s pressed %+v in %s: the plan went from %s to %s with %d slots at revision %s, the oracle says %s", who, b, where, before, it.Plan.State, allowed, shown, state)
			}
		}
	})
}

// rev is what the plan's command would be bound to now.
func (l *lobby) rev(it *inbox.Item) string {
	l.t.Helper()
	seven := 7
	rec, err := l.k.Do(l.t.Context(), &kernel.ConfigureGoal{Goal: "site", Allowed: &seven}, kernel.Options{By: asOwner.By, Preview: true})
	if err != nil {
		l.t.Fatal(err)
	}
	return rec.Plan
}

// Each command becomes the kernel commands it stands for.
func TestCommandsByChat(t *testing.T) {
	l := newLobby(t)
	l.do(&kernel.AddTodo{Goal: "site", Title: "write"}, asCLI)
	l.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write"}, asCLI)
	var todo string
	l.read(func(r *kernel.Reader) { todo = r.List("site", kernel.ListReady, "", 1)[0].ID })
	owner := kernel.Actor{Kind: kernel.ByOwner, ID: "owner"}
	for _, c := range []struct{ text, want string }{
		{"/new Ship the pricing page\nby Friday", `goal.create {"goal":"ship-the-pricing-page","objective":"Ship the pricing page\nby Friday","language":"en"}`},
		{"/new 发布新页面", `goal.create {"goal":"goal","objective":"发布新页面","language":"en"}`},
		{"/stop site", `goal.pause {"goal":"site"}`},
		{"/stop all", `goal.pause {"goal":"blog"} goal.pause {"goal":"site"}`},
		{"/停止 全部", `goal.pause {"goal":"blog"} goal.pause {"goal":"site"}`},
		{"/resume site", `goal.pause {"goal":"site","resume":true}`},
		{"/configure site visibility group", `goal.configure {"goal":"site","visibility":"group"}`},
		{"/configure site objective Ship it twice", `goal.configure {"goal":"site","objective":"Ship it twice"}`},
		{"/quota site 40", `goal.configure {"goal":"site","allowed_slots":40}`},
		{"/todo site: check the links\nall of them", `todo.add {"goal":"site","title":"check the links","body":"all of them"}`},
		{"/defer " + todo + " 2h", `todo.update {"goal":"site","todo":"` + todo + `","status":"deferred","resume_when":"date:2027-01-15T10:00:00Z"}`},
		{"/assign " + todo + " tester", `todo.claim {"goal":"site","todo":"` + todo + `","agent":"tester"}`},
		{"/unlink", `link.unlink {"platform":"slack","connection":"work","tenant":"T1","user":"U0WEI"}`},
		{"/bind site", `bind.set {"platform":"slack","connection":"work","conversation":"C1","thread":"9.1","goals":["site"]}`},
		{"/bind site builder ingress=queue reply=mirror", `bind.set {"platform":"slack","connection":"work","conversation":"C1","thread":"9.1","goals":["site"],"agent":"builder","ingress":"queue","reply":"mirror"}`},
		{"/bind site role=manager goals=site,blog capture=all", `bind.set {"platform":"slack","connection":"work","conversation":"C1","thread":"9.1","role":"manager","goals":["site","blog"],"capture":"all"}`},
		{"/bind site card=status", `bind.set {"platform":"slack","connection":"work","conversation":"C1","thread":"9.1","goals":["site"],"card":"status"}`},
		{"/status pin", "No goal is bound here"},
		{"/configure site repo /etc", "Paths are set on the machine only"},
		{"/configure site color red", "I can set title"},
		{"/bind site colour=red", "I don't know colour"},
		{"/bind", "Nothing is bound here"},
		{"/grants site", "No approval stands"},
		{"/defer todo_none 2h", "There is no todo todo_none here"},
		{"/stop", "Which goal?"},
	} {
		l.read(func(r *kernel.Reader) {
			q := &request{r: r, platform: chat.Slack, actor: owner, in: routing.Parse(c.text),
				e: chat.Event{Place: chat.Place{Connection: "work", Conversation: "C1", Thread: "9.1"}, Sender: chat.User{Tenant: "T1", ID: wei}, Message: &chat.Message{}}}
			w, ok := q.wants()
			var got []string
			for _, cmd := range w.commands {
				b, _ := kernel.Marshal(cmd)
				got = append(got, cmd.Name()+" "+string(b))
			}
			said := strings.Join(got, " ") + w.text
			if strings.Contains(c.want, "{") && said != c.want || !strings.HasPrefix(said, c.want) || !ok {
				t.Errorf("%q is %q, want %q", c.text, said, c.want)
			}
		})
	}
}

// A stop needs one press and is not refused because something moved.
func TestStopByChat(t *testing.T) {
	l := newLobby(t)
	l.do(&kernel.CreateGoal{Goal: "blog", Objective: "Write"}, asCLI)
	dm := "D-" + wei
	l.say(wei, dm, true, "/stop all")
	it := l.plan(dm)
	title := "In between"
	l.do(&kernel.ConfigureGoal{Goal: "site", Title: &title}, asOwner)
	if got := l.press(wei, dm, confirm(it)); got != "" {
		t.Errorf("a stop: %q", got)
	}
	l.read(func(r *kernel.Reader) {
		for _, g := range r.Goals(10) {
			if g.Shown() != "paused" {
				t.Errorf("%s is %s", g.ID, g.Shown())
			}
		}
	})
}

// What a word for a time means depends on the zone, also where clocks change.
func TestMoments(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 28, 17, 0, 0, 0, berlin) // a Saturday; clocks go forward that night
	for _, c := range []struct {
		args routing.Args
		want string
	}{
		{routing.Args{For: 2 * 3600 * 1000}, "2026-03-28T19:00:00+01:00"},
		{routing.Args{Until: "tomorrow"}, "2026-03-29T08:00:00+02:00"},
		{routing.Args{Until: "18:00"}, "2026-03-28T18:00:00+01:00"},
		{routing.Args{Until: "09:30"}, "2026-03-29T09:30:00+02:00"},
		{routing.Args{Until: "saturday"}, "2026-04-04T08:00:00+02:00"},
		{routing.Args{Until: "next_week"}, "2026-03-30T08:00:00+02:00"},
		{routing.Args{Until: "12-03"}, "2026-12-03T08:00:00+01:00"},
		{routing.Args{Until: "01-02"}, "2027-01-02T08:00:00+01:00"},
		{routing.Args{Until: "2026-01-02"}, ""},
		{routing.Args{}, ""},
		{routing.Args{Until: "someday"}, ""},
	} {
		at, ok := momentOf(c.args, now)
		if got := at.Format(time.RFC3339); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%+v is %s %v, want %q", c.args, got, ok, c.want)
		}
	}
}
