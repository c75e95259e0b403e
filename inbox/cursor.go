package inbox

import (
	"loopx/kernel"
	"loopx/kernel/store"
)

// Cursor is the journal position up to which cards were made; there is false in
// a workspace that no daemon has served. Records behind it must stay.
func Cursor(tx store.ReadTx) (upto uint64, there bool, err error) {
	v, err := getRow[uint64](tx, tblCursor)
	if err != nil || v == nil {
		return 0, false, err
	}
	return *v, true, nil
}

// CompactBound is how far the journal may be compacted without a card being lost:
// up to a record, and to a date (UTC ms). Where no daemon has looked yet, the
// records of gates that still wait must stay for it.
func CompactBound(r *kernel.Reader, before int64) (upto uint64, date int64, err error) {
	upto, there, err := Cursor(r.Tx())
	if err != nil || there {
		return upto, before, err
	}
	const most = 10_000
	for _, g := range r.Goals(most) {
		for _, v := range r.OpenGates(g.ID, most) {
			before = min(before, v.Created)
		}
	}
	return r.Head().Seq, before, r.Err()
}
