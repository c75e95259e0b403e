package console_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{New: surface, Cannot: map[adaptertest.Check]string{
		adaptertest.Mention:          "the page has one private conversation; everything in it addresses the bot",
		adaptertest.Group:            "the page has one private conversation",
		adaptertest.SlowConversation: "the page has one conversation",
		adaptertest.Redelivery:       "a person whose message was not taken is told so at once and sends it again",
		adaptertest.LostAnswer:       "there is no network between the page and the bot; a repeated key gives the first message",
		adaptertest.Senders:          "only people of this machine are on the page",
		adaptertest.Secrets:          "the page has no credential",
		adaptertest.SendFile:         "whoever is at the page has the folder the file lies in",
		adaptertest.Files:            "the page takes no files from a browser: whoever sits there has the folder",
		adaptertest.Pin:              "the page has its own board of every goal",
		adaptertest.React:            "the page shows beside each message how far it is",
		adaptertest.CatchUp:          "what is written while the bot is away is refused at once, so nothing is missed",
	}})
}

func surface(t *testing.T) adaptertest.Surface {
	c := console.New(console.Options{Name: "page"})
	ann, bob := console.Person(console.Owner), console.Person("viewer-b")
	here := chat.Place{Connection: "page", Conversation: console.Conversation}
	ctx, cancel := context.WithCancel(context.Background())
	var acts sync.WaitGroup
	t.Cleanup(func() { cancel(); acts.Wait() })
	changed := c.Watch(ctx)

	// The page waits for the bot's answer; in the suite people do not. One queue
	// keeps what they do in order.
	queue := make(chan func(), 100)
	acts.Go(func() {
		for {
			select {
			case f := <-queue:
				f()
			case <-ctx.Done():
				return
			}
		}
	})
	background := func(do func() error) adaptertest.Act {
		var acked atomic.Bool
		queue <- func() { acked.Store(do() == nil) }
		return adaptertest.Act{Acked: acked.Load}
	}
	find := func(ref chat.Ref) (console.Message, bool) {
		for _, m := range c.Messages() {
			if m.ID == ref.Message {
				return m, true
			}
		}
		return console.Message{}, false
	}
	var repeat atomic.Bool
	press := func(who chat.User, ref chat.Ref, id string, values map[string]string) (adaptertest.Act, error) {
		m, _ := find(ref)
		if err := console.Offers(m, id, values); err != nil {
			return adaptertest.Act{}, err
		}
		return background(func() error {
			if repeat.Swap(false) {
				e := chat.Event{
					Kind: chat.CardPressed, ID: "p_repeated", At: 1, Private: true, Sender: who, Place: ref.Place,
					Press: &chat.Press{Message: ref.Message, Action: id},
				}
				_, err := c.Redeliver(ctx, e)
				_, again := c.Redeliver(ctx, e)
				return errors.Join(err, again)
			}
			_, err := c.Press(ctx, who, ref.Message, id, values)
			return err
		}), nil
	}
	return adaptertest.Surface{
		Adapter: c, Ann: ann, Bob: bob, Private: here,
		Say: func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
			return background(func() error { return c.Say(ctx, who, text) }), nil
		},
		Press: func(who chat.User, ref chat.Ref, id string) (adaptertest.Act, error) {
			return press(who, ref, id, nil)
		},
		Submit: press,
		Repeat: func() { repeat.Store(true) },
		Shown: func(ref chat.Ref) (string, []string, bool) {
			m, ok := find(ref)
			if m.Card == nil {
				return chat.Visible(m.Text), nil, ok
			}
			var ids []string
			for _, b := range m.Card.Buttons {
				ids = append(ids, b.ID)
			}
			return chat.PlainText(*m.Card), ids, ok
		},
		Count: func(_ chat.Place, text string) (n int) {
			for _, m := range c.Messages() {
				if m.To == "" && strings.Contains(m.Text, text) {
					n++
				}
			}
			return n
		},
		Notices: func(who chat.User) (out []string) {
			for _, m := range c.Messages() {
				if m.To == who.ID {
					out = append(out, m.Text)
				}
			}
			return out
		},
		Changed: func() <-chan struct{} { return changed },
	}
}

// sink answers as told.
type sink func(chat.Event) (chat.Answer, error)

func (f sink) Accept(_ context.Context, e chat.Event) (chat.Answer, error) { return f(e) }

func start(t *testing.T, c *console.Console, s chat.Sink) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx, s) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

func TestNothingIsTakenWhileTheBotIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := console.New(console.Options{})
		if err := c.Say(t.Context(), console.Person(console.Owner), "hello"); !errors.Is(err, console.ErrStopped) {
			t.Errorf("Say = %v, want ErrStopped", err)
		}
		if n := len(c.Messages()); n != 0 {
			t.Errorf("%d messages are shown as sent", n)
		}
	})
}

func TestRefusedIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := console.New(console.Options{})
		start(t, c, sink(func(chat.Event) (chat.Answer, error) { return chat.Answer{}, errors.New("disk full") }))
		if err := c.Say(t.Context(), console.Person(console.Owner), "hello"); err == nil || len(c.Messages()) != 0 {
			t.Errorf("Say = %v with %d messages shown", err, len(c.Messages()))
		}
	})
}

// An answer that is written while the question is being stored stands below it.
func TestQuestionStandsAboveItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := console.New(console.Options{})
		start(t, c, sink(func(e chat.Event) (chat.Answer, error) {
			_, err := c.Send(context.Background(), chat.Outgoing{Key: "a", Place: e.Place, Text: "answer"})
			return chat.Answer{}, err
		}))
		if err := c.Say(t.Context(), console.Person(console.Owner), "question"); err != nil {
			t.Fatal(err)
		}
		if m := c.Messages(); len(m) != 2 || m[0].Text != "question" || m[1].Text != "answer" {
			t.Errorf("shown %+v", m)
		}
	})
}

func TestKeepsTheNewestAndSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := console.Memory()
		c := console.New(console.Options{Log: log})
		place := chat.Place{Conversation: console.Conversation}
		var last chat.Ref
		for i := range 250 {
			time.Sleep(time.Millisecond) // of the bubble: times differ
			ref, err := c.Send(t.Context(), chat.Outgoing{Key: string(rune('a'+i%26)) + strings.Repeat("x", i), Place: place, Text: "line"})
			if err != nil {
				t.Fatal(err)
			}
			last = ref
		}
		if n := len(c.Messages()); n != 200 {
			t.Errorf("%d messages in memory, want 200", n)
		}
		again := console.New(console.Options{Log: log})
		got, ok, err := again.Find(t.Context(), place, string(rune('a'+249%26))+strings.Repeat("x", 249), time.Time{})
		if err != nil || !ok || got.Message != last.Message {
			t.Errorf("after a restart Find = %v %v %v", got, ok, err)
		}
		ref, err := again.Send(t.Context(), chat.Outgoing{Key: string(rune('a'+249%26)) + strings.Repeat("x", 249), Place: place, Text: "line"})
		if err != nil || ref.Message != last.Message {
			t.Errorf("a repeated send gave %v %v, want the first message", ref, err)
		}
	})
}

type brokenLog struct{ console.Log }

func (brokenLog) Save(context.Context, console.Message) error { return errors.New("no space") }

func TestLogFailureIsTyped(t *testing.T) {
	c := console.New(console.Options{Log: brokenLog{console.Memory()}})
	_, err := c.Send(t.Context(), chat.Outgoing{Key: "k", Place: chat.Place{Conversation: console.Conversation}, Text: "x"})
	if chat.KindOf(err) != chat.Temporary || len(c.Messages()) != 0 {
		t.Errorf("Send = %v", err)
	}
}

// flaky is a log that loses what it is given while it is told to.
type flaky struct {
	console.Log
	down bool
}

func (f *flaky) Save(ctx context.Context, m console.Message) error {
	if f.down {
		return errors.New("cut off")
	}
	return f.Log.Save(ctx, m)
}

// once is a bot that takes each event once, as the daemon does.
type once struct{ took []string }

func (o *once) Accept(_ context.Context, e chat.Event) (chat.Answer, error) {
	if !slices.Contains(o.took, e.ID) {
		o.took = append(o.took, e.ID)
	}
	return chat.Answer{}, nil
}

// What is said again under its id, because nobody knows whether it arrived, is
// said once; an id is good for one message.
func TestSaidOnce(t *testing.T) {
	log, bot := &flaky{Log: console.Memory()}, &once{}
	c := console.New(console.Options{Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	changed := c.Watch(ctx)
	go func() { done <- c.Run(ctx, bot) }()
	for c.Health().State != chat.Ready {
		select {
		case <-changed:
		case <-time.After(time.Millisecond):
		}
	}
	who, id := console.Person(console.Owner), "m_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	log.down = true
	if _, err := c.SayIn(ctx, who, console.Words{ID: id, Text: "publish it"}); err == nil {
		t.Fatal("nobody knows, and it is said to be said")
	}
	log.down = false
	for range 2 {
		if got, err := c.SayIn(ctx, who, console.Words{ID: id, Text: "publish it"}); err != nil || got != id {
			t.Fatalf("again: %s %v", got, err)
		}
	}
	if n := len(c.Messages()); n != 1 || len(bot.took) != 1 {
		t.Fatalf("%d messages, taken as %q", n, bot.took)
	}
	for text, id := range map[string]string{"hold it": id, "publish it": "m_short", "x": "n_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "y": "m_ABCDEFGHIJKLMNOPQRSTUVWXY/"} {
		if _, err := c.SayIn(ctx, who, console.Words{ID: id, Text: text}); chat.KindOf(err) != chat.Invalid {
			t.Errorf("%q under %s: %v", text, id, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
