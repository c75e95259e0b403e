package inbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// newPost is a workspace with one goal, two agents, and something to work on.
func newPost(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, "direction")
	t.Cleanup(d.close)
	Attach(d.k)
	d.do(&kernel.RegisterAgent{Goal: "site", Agent: "tester"}, kernel.Options{By: owner})
	d.do(&kernel.AddTodo{Goal: "site", Title: "write"}, kernel.Options{By: owner})
	d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, kernel.Options{By: owner})
	return d
}

var thread = chat.Place{Connection: "work", Conversation: "C1", Thread: "T1"}

// said is an event of Wei's with the text.
func (d *desk) said(text string) chat.Event {
	d.n++
	return chat.Event{Kind: chat.MessageSent, ID: fmt.Sprint("e", d.n), Place: thread, Sender: chat.User{Kind: chat.Human, Tenant: "T", ID: "U0WEI", Name: "Wei"}, At: d.now,
		Message: &chat.Message{ID: fmt.Sprint("m", d.n), Text: "@bot " + text}}
}

// admit delivers a message the way the bot does, with a verdict.
func (d *desk) admit(ingress routing.Action, text string, change ...func(*routing.Verdict)) *Delivery {
	d.t.Helper()
	e := d.said(text)
	v := routing.Verdict{Action: ingress, Reason: "mention", Text: text, Target: routing.Target{Goal: "site", Agent: "builder", Session: "s1"},
		Place: routing.ReplyPlace{Place: thread, Mode: routing.ReplyThread}}
	if ingress == routing.Inbox {
		v.Target.Session = ""
	}
	for _, fn := range change {
		fn(&v)
	}
	var out *Delivery
	d.mail(func(m *Mail) (err error) { out, err = m.Admit(e, chat.Slack, "owner", v); return err })
	return out
}

func (d *desk) mail(fn func(*Mail) error) {
	d.t.Helper()
	err := d.st.Update(ctx(), func(tx store.Tx) error {
		m, err := MailOver(tx, d.k)
		if err != nil {
			return err
		}
		return fn(m)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) run(cmd kernel.Command, opt kernel.Options) (kernel.Receipt, error) {
	return d.k.Do(ctx(), cmd, opt)
}

var asBuilder = kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "builder", Surface: "cli"}}

// next takes the next message of builder's session, or "".
func (d *desk) next(session string) (id string, out Leasing) {
	d.t.Helper()
	rec, err := d.run(&NextMessage{Goal: "site", Agent: "builder", Session: session}, asBuilder)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(rec.Result, &out); err != nil {
		d.t.Fatal(err)
	}
	if out.Message != nil {
		id = out.Message.ID
	}
	return id, out
}

func (d *desk) settle(id, reply string) error {
	_, err := d.run(&SettleMessage{Goal: "site", Agent: "builder", Message: id, Outcome: Adopted, Reply: reply}, asBuilder)
	return err
}

func (d *desk) delivery(id string) *Delivery {
	d.t.Helper()
	var out *Delivery
	err := d.st.View(ctx(), func(tx store.ReadTx) (err error) { out, err = LoadDelivery(tx, id); return err })
	if err != nil || out == nil {
		d.t.Fatalf("delivery %s: %v", id, err)
	}
	return out
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return kernel.AsError(err).Code
}

// answers are the texts on their way out, by place.
func (d *desk) answers() (out []string) {
	for _, it := range d.items() {
		if it.Kind == Text {
			out = append(out, it.Place.Thread+": "+it.Text)
		}
	}
	return out
}

// A queue is first in first out, one at a time, and its answer goes out once to
// the place that was frozen with the message.
func TestQueueIsAnsweredOnceInOrder(t *testing.T) {
	d := newPost(t)
	a := d.admit(routing.Queue, "first")
	b := d.admit(routing.Queue, "second")
	id, out := d.next("s1")
	if id != a.ID || out.Message.Text != "first" || out.Message.From != "U0WEI" {
		t.Fatalf("next gave %+v", out.Message)
	}
	if again, _ := d.next("s1"); again != a.ID || d.delivery(a.ID).Attempt != 1 {
		t.Fatalf("while one is out the session got %s, attempt %d", again, d.delivery(a.ID).Attempt)
	}
	if other, _ := d.next("s2"); other != "" {
		t.Fatalf("another session got %s", other)
	}
	if err := d.settle(a.ID, "done it"); err != nil {
		t.Fatal(err)
	}
	if err := d.settle(a.ID, "done it"); err != nil {
		t.Fatalf("the same again: %v", err)
	}
	if err := d.settle(a.ID, "something else"); codeOf(err) != "already_settled" {
		t.Fatalf("another answer: %v", err)
	}
	if got := d.answers(); len(got) != 1 || got[0] != "T1: builder · ship\ndone it" {
		t.Fatalf("on its way: %q", got)
	}
	if id, _ := d.next("s1"); id != b.ID {
		t.Fatalf("after the first came %s", id)
	}
}

