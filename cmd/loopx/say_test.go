package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loopx/adapters/chat"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
	"loopx/routing"
)

// servedKernel is where a script's daemon leaves its kernel for say.
type servedKernel struct{}

// say is `say VAR GOAL AGENT SESSION steer|queue|inbox TEXT [TURN]`: a message as
// the bot admits it after its verdict. Its id goes into VAR.
func say(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 6 {
		ts.Fatalf("usage: say VAR GOAL AGENT SESSION steer|queue|inbox TEXT [TURN]")
	}
	k, done := scriptKernel(ts)
	defer done()
	actions := map[string]routing.Action{"steer": routing.Steer, "queue": routing.Queue, "inbox": routing.Inbox}
	n, _ := strconv.Atoi(ts.Getenv("SAID"))
	ts.Setenv("SAID", strconv.Itoa(n+1))
	place := chat.Place{Connection: "work", Conversation: "C1", Thread: "T1"}
	e := chat.Event{Kind: chat.MessageSent, ID: fmt.Sprint("e", n), Place: place, At: time.Now().UnixMilli(), Sender: chat.User{Kind: chat.Human, Tenant: "T", ID: "U0WEI"},
		Message: &chat.Message{ID: fmt.Sprint("m", n), Text: args[5]}}
	v := routing.Verdict{Action: actions[args[4]], Reason: "mention", Text: args[5], Target: routing.Target{Goal: args[1], Agent: args[2], Session: args[3]},
		Place: routing.ReplyPlace{Place: place, Mode: routing.ReplyThread}}
	if len(args) > 6 {
		v.Target.Turn = args[6]
	}
	ts.Check(k.Store().Update(context.Background(), func(tx store.Tx) error {
		m, err := inbox.MailOver(tx, k)
		if err != nil {
			return err
		}
		d, err := m.Admit(e, chat.Slack, "", v)
		if err == nil {
			ts.Setenv(args[0], d.ID)
		}
		return err
	}))
}

// scriptKernel is the kernel of a script's daemon, or one on its state file until
// done is called.
func scriptKernel(ts *testscript.TestScript) (k *kernel.Kernel, done func()) {
	if k, ok := ts.Value(servedKernel{}).(*kernel.Kernel); ok {
		return k, func() {}
	}
	home, err := client.FindHome(ts.Getenv("LOOPX_HOME"), func(string) string { return "" })
	ts.Check(err)
	st, err := bolt.Open(home.DB(), bolt.Options{LockTimeout: 5 * time.Second})
	ts.Check(err)
	k, err = kernel.Open(context.Background(), st, client.SystemClock{})
	ts.Check(err)
	return k, func() { ts.Check(st.Close()) }
}

// reach is `reach CONNECTION up|down|gone [FIX]`: how the bot found a connection.
func reach(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: reach CONNECTION up|down|gone [FIX]")
	}
	k, done := scriptKernel(ts)
	defer done()
	c := &kernel.NoteReach{Connection: args[0], Platform: "slack", State: args[1]}
	if len(args) > 2 {
		c.Fix = args[2]
	}
	_, err := k.Do(context.Background(), c, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "bot"}})
	ts.Check(err)
}
