package console_test

import (
	"context"
	"testing"
	"testing/synctest"

	"loopx/adapters/chat"
	"loopx/adapters/console"
)

// slow is a log that asks for the health while it saves, as somebody does who
// holds the store meanwhile.
type slow struct {
	console.Log
	c    **console.Console
	seen chat.HealthState
}

func (l *slow) Save(ctx context.Context, m console.Message) error {
	l.seen = (*l.c).Health().State
	return l.Log.Save(ctx, m)
}

// Who holds the store may ask how the page is while it waits to save a message:
// the two locks are never taken in both orders.
func TestHealthWaitsForNoSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *console.Console
		l := &slow{Log: console.Memory(), c: &c}
		c = console.New(console.Options{Log: l})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, nil) }()
		synctest.Wait()
		if _, err := c.Send(ctx, chat.Outgoing{Key: "k", Place: chat.Place{Connection: "console", Conversation: console.Conversation}, Text: "x"}); err != nil {
			t.Error(err)
		}
		if l.seen != chat.Starting && l.seen != chat.Ready {
			t.Errorf("the health was %q", l.seen)
		}
		stop()
		<-done
	})
}