// A dead agent's message comes back, and who lost it cannot answer any more.
func TestLeaseComesBack(t *testing.T) {
	d := newPost(t)
	a := d.admit(routing.Inbox, "look")
	if id, _ := d.next(""); id != a.ID {
		t.Fatal("no message")
	}
	if id, _ := d.next(""); id != "" {
		t.Fatalf("a leased message was given again: %s", id)
	}
	d.now += LeaseMS + 1000
	rec, err := d.run(&NextMessage{Goal: "site", Agent: "builder", Session: "s9"}, asBuilder)
	if err != nil || !strings.Contains(string(rec.Result), `"attempt":2`) {
		t.Fatalf("%s %v", rec.Result, err)
	}
	_, err = d.run(&SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: a.ID, Outcome: Adopted, Attempt: 1}, asBuilder)
	if codeOf(err) != "lease_lost" {
		t.Fatalf("the old holder: %v", err)
	}
	_, err = d.run(&SettleMessage{Goal: "site", Agent: "tester", Message: a.ID, Outcome: Adopted}, kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "tester"}})
	if codeOf(err) != "lease_lost" {
		t.Fatalf("another agent: %v", err)
	}
}

// Leases that run out again and again make a dead letter, which an owner replays.
func TestDeadLetterAndReplay(t *testing.T) {
	d := newPost(t)
	a := d.admit(routing.Inbox, "look")
	for range attempts {
		if id, _ := d.next(""); id != a.ID {
			t.Fatal("it did not come back")
		}
		d.now += LeaseMS + 1000
	}
	if id, _ := d.next(""); id != "" {
		t.Fatalf("given once more: %s", id)
	}
	if s := d.delivery(a.ID); s.State != Closed || s.Reason != Exhausted {
		t.Fatalf("it is %s %s", s.State, s.Reason)
	}
	dead := func() int {
		var v any
		err := d.k.Read(ctx(), func(r *kernel.Reader) (err error) { v, err = (&DeadMessages{Goal: "site"}).Answer(r); return err })
		if err != nil {
			t.Fatal(err)
		}
		return len(v.(MessagesView).Messages)
	}
	if dead() != 1 {
		t.Fatal("it is no dead letter")
	}
	if _, err := d.run(&ReplayMessage{Goal: "site", Message: a.ID}, asBuilder); codeOf(err) != "owner_only" {
		t.Fatalf("an agent replayed: %v", err)
	}
	if _, err := d.run(&ReplayMessage{Goal: "site", Message: a.ID}, kernel.Options{By: owner}); err != nil {
		t.Fatal(err)
	}
	if id, _ := d.next(""); id != a.ID || dead() != 0 {
		t.Fatalf("after the replay next gave %q, %d dead", id, dead())
	}
}

// An hour in the queue ends a message, and its author may queue it again.
func TestQueueExpires(t *testing.T) {
	d := newPost(t)
	a := d.admit(routing.Queue, "late")
	d.now += queueLife + 1000
	d.mail(func(m *Mail) error { _, err := m.Sweep(nil, 100); return err })
	if s := d.delivery(a.ID); s.State != Closed || s.Reason != Expired {
		t.Fatalf("it is %s %s", s.State, s.Reason)
	}
	if id, _ := d.next("s1"); id != "" {
		t.Fatal("an expired message was given out")
	}
	if got := d.pressOn(a.ID, StepQueue, owner); got != StepQueue {
		t.Fatalf("the press said %s", got)
	}
	if id, _ := d.next("s1"); id != a.ID {
		t.Fatal("it was not queued again")
	}
}

