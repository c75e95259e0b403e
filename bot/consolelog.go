package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"loopx/adapters/console"
	"loopx/kernel/store"
)

// consoleLog keeps the page's messages in the workspace, beside the queue rows.
type consoleLog struct{ st store.Store }

const (
	tblConsole = "cl" // time, message id -> message
	// consoleKeep is how many messages stay; older ones are dropped on a save.
	consoleKeep = 500
)

// Load implements console.Log.
func (l consoleLog) Load(ctx context.Context) ([]console.Message, error) {
	var out []console.Message
	var bad error
	err := l.st.View(ctx, func(tx store.ReadTx) error {
		out = nil
		return tx.Scan(store.Under(consoleKeep, tblConsole).Last(), func(_, v []byte) bool {
			var m console.Message
			if bad = json.Unmarshal(v, &m); bad != nil {
				bad = fmt.Errorf("%w: a page message does not decode", store.ErrCorrupt)
				return false
			}
			out = append([]console.Message{m}, out...)
			return true
		})
	})
	if err == nil {
		err = bad
	}
	return out, err
}

// Save implements console.Log.
func (l consoleLog) Save(ctx context.Context, m console.Message) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.st.Update(ctx, func(tx store.Tx) error {
		if err := tx.Put(store.Key(tblConsole, store.I64(m.At), m.ID), raw); err != nil {
			return err
		}
		var over [][]byte
		n := 0
		err := tx.Scan(store.Under(consoleKeep+8, tblConsole).Last(), func(k, _ []byte) bool {
			if n++; n > consoleKeep {
				over = append(over, append([]byte(nil), k...))
			}
			return true
		})
		if err != nil {
			return err
		}
		for _, k := range over {
			if err := tx.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}
