package bot

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// cardsOf are the copies of a gate's card.
func (o *night) cardsOf(gate string) (out []*inbox.Item) {
	o.t.Helper()
	o.read(func(r *kernel.Reader) {
		list, err := inbox.Copies(r.Tx(), "site", gate)
		if err != nil {
			o.t.Fatal(err)
		}
		out = list
	})
	return out
}

// With 200 cards open, and more on their way than a minute takes, one press is
// shown on every copy of its gate at once: before anything else in the queue, one
// edit a copy, and on nothing else.
func TestPressGoesFirst(t *testing.T) {
	inNightAt(t, 600, func(o *night) {
		o.link("owner", "Wei", "home", "UWEI2", "DWEI2")
		o.do(anytime())
		var todos []string
		for range 300 {
			o.do(&kernel.AddTodo{Goal: "site", Title: "work", Priority: new(1)})
			todos = append(todos, o.newest("site"))
		}
		ask := func(from, to int) {
			for i := from; i < to; i++ {
				o.do(&kernel.OpenGate{Goal: "site", Question: fmt.Sprintf("Question %d?", i), Kind: "direction", Todos: todos[i : i+1]})
			}
		}
		ask(0, 200)
		o.until(1, 0, 1)
		var gate string
		o.read(func(r *kernel.Reader) { gate = r.OpenGates("site", 500)[77].ID })
		cards := o.cardsOf(gate)
		if len(cards) != 2 || cards[0].Message == "" || cards[1].Message == "" {
			t.Errorf("the copies are %+v", cards)
			return
		}
		if a, b := len(o.work.seen().sends), len(o.home.seen().sends); a != 200 || b != 200 {
			t.Errorf("%d and %d cards are outside", a, b)
		}
		ask(200, 300) // half of them have to wait
		synctest.Wait()
		before := map[*scripted]int{o.work: len(o.work.wrote), o.home: len(o.home.wrote)}
		pressed := time.Now()
		c := cards[slices.IndexFunc(cards, func(it *inbox.Item) bool { return it.Place.Connection == "work" })]
		conn := o.e.conns[slices.IndexFunc(o.e.conns, func(c *connection) bool { return c.name == "work" })]
		if _, err := conn.sink.Accept(t.Context(), chat.Event{
			Kind: chat.CardPressed, ID: "press", Place: c.Place, At: pressed.UnixMilli(), Private: true,
			Sender: chat.User{Tenant: "T1", ID: "UWEI", Kind: chat.Human}, Press: &chat.Press{Message: c.Message, Action: c.Buttons[0].ID},
		}); err != nil {
			t.Fatal(err)
		}
		o.until(1, 0, 2)
		for _, it := range cards {
			a := map[string]*scripted{"work": o.work, "home": o.home}[it.Place.Connection]
			a.mu.Lock()
			after := a.wrote[before[a]:]
			a.mu.Unlock()
			if len(after) == 0 || !after[0].edit || after[0].key != it.Key {
				t.Errorf("%s wrote something else first: %+v", it.Place.Connection, after[:min(3, len(after))])
				continue
			}
			if late := after[0].at.Sub(pressed); late >= time.Second {
				t.Errorf("%s shows it %s later", it.Place.Connection, late)
			}
			edits := 0
			for _, w := range after {
				if w.edit {
					edits++
				}
			}
			if edits != 1 {
				t.Errorf("%s was edited %d times", it.Place.Connection, edits)
			}
		}
		// The rest came too, after it.
		if n := len(o.work.seen().sends); n != 300 {
			t.Errorf("%d cards are outside", n)
		}
		_ = o.k.Store().View(t.Context(), func(tx store.ReadTx) error { // nothing is left behind
			queue, err := inbox.Owed(tx, "work", 1000)
			if err != nil || slices.ContainsFunc(queue, func(it *inbox.Item) bool { return it.Pressed }) {
				t.Errorf("the queue is %v, %v", queue, err)
			}
			return nil
		})
	})
}

// However many gates are open, a change of who is asked is shown on all of them:
// in pieces that fit a transaction, and not by one that never commits.
func TestManyGatesAndOneMore(t *testing.T) {
	inNightAt(t, 6000, func(o *night) {
		o.link("owner", "Wei", "home", "UWEI2", "DWEI2")
		o.do(anytime())
		o.do(&kernel.ConfigureGoal{Goal: "site", Ask: &map[string]kernel.Asked{"any": {Role: kernel.RoleApprover}}})
		var todos []string
		for range 400 {
			o.do(&kernel.AddTodo{Goal: "site", Title: "work", Priority: new(1)})
			todos = append(todos, o.newest("site"))
		}
		for i := range todos {
			o.do(&kernel.OpenGate{Goal: "site", Question: fmt.Sprintf("Question %d?", i), Kind: "direction", Todos: todos[i : i+1]})
		}
		o.until(1, 0, 1)
		ana := o.invite("site", kernel.RoleApprover, "UANA", "DANA")
		o.do(&kernel.SetAttention{Person: ana, QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)})
		o.until(1, 0, 2)
		o.work.mu.Lock()
		n := 0
		for _, m := range o.work.outs {
			if m.Place.Conversation == "DANA" && m.Card != nil {
				n++
			}
		}
		o.work.mu.Unlock()
		if n != 400 {
			t.Errorf("Ana is asked %d of 400", n)
		}
	})
}
