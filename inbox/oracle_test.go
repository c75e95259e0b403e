package inbox

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// oracle says what presses mean in the plainest words there are: one decision,
// by one of two owners, on the buttons that stand on the card now.
type oracle struct {
	protected  bool
	option, by string // of the decision
	at         int64
	first, who string // what a first press wants, and whose it was
	until      int64
}

// press is one use of a button that stands on the card.
func (o *oracle) press(step, option, who string, now int64) {
	started, inTime := o.first != "", now <= o.until
	decide := func() { o.option, o.by, o.at, o.first = option, who, now, "" }
	begin := func(what string) { o.first, o.who, o.until = what, who, now+60_000 }
	if o.option == "" {
		switch step {
		case "answer":
			if o.protected && option == "approve" {
				begin("approve")
			} else {
				decide()
			}
		case "confirm":
			if !started || !inTime {
				o.first = ""
			} else if o.who == who {
				decide()
			}
		case "back":
			o.first = ""
		}
		return
	}
	switch {
	case step == "change" && who == o.by:
		begin("change")
	case step == "back":
		o.first = ""
	case step == "change_to" && started && !inTime:
		o.first = ""
	case step == "change_to" && started && o.who == who:
		if who == o.by && now-o.at <= 600_000 {
			decide()
		}
		o.first = ""
	}
}

// Random presses by anybody, of any button that ever was, in any place, at any
// time: the decision is always the oracle's, and nobody else's press moves it.
// For each of LOOPX_ROUNDS a thousand sequences are tried: a million in the long
// run.
func TestRandomPresses(t *testing.T) {
	rounds := 2000
	if n, err := strconv.Atoi(os.Getenv("LOOPX_ROUNDS")); err == nil {
		rounds = n * 1000
	}
	people := []kernel.Actor{owner, owner, {Kind: kernel.ByOwner, ID: "mei", Name: "Mei", Surface: "slack"}, observer, {}, {Kind: kernel.ByAgent, ID: "builder", Surface: "slack"}}
	places := []chat.Place{home, home, home, home, {Connection: "work", Conversation: "C9"}, {Connection: "other", Conversation: "D1"}}
	decided, changed := 0, 0
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(round), 7))
		kind := []string{"direction", "publish"}[rnd.IntN(2)]
		d := newDesk(t, kind)
		o := &oracle{protected: kind == "publish"}
		var ever []Button
		for range 2 + rnd.IntN(12) {
			now := d.card().Buttons
			ever = append(ever, now...)
			d.now += []int64{10, 100, 1000, 5000, 30_000, 61_000, 599_000}[rnd.IntN(7)]
			who, place := people[rnd.IntN(len(people))], places[rnd.IntN(len(places))]
			b := Button{ID: "forged"}
			switch n := rnd.IntN(8); {
			case n > 2 && len(now) > 0:
				b = now[rnd.IntN(len(now))]
			case n > 0 && len(ever) > 0:
				b = ever[rnd.IntN(len(ever))]
			}
			live := false
			for _, x := range now {
				live = live || x.ID == b.ID
			}
			before := o.option
			if live && place == home && who.Kind == kernel.ByOwner {
				o.press(b.Step, b.Option, who.ID, d.now)
			}
			code := d.press(b.ID, place, who, who.Kind != "")
			got, by := "", ""
			if a := d.answered(); a != nil {
				got, by = a.Option, a.Person
			}
			if got != o.option || by != o.by {
				t.Fatalf("round %d: %s pressed %s %s in %v and was told %s: decided %q by %q, the oracle says %q by %q", round, who.ID, b.Step, b.Option, place, code, got, by, o.option, o.by)
			}
			switch {
			case before == "" && got != "":
				decided++
			case before != got:
				changed++
			}
			switch rnd.IntN(4) {
			case 0:
				d.project()
			case 1:
				d.update(func(t *Tx) error { return t.Expire(d.k) })
				if o.until < d.now {
					o.first = ""
				}
			}
		}
		d.close()
	}
	if decided < rounds/4 || changed < rounds/100 {
		t.Errorf("of %d sequences %d decided and %d changed something: too few say anything", rounds, decided, changed)
	}
	t.Logf("%d sequences, %d decisions, %d corrections", rounds, decided, changed)
}
