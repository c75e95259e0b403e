package storetest_test

import (
	"bytes"
	"testing"

	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

func modelHarness() storetest.Harness {
	return storetest.Harness{
		Volatile: true,
		Open: func(_ testing.TB, _ string, clock func() int64) store.Store {
			return storetest.NewModel(clock)
		},
		Restore: func(t testing.TB, _ string, backup []byte, clock func() int64) store.Store {
			s, err := storetest.LoadModel(bytes.NewReader(backup), clock)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
}

func TestModel(t *testing.T) { storetest.Run(t, modelHarness()) }
