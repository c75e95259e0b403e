package bot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// awayLong is how long the bot may be away before an owner with open decisions is
// told so although no message was missed.
const awayLong = 30 * time.Minute

// aliveEvery is how often the daemon notes that it is there.
const aliveEvery = 30 * time.Second

// aliveFile is touched while the daemon runs: how old it is says since when
// nobody listened.
func aliveFile(home string) string { return filepath.Join(home, "alive") }

// lastAlive is when a daemon of this folder was there last, UTC ms, 0 for never.
func lastAlive(home string) int64 {
	info, err := os.Stat(aliveFile(home))
	if err != nil {
		return 0
	}
	return info.ModTime().UnixMilli()
}

// touchAlive notes that the daemon is there.
func touchAlive(home string, now time.Time) error {
	err := os.Chtimes(aliveFile(home), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(aliveFile(home), nil, 0o600)
	}
	return err
}

// missed stores a message that came too late, and tells those who may admit it.
func missed(s *sink, tx store.Tx, m *inbox.Mail, r *kernel.Reader, e chat.Event, person string, v routing.Verdict) error {
	d, err := m.Miss(e, s.platform, person, v)
	if err != nil {
		return err
	}
	from, to := s.state.down, s.state.since
	if from == 0 || e.At > to { // it came late for another reason
		from, to = 0, r.Now()
	}
	for _, spot := range owners(r, d.Goal, known(s)) {
		if err := inbox.AddAway(inbox.Over(tx), spot, from, to, d.ID); err != nil {
			return err
		}
	}
	return r.Err()
}

// known are the connections there are.
func known(s *sink) map[string]bool {
	out := map[string]bool{}
	if s.state.connections != nil {
		for _, c := range s.state.connections() {
			out[c.Name] = true
		}
	}
	return out
}

// owners are the places where those who own a goal are told something that is no
// decision: the preferred private conversation of each, and the page for the
// owner of this machine.
func owners(r *kernel.Reader, goal string, known map[string]bool) []inbox.Spot {
	out := []inbox.Spot{}
	if known[consoleName] {
		out = append(out, inbox.Spot{Place: chat.Place{Connection: consoleName, Conversation: console.Conversation}, Person: "owner"})
	}
	people := []string{"owner"}
	for _, v := range r.RolesOf(goal) {
		if v.Person != "owner" && kernel.Includes(v.Role, kernel.RoleOwner) {
			people = append(people, v.Person)
		}
	}
	for _, id := range people {
		p := r.Person(id)
		if !p.Active() {
			continue
		}
		if spots := privately(r, p, known); len(spots) > 0 {
			out = append(out, spots[0])
		}
	}
	return out
}

// wasAway tells the owner after a long absence that decisions still wait and that
// presses did not arrive, also where no message was missed.
func wasAway(ctx context.Context, e *engine, from, to int64) error {
	if from == 0 || time.Duration(to-from)*time.Millisecond < awayLong {
		return nil
	}
	known := map[string]bool{}
	for _, c := range e.conns {
		known[c.name] = true
	}
	return e.k.Store().Update(ctx, func(tx store.Tx) error {
		r, err := e.k.ReaderOf(tx)
		if err != nil {
			return err
		}
		p := r.Person("owner")
		if !p.Active() || len(waitingFor(r, p)) == 0 {
			return r.Err()
		}
		for _, s := range owners(r, "", known) {
			if err := inbox.AddAway(inbox.Over(tx), s, from, to, ""); err != nil {
				return err
			}
		}
		return r.Err()
	})
}

// waitingFor are the codes of the open decisions a person may make, at most a
// dozen.
func waitingFor(r *kernel.Reader, p *kernel.Person) []string {
	var out []string
	by := inbox.PersonActor(p, "")
	for _, goal := range r.Goals(1000) {
		for _, g := range r.OpenGates(goal.ID, digestGates) {
			if !g.Expired(r.Now()) && r.MayAnswer(g, by) == nil && len(out) < 12 {
				out = append(out, g.Code)
			}
		}
	}
	return out
}

// awayCard draws a summary of the time away as things are now.
func awayCard(r *kernel.Reader, it *inbox.Item, zone *time.Location) (chat.Card, error) {
	p := r.Person(it.Person)
	a := cards.AwayCopy{Lang: languageOf(r, it.Person), From: it.Gone.From, To: it.Gone.To, Now: r.Now(), Zone: prefsOf(p, zone).Zone, More: it.Gone.More}
	if p != nil {
		a.Gates = waitingFor(r, p)
	}
	for _, id := range it.Gone.Messages {
		v, err := inbox.LoadMessage(r.Tx(), id)
		if err != nil {
			return chat.Card{}, err
		}
		d, err := inbox.LoadDelivery(r.Tx(), id)
		if err != nil {
			return chat.Card{}, err
		}
		m := cards.MissedMessage{State: "gone"}
		if v != nil && d != nil && !v.Gone && v.Forgot == "" {
			m = cards.MissedMessage{From: v.Sender.Name, Agent: d.Agent, At: v.At, Text: v.Text, Files: len(v.Attachments), State: inbox.Missed}
			if by := r.Person(v.Person); by != nil && by.Name != "" {
				m.From = by.Name
			}
			if g := r.Goal(d.Goal); g != nil {
				m.Goal = g.Title
			}
			switch {
			case d.Reason != inbox.Missed:
				m.State = "given"
			case d.Goal == "":
				m.State = "command"
			}
		}
		a.Messages = append(a.Messages, m)
	}
	for _, b := range it.Buttons {
		x := cards.Action{ID: b.ID, Step: b.Step}
		if b.Step == inbox.StepAdmit {
			x.Option = strconv.Itoa(slices.Index(it.Gone.Messages, b.Option) + 1)
		}
		a.Actions = append(a.Actions, x)
	}
	return cards.Away(a), r.Err()
}
