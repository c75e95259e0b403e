package inbox

import (
	"loopx/adapters/chat"
	"loopx/kernel/store"
)

const hourMS = 3600 * 1000

// noticesMost is how many notices to people nobody knows a connection writes in an
// hour, whoever they are.
const noticesMost = 20

// MayNotice counts one notice to somebody unknown, and says whether it may be
// written.
func MayNotice(t *Tx, connection string) (bool, error) {
	return within(t, noticesMost, hourMS, tblTry, connection, "", "notices")
}

// memberTurns is how many turns a day a member gets through a binding that is
// open to members.
const memberTurns = 10

// memberKey keeps a member's turns apart from tries of the same identity.
func memberKey(e chat.Event) []string {
	return []string{tblTry, e.Place.Connection, e.Sender.Tenant, e.Sender.ID, "turns"}
}

// MemberBudget is how many turns the sender of an event has left within 24 hours
// before now, UTC ms.
func MemberBudget(tx store.ReadTx, now int64, e chat.Event) (int, error) {
	recent, err := recent(tx, now, 24*hourMS, memberKey(e)...)
	return max(memberTurns-len(recent), 0), err
}

// MemberTurn takes one turn off a member's budget.
func MemberTurn(t *Tx, e chat.Event) error {
	_, err := within(t, memberTurns, 24*hourMS, memberKey(e)...)
	return err
}

// recent are the times noted under a key that are younger than window ms.
func recent(tx store.ReadTx, now, window int64, key ...string) ([]int64, error) {
	times, err := getRow[[]int64](tx, key...)
	out := []int64{}
	if err != nil || times == nil {
		return out, err
	}
	for _, at := range *times {
		if now-at < window && at <= now {
			out = append(out, at)
		}
	}
	return out, nil
}

// within notes that something happens now, unless it has most times within
// window ms.
func within(t *Tx, most int, window int64, key ...string) (bool, error) {
	times, err := recent(t.tx, t.now, window, key...)
	if err != nil || len(times) >= most {
		return false, err
	}
	return true, t.put(append(times, t.now), key...)
}