// pressOn presses a button of a message's progress card.
func (d *desk) pressOn(id, step string, by kernel.Actor) string {
	d.t.Helper()
	for _, it := range d.items() {
		if it.Kind != Progress || it.Of != id {
			continue
		}
		for _, b := range it.Buttons {
			if b.Step == step {
				var out Outcome
				e := chat.Event{Kind: chat.CardPressed, Place: it.Place, Press: &chat.Press{Message: it.Message, Action: b.ID}}
				d.update(func(tx *Tx) (err error) { out, err = tx.Press(d.k, e, by, true); return err })
				return out.Code
			}
		}
	}
	d.t.Fatalf("no button %s for %s", step, id)
	return ""
}

// A steer is told first beside the receipt of a command that names the live
// turn, again when that receipt is, and is seen by the agent's next step.
func TestSteerIsSeen(t *testing.T) {
	d := newPost(t)
	open := &kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t1", Session: "s1"}
	if rec, err := d.run(open, asBuilder); err != nil || len(rec.Steer) != 0 {
		t.Fatalf("%+v %v", rec.Steer, err)
	}
	inTurn := func(v *routing.Verdict) { v.Target.Turn = "t1" }
	a, b := d.admit(routing.Steer, "not the blue one", inTurn), d.admit(routing.Steer, "and bigger", inTurn)
	note := func(n string) *kernel.Refresh {
		return &kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t1", Note: n}
	}
	keyed := asBuilder
	keyed.Key = "k1"
	for i := range 2 { // the second call is the same: its first answer was lost
		rec, err := d.run(note("x"), keyed)
		if err != nil || len(rec.Steer) != 1 || rec.Steer[0].ID != a.ID || rec.Steer[0].Text != "not the blue one" {
			t.Fatalf("call %d: %+v %v", i, rec.Steer, err)
		}
		if s := d.delivery(a.ID); s.Step != StepDelivered {
			t.Fatalf("call %d: it is %s", i, s.Step)
		}
	}
	keyed.Key = "k2"
	rec, err := d.run(note("y"), keyed)
	if err != nil || len(rec.Steer) != 1 || rec.Steer[0].ID != b.ID || d.delivery(a.ID).Step != StepSeen {
		t.Fatalf("the next step: %+v %v, the first is %s", rec.Steer, err, d.delivery(a.ID).Step)
	}
	// The turn is replaced: what nobody acknowledged was not seen.
	if _, err := d.run(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: "t2", Session: "s1"}, asBuilder); err != nil {
		t.Fatal(err)
	}
	if s := d.delivery(b.ID); s.State != Closed || s.Reason != TurnEnded {
		t.Fatalf("the second is %s %s %s", s.State, s.Step, s.Reason)
	}
	if got := d.pressOn(b.ID, StepQueue, owner); got != StepQueue {
		t.Fatal(got)
	}
	if id, _ := d.next("s1"); id != b.ID {
		t.Fatal("it was not queued")
	}
}

// B87, corrections: what waits follows its author, what an agent has is offered.
func TestEditsAndDeletes(t *testing.T) {
	d := newPost(t)
	edit := func(e chat.Event, text string) (code string) {
		e.Kind, e.Message = chat.MessageEdited, &chat.Message{ID: e.Message.ID, Text: "@bot " + text}
		d.mail(func(m *Mail) (err error) { code, err = m.Edit(e, text); return err })
		return code
	}
	remove := func(e chat.Event) (code string) {
		e.Kind = chat.MessageDeleted
		d.mail(func(m *Mail) (err error) { code, err = m.Delete(e); return err })
		return code
	}
	event := func(n int) chat.Event {
		return chat.Event{Place: thread, Message: &chat.Message{ID: fmt.Sprint("m", n)}}
	}
	a := d.admit(routing.Queue, "one")
	first := event(d.n)
	b := d.admit(routing.Queue, "two")
	second := event(d.n)
	if got := edit(first, "one"); got != "same_text" {
		t.Fatalf("an unfurl was %s", got)
	}
	if got := edit(first, "uno"); got != Superseded {
		t.Fatal(got)
	}
	if _, out := d.next("s1"); out.Message.Text != "uno" {
		t.Fatalf("the agent got %q", out.Message.Text)
	}
	if got := edit(first, "eins"); got != "correction" {
		t.Fatal(got)
	}
	if got := remove(second); got != Withdrawn || d.delivery(b.ID).Reason != Withdrawn {
		t.Fatal(got)
	}
	if got := d.pressOn(a.ID, StepCorrect, owner); got != StepCorrect {
		t.Fatal(got)
	}
	if got := remove(first); got != "asked" {
		t.Fatal(got)
	}
	if got := d.pressOn(a.ID, StepStop, kernel.Actor{Kind: kernel.ByPerson, ID: "ana"}); got != "not_yours" {
		t.Fatal(got)
	}
	if got := d.pressOn(a.ID, StepStop, owner); got != StepStop {
		t.Fatal(got)
	}
	if err := d.settle(a.ID, "too late"); codeOf(err) != "message_closed" {
		t.Fatalf("a message that was taken back was answered: %v", err)
	}
	if id, out := d.next("s1"); id == "" || !strings.HasSuffix(out.Message.Text, ": @bot eins") {
		t.Fatalf("the correction is %+v", out.Message)
	}
	if len(d.answers()) != 0 {
		t.Fatalf("on its way: %q", d.answers())
	}
}

