package bot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
)

// Bounds of what is planned at once.
const (
	queueMost = 1000 // items looked at; what lies behind waits its turn
	batchMost = 8    // then the queue is looked at again: somebody may have pressed
	// A message that keeps failing holds those behind it in its conversation for
	// this many tries; then order gives way.
	holdTries = 4
	// All conversations of a connection together may use ten times the budget of
	// one: Slack counts a workspace, Lark and Discord an app.
	scopeTimes = 10
)

// lineup decides what of a queue goes out next: what asks or answers before
// what only shows progress, in order within a conversation, within the budget of
// the conversation and of the whole connection, and not before the platform
// said. Only the goroutine of its outbox uses it.
type lineup struct {
	perMinute int // writes to one conversation
	hold      time.Time
	scope     bucket
	places    map[string]bucket // of conversations
}

func newLineup(caps chat.Caps) *lineup {
	return &lineup{perMinute: max(caps.MaxWrite, 1), places: map[string]bucket{}}
}

// bucket is how much of a budget is left, as of a time.
type bucket struct {
	left float64
	at   time.Time
}

// filled is the bucket now; size is what a minute gives, of which five seconds
// may be saved up.
func (b bucket) filled(now time.Time, perMinute int) bucket {
	most := max(float64(perMinute)/12, 2)
	if b.at.IsZero() {
		return bucket{most, now}
	}
	return bucket{min(most, b.left+now.Sub(b.at).Minutes()*float64(perMinute)), now}
}

// until is how long it takes until so much is left.
func (b bucket) until(want float64, perMinute int) time.Duration {
	return time.Duration(max(0, (want-b.left)/float64(perMinute)*float64(time.Minute)))
}

// class orders by importance: what a finger waits for, then a question, a
// decision and an answer, then how far something is, and last how everything is.
func class(it *inbox.Item) int {
	if it.Pressed {
		return -1
	}
	switch it.Kind {
	case inbox.Progress, inbox.Line:
		return 1
	case inbox.Status:
		return 2
	}
	return 0
}

// wait makes everything wait, as the platform asked for.
func (l *lineup) wait(now time.Time, after time.Duration) {
	if until := now.Add(after); until.After(l.hold) {
		l.hold = until
	}
}

// spent notes one write to a conversation.
func (l *lineup) spent(place chat.Place, now time.Time) {
	if len(l.places) > queueMost { // those that were quiet for long are full again
		for k, b := range l.places {
			if now.Sub(b.at) > time.Minute {
				delete(l.places, k)
			}
		}
	}
	b := l.places[place.Conversation].filled(now, l.perMinute)
	b.left--
	l.places[place.Conversation] = b
	l.scope = l.scope.filled(now, l.perMinute*scopeTimes)
	l.scope.left--
}

// Bounds of a wait between two tries: the longest back-off there is, and the
// longest that a platform asks for.
const (
	tryMost  = 5 * time.Minute
	holdMost = time.Hour
	// awayMost is how long the summary of the time away waits for what comes with it.
	awayMost = 5 * time.Second
	// redrawMost is how long what is outside waits to be written anew.
	redrawMost = 5 * time.Second
)

// dueIn is how long an item waits, by the wall clock its row was written under. A
// clock that was set back since would make it wait for as long as it was ahead: a
// wait that nothing can have asked for is none. Only what waits for a person's
// hours waits for a date.
func dueIn(it *inbox.Item, wall int64) time.Duration {
	wait := time.Duration(it.Due-wall) * time.Millisecond
	most := time.Duration(0)
	switch {
	case wait <= 0:
		return 0
	case it.Tries > 0 && strings.HasPrefix(it.Why, string(chat.RateLimited)):
		most = holdMost
	case it.Tries > 0:
		most = tryMost
	case it.Kind == inbox.Away && it.Message == "":
		most = awayMost
	case it.Message != "": // so that changes that come together are one
		most = redrawMost
	case it.Person != "" && it.Message == "" && (it.Level > 0 || it.Copy):
		return wait
	}
	if wait > most {
		return 0
	}
	return wait
}

// next picks what to write now, best first, and says when to look again if
// there is nothing; 0 means that nothing is owed. The batch is written until a
// write fails. wall is the time of the rows (UTC ms), now that of the budgets,
// which no change of the clock moves.
func (l *lineup) next(queue []*inbox.Item, wall int64, now time.Time) (batch []*inbox.Item, again time.Duration) {
	soon := time.Duration(0)
	later := func(d time.Duration) {
		if d = max(d, time.Millisecond); soon == 0 || d < soon {
			soon = d
		}
	}
	if l.hold.After(now) {
		return nil, l.hold.Sub(now)
	}
	queue = slices.Clone(queue)
	slices.SortStableFunc(queue, func(a, b *inbox.Item) int {
		return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(a.Seq, b.Seq))
	})
	scope := l.scope.filled(now, l.perMinute*scopeTimes)
	left := map[string]bucket{}
	held := map[chat.Place]bool{} // somebody ahead waits for another try
	for _, it := range queue {
		first := it.Message == ""
		if wait := dueIn(it, wall); wait > 0 {
			later(wait)
			if first && class(it) == 0 && it.Tries > 0 && it.Tries < holdTries {
				held[it.Place] = true
			}
			continue
		}
		if first && held[it.Place] {
			continue // it is looked at again when the one ahead is due
		}
		b, ok := left[it.Place.Conversation]
		if !ok {
			b = l.places[it.Place.Conversation].filled(now, l.perMinute)
		}
		want := 1.0
		switch class(it) {
		case 0:
			want = 2 // the last one is kept for whoever presses a button next
		case 1:
			want = max(float64(l.perMinute)/24, 2) // half of it is kept for what matters
		}
		wait := max(b.until(want, l.perMinute), scope.until(want, l.perMinute*scopeTimes))
		if wait > 0 {
			later(wait)
			if first && class(it) <= 0 {
				held[it.Place] = true
			}
			continue
		}
		if len(batch) == batchMost {
			break
		}
		b.left--
		scope.left--
		left[it.Place.Conversation] = b
		batch = append(batch, it)
	}
	return batch, soon
}
