package kernel

import (
	"strconv"
	"strings"

	"loopx/kernel/store"
)

// Clock gives the two times a workspace needs. Boot identifies the current boot
// and BootMS counts from it, suspend included; Boot may be empty where the
// system offers neither, and then the wall clock alone is used.
type Clock interface {
	Boot() (id string, ms int64)
}

// clockRow is the time of the last commit. The steady timeline advances by the
// boot clock within one boot and by the wall clock across boots, never back.
// Deadlines that were given as durations live on it, so that a step of the wall
// clock neither ends nor extends a lease, while suspend does count.
type clockRow struct {
	Boot   string // without spaces; empty when the system has none
	BootMS int64
	Wall   int64
	Steady int64
}

// stepMS is how far the wall clock may drift from the boot clock between two
// commits before it is called a step.
const stepMS = 60_000

// steady computes the current steady time and whether the wall clock stepped.
func steady(last *clockRow, boot string, bootMS, wall int64) (now clockRow, stepped int64) {
	now = clockRow{Boot: boot, BootMS: bootMS, Wall: wall}
	if last == nil {
		now.Steady = wall
		return now, 0
	}
	byWall := max(wall-last.Wall, 0)
	if boot == "" || boot != last.Boot || bootMS < last.BootMS {
		now.Steady = last.Steady + byWall
		return now, 0
	}
	passed := bootMS - last.BootMS
	now.Steady = last.Steady + passed
	if d := (wall - last.Wall) - passed; d > stepMS || d < -stepMS {
		stepped = d
	}
	return now, stepped
}

// The row is written and read with every command, so it is plain text: boot id,
// boot ms, wall, steady.
func (c clockRow) text() []byte {
	b := make([]byte, 0, 96)
	b = append(b, c.Boot...)
	for _, n := range []int64{c.BootMS, c.Wall, c.Steady} {
		b = append(b, ' ')
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

func loadClock(tx store.ReadTx) (*clockRow, error) {
	b, err := tx.Get(store.Key(tblClock))
	if b == nil || err != nil {
		return nil, err
	}
	parts := strings.Split(string(b), " ")
	if len(parts) != 4 {
		return nil, store.ErrCorrupt
	}
	c := clockRow{Boot: parts[0]}
	for i, n := range []*int64{&c.BootMS, &c.Wall, &c.Steady} {
		if *n, err = strconv.ParseInt(parts[i+1], 10, 64); err != nil {
			return nil, store.ErrCorrupt
		}
	}
	return &c, nil
}