// The same command under the same key gives the same receipt, and the key is
// taken for nothing else.
func TestInboxReceiptsAreKept(t *testing.T) {
	d := newPost(t)
	a := d.admit(routing.Inbox, "look")
	opt := asBuilder
	opt.Key = "once"
	c := &NextMessage{Goal: "site", Agent: "builder"}
	first, err := d.run(c, opt)
	if err != nil {
		t.Fatal(err)
	}
	d.admit(routing.Inbox, "more")
	again, err := d.run(c, opt)
	if err != nil || !again.Replay || string(again.Result) != string(first.Result) || again.ID != first.ID {
		t.Fatalf("again: %+v %v", again, err)
	}
	if _, err := d.run(&NextMessage{Goal: "site", Agent: "builder", LeaseMS: 5000}, opt); codeOf(err) != "key_reused" {
		t.Fatalf("%v", err)
	}
	preview := asBuilder
	preview.Preview = true
	if _, err := d.run(&WithdrawMessage{Goal: "site", Message: a.ID}, kernel.Options{By: owner, Preview: true}); err != nil {
		t.Fatal(err)
	}
	if d.delivery(a.ID).State != Leased {
		t.Fatal("a preview withdrew it")
	}
	if _, err := d.run(&WithdrawMessage{Goal: "site", Message: a.ID}, asBuilder); codeOf(err) != "people_only" {
		t.Fatalf("an agent withdrew it: %v", err)
	}
}

// Words that taint a message taint the turn that carries it, whichever of the
// two came first.
func TestTaintedMessageTaintsTheTurn(t *testing.T) {
	d := newPost(t)
	dirty := func(v *routing.Verdict) { v.Tainted = true }
	turn := func(id string) (out *kernel.Turn) {
		_ = d.k.Read(ctx(), func(r *kernel.Reader) error { out = r.Turn("site", "builder", id); return nil })
		return out
	}
	open := func(id string) {
		d.do(&kernel.OpenTurn{Goal: "site", Agent: "builder", Turn: id, Session: "s1"}, asBuilder)
	}
	open("t1")
	a := d.admit(routing.Queue, "see the file", dirty)
	if turn("t1").Tainted {
		t.Fatal("a message nobody took tainted a turn")
	}
	if id, out := d.next("s1"); id != a.ID || !out.Message.Tainted || !turn("t1").Tainted {
		t.Fatalf("after the lease the turn is %+v", turn("t1"))
	}
	open("t2")
	if !turn("t2").Tainted {
		t.Fatal("a turn opened while the message was held is clean")
	}
	if err := d.settle(a.ID, "read it"); err != nil {
		t.Fatal(err)
	}
	open("t3")
	if turn("t3").Tainted {
		t.Fatal("a turn after the message was settled is tainted")
	}
	d.admit(routing.Steer, "and this one", dirty, func(v *routing.Verdict) { v.Target.Turn = "t3" })
	d.do(&kernel.Refresh{Goal: "site", Agent: "builder", Turn: "t3"}, asBuilder)
	if !turn("t3").Tainted {
		t.Fatal("a steer of others left its turn clean")
	}
}

// Context is kept for a week and 32 items, text for 90 days; what an unfinished
// turn has or what waits stays, and every discard has a reason.
func TestRetention(t *testing.T) {
	d := newPost(t)
	keep := func(text string) {
		e := d.said(text)
		d.now += 1000
		d.mail(func(m *Mail) error { return m.Keep(e, chat.Slack, "owner", "bind_1", "not_addressed", false) })
	}
	count := func(name string) (n uint64) {
		_ = d.st.View(ctx(), func(tx store.ReadTx) (err error) { n, err = Counter(tx, name); return err })
		return n
	}
	kept := func() (n int) {
		d.mail(func(m *Mail) error { k, err := m.kept("bind_1"); n = len(k); return err })
		return n
	}
	for i := range 40 {
		keep(fmt.Sprint("talk ", i))
	}
	if kept() != contextKept || count("context:retention_overflow") != 8 {
		t.Fatalf("%d are kept, %d overflowed", kept(), count("context:retention_overflow"))
	}
	a := d.admit(routing.Turn, "what now?", func(v *routing.Verdict) {
		v.Target.Binding, v.Target.Goals = "bind_1", []string{"site"}
	})
	waits := d.admit(routing.Inbox, "for later")
	if _, out := d.next("s1"); len(out.Context) != contextGiven || out.Context[7].Text != "@bot talk 39" {
		t.Fatalf("the turn was given %+v", out.Context)
	}
	retain := func() {
		d.mail(func(m *Mail) error {
			_, err := m.Retain(nil, 1000)
			if err == nil {
				_, err = m.RetainKept(nil, 1000)
			}
			return err
		})
	}
	d.now += contextKeep + 60_000
	retain()
	if kept() != contextGiven || count("context:retention_expired") != contextKept-contextGiven {
		t.Fatalf("%d are kept, %d expired", kept(), count("context:retention_expired"))
	}
	if id, out := d.next("s1"); id != a.ID || len(out.Context) != contextGiven {
		t.Fatalf("the retry was given %d messages", len(out.Context))
	}
	if err := d.settle(a.ID, ""); err != nil {
		t.Fatal(err)
	}
	d.now += textKeep
	retain()
	_ = d.st.View(ctx(), func(tx store.ReadTx) error {
		if old, err := LoadMessage(tx, a.ID); err != nil || old != nil {
			t.Errorf("the text of a settled message is kept: %+v %v", old, err)
		}
		if old, err := LoadMessage(tx, waits.ID); err != nil || old == nil {
			t.Errorf("a message that waits was forgotten: %v", err)
		}
		return nil
	})
	if kept() != 0 {
		t.Fatalf("%d are kept", kept())
	}
}

// A turn's context is used up only once its answer is with the platform, whole;
// an answer no platform takes is a dead letter that an owner sends again.
func TestAnswerIsDelivered(t *testing.T) {
	d := newPost(t)
	e := d.said("talk")
	d.mail(func(m *Mail) error { return m.Keep(e, chat.Slack, "owner", "bind_1", "not_addressed", false) })
	a := d.admit(routing.Turn, "what now?", func(v *routing.Verdict) { v.Target.Binding, v.Target.Goals = "bind_1", []string{"site"} })
	d.next("s1")
	if err := d.settle(a.ID, "one two"); err != nil {
		t.Fatal(err)
	}
	used := func() (out bool) {
		_ = d.st.View(ctx(), func(tx store.ReadTx) error {
			m, err := MessageOf(tx, e.Place, e.Message.ID)
			out = err == nil && m != nil && m.Used
			return err
		})
		return out
	}
	id := d.delivery(a.ID).Answer
	d.update(func(tx *Tx) error { return tx.Split(id, []string{"one ", "two"}) })
	wrote := func(id string) {
		d.update(func(tx *Tx) error { _, err := tx.Wrote(id, "out-"+id, "x", 1); return err })
	}
	wrote(id)
	if used() || d.delivery(a.ID).Delivered != 0 {
		t.Fatal("half an answer counts as delivered")
	}
	d.update(func(tx *Tx) error { return tx.Failed(id+"-1", chat.Invalid, 0, "refused") })
	if used() {
		t.Fatal("a dead answer counts as delivered")
	}
	replay := &ReplayMessage{Goal: "site", Message: a.ID}
	if _, err := d.run(replay, kernel.Options{By: owner}); err != nil {
		t.Fatalf("the dead half: %v", err)
	}
	wrote(id + "-1")
	if !used() || d.delivery(a.ID).Delivered == 0 {
		t.Fatal("the whole answer does not count as delivered")
	}
}
