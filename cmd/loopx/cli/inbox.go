package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"loopx/inbox"
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func inboxCmd(a *app) *cobra.Command {
	return noun("inbox", inboxNext(a), inboxSettle(a), inboxList(a), inboxWithdraw(a), inboxAdmit(a), inboxDead(a))
}

func inboxNext(a *app) *cobra.Command {
	var t turnArgs
	var lease, timeout string
	var wait bool
	c := a.verbOf("next", "take the oldest message that waits for an agent", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &t.scope)
		a.writeFlags(f)
		host, session := a.hostSession()
		f.StringVar(&t.turn, "turn-instance-id", "", "the live turn, if there is one")
		a.envFlag(f, &t.session, "session", "LOOPX_SESSION", "session of the host (else LOOPX_SESSION, else what the host says)")
		f.StringVar(&t.host, "host", host, "what runs the agent")
		f.StringVar(&t.hostSession, "host-session", session, "the host's own id of the session")
		f.StringVar(&lease, "lease", "", "how long the message is held, 1s to 24h (default 15m)")
		f.BoolVar(&wait, "wait", false, "wait until there is a message")
		f.StringVar(&timeout, "timeout", "", "with --wait: give up after this long (default: never)")
	}, func() error {
		ms, err := span("--lease", lease)
		if err != nil {
			return err
		}
		return takeMessage(a, &inbox.NextMessage{Goal: t.goal, Agent: t.agent, Session: t.sessionID(), Turn: t.turn, LeaseMS: ms}, wait, timeout)
	})
	c.Long = "Leases the oldest message that waits for the agent: nobody else gets it until it is\n" +
		"settled or the lease ends, and then it comes again. A queue gives one message at a\n" +
		"time; the same session gets the one it holds again. Without a message empty is true.\n" +
		"Everything in context is context only; the message itself stands last."
	return c
}

// takeMessage leases a message, and with wait looks again until there is one.
// Nothing is held in between.
func takeMessage(a *app, c *inbox.NextMessage, wait bool, timeout string) error {
	ms, err := span("--timeout", timeout)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := a.workspace(); err != nil {
		return err
	}
	var end <-chan time.Time
	if timeout != "" {
		t := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer t.Stop()
		end = t.C
	}
	news := &watcher{wake: make(chan struct{}, 1)}
	for first := true; ; first = false {
		if wait {
			if err := a.watchNews(ctx, news); err != nil {
				return err
			}
		}
		rec, err := a.do(c, c.Agent, "")
		var out inbox.Leasing
		switch {
		case ctx.Err() != nil:
			return kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted").Try("loopx inbox next --goal-id %s", show(c.Goal, 64))
		case err == nil:
			if err := json.Unmarshal(rec.Result, &out); err != nil {
				return kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
			}
			if !wait || !out.Empty || a.g.key != "" || rec.Preview {
				return a.out(receipt(rec), func() string { return messageText(a, rec, out) })
			}
		case first || !passing(err):
			return err
		}
		nap := time.NewTimer(news.nap(a.now(), 0))
		select {
		case <-news.wake:
		case <-nap.C:
		case <-end:
			nap.Stop()
			return kernel.Errorf(kernel.Exhausted, "wait_timeout", "no message came within %s", show(timeout, 20)).Try("loopx inbox next --goal-id %s --wait", show(c.Goal, 64))
		case <-ctx.Done():
		}
		nap.Stop()
	}
}

func messageText(a *app, rec kernel.Receipt, out inbox.Leasing) string {
	if out.Empty || out.Message == nil {
		return "No message waits.\n"
	}
	var b strings.Builder
	if len(out.Context) > 0 {
		b.WriteString(out.Note + "\n")
		for _, c := range out.Context {
			fmt.Fprintf(&b, "%s  %s  %s  %s\n%s", c.Mark, show(c.From, 40), c.ID, a.clock(c.At), quoted(c.Text))
		}
		b.WriteString("\n")
	}
	v := out.Message
	fmt.Fprintf(&b, "%s  from %s  %s\n%s", v.ID, show(v.From, 40), a.clock(v.At), quoted(v.Text))
	if v.Truncated {
		b.WriteString("  (its end was cut: a message keeps 32 KiB)\n")
	}
	b.WriteString(fileLines(v.Files))
	if v.Tainted {
		b.WriteString("  words of people nobody linked, or a file: no standing approval is used for this\n")
	}
	fmt.Fprintf(&b, "  yours until %s; then: loopx inbox settle --goal-id %s --agent-id %s --message-id %s --outcome adopted --reply TEXT\n", a.clock(v.Until), out.Goal, out.Agent, v.ID)
	if rec.Replay {
		b.WriteString("(answered before, nothing was changed now)\n")
	}
	return b.String()
}

func inboxSettle(a *app) *cobra.Command {
	var t turnArgs
	var file string
	var files []string
	c := &inbox.SettleMessage{}
	cmd := a.verbOf("settle", "end a message with its outcome and answer", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &t.scope)
		a.writeFlags(f)
		host, session := a.hostSession()
		f.StringVar(&c.Turn, "turn-instance-id", "", "the live turn, if there is one")
		a.envFlag(f, &t.session, "session", "LOOPX_SESSION", "session of the host (else LOOPX_SESSION, else what the host says)")
		f.StringVar(&t.host, "host", host, "what runs the agent")
		f.StringVar(&t.hostSession, "host-session", session, "the host's own id of the session")
		f.StringVar(&c.Message, "message-id", "", "message")
		f.StringVar(&c.Outcome, "outcome", "", "adopted, declined or deferred")
		f.StringVar(&c.Reply, "reply", "", "what the person is told, in the place the message came from")
		f.StringVar(&file, "reply-file", "", "a file with the answer, - for standard input")
		f.StringArrayVar(&files, "file", nil, "a file that is sent behind the answer, at most 20 MB; may be repeated, up to 5")
		f.IntVar(&c.Attempt, "attempt", 0, "only if this lease is still held (attempt in the answer of next)")
	}, func() error {
		c.Goal, c.Agent, c.Session = t.goal, t.agent, t.sessionID()
		if file != "" {
			if c.Reply != "" {
				return kernel.Errorf(kernel.Invalid, "usage", "the answer is given twice: with --reply and --reply-file")
			}
			text, err := replyText(a, file)
			if err != nil {
				return err
			}
			c.Reply = text
		}
		drop, err := stageFiles(a, c, files)
		if err != nil {
			return err
		}
		rec, err := a.do(c, c.Agent, "")
		if err != nil || rec.Preview {
			drop(err)
		}
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string {
			text := show(c.Message, 60) + " is settled: " + c.Outcome
			if resultOf(rec, "reply") == "owed" {
				text += "; the answer is on its way"
			}
			return said(rec, text)
		})
	})
	cmd.Long = "Ends the message the agent holds. The answer goes to the place the message came\n" +
		"from, once, as soon as loopx-bot runs. The same outcome and answer again change\n" +
		"nothing. A lease that somebody else has by now is refused as lease_lost."
	return cmd
}

// replyText reads a text from a file or from standard input.
func replyText(a *app, file string) (string, error) {
	in := a.opt.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", kernel.Errorf(kernel.Invalid, "bad_file", "the file %s cannot be read", show(file, 120))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	const most = 150_000
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return "", kernel.Errorf(kernel.Invalid, "bad_file", "the file %s cannot be read", show(file, 120))
	case len(b) > most:
		return "", kernel.Errorf(kernel.Invalid, "too_long", "an answer has at most %d bytes", most).Try("put the rest where people can read it, and say where")
	}
	return string(b), nil
}

func inboxList(a *app) *cobra.Command {
	var s scope
	var all bool
	return a.verbOf("list", "what waits in queues and the inbox of a goal", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		f.BoolVar(&all, "all", false, "the whole list")
	}, func() error {
		v, raw, err := askRaw[inbox.MessagesView](a, &inbox.Messages{Goal: s.goal, Agent: s.agent, Limit: 200})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Messages) == 0 {
				return "No message waits.\n"
			}
			return a.screen(messageRows(a, v), all, "loopx inbox list --goal-id "+v.Goal+" --all")
		})
	})
}

func messageRows(a *app, v inbox.MessagesView) [][]string {
	rows := make([][]string, 0, len(v.Messages))
	for _, m := range v.Messages {
		state := m.State
		switch {
		case m.Reason != "":
			state = m.Reason
		case m.Step != "":
			state = m.Step
		case m.Position > 0:
			state = fmt.Sprintf("%d in queue", m.Position)
		}
		rows = append(rows, []string{m.ID, show(m.From, 20), m.Ingress, state, show(m.Agent, 20), show(m.Text, 40)})
	}
	return rows
}

func inboxWithdraw(a *app) *cobra.Command {
	var s scope
	c := &inbox.WithdrawMessage{}
	return a.verbOf("withdraw", "take a message back before it is answered", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &s)
		a.writeFlags(f)
		f.StringVar(&c.Message, "message-id", "", "message")
	}, func() error {
		c.Goal = s.goal
		rec, err := a.do(c, s.agent, "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, show(c.Message, 60)+" is taken back") })
	})
}

func inboxAdmit(a *app) *cobra.Command {
	c := &inbox.AdmitMissed{}
	return ownersMessage(a, "admit", "let a message that came late go to its agent: an owner's act", &c.Goal, &c.Message, c,
		"It goes to its agent as if it had come now.", "admit", "is admitted")
}

func inboxDead(a *app) *cobra.Command {
	var s scope
	var all bool
	c := a.verbOf("dead", "what could not be handled or sent, with reasons", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.BoolVar(&all, "all", false, "the whole list")
	}, func() error {
		v, raw, err := askRaw[inbox.MessagesView](a, &inbox.DeadMessages{Goal: s.goal, Limit: 200})
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string {
			if len(v.Messages)+len(v.Outward) == 0 {
				return "Nothing is dead.\n"
			}
			return a.screen(append(messageRows(a, v), outwardRows(v)...), all, "loopx inbox dead --all")
		})
	})
	r := &inbox.ReplayMessage{}
	c.AddCommand(ownersMessage(a, "replay", "let one try again: an owner's act", &r.Goal, &r.Message, r,
		"It waits for its agent again, or what was to be sent is sent again.", "replay", "is tried again"))
	c.Long = "Messages of people that nobody could handle, and messages of ours that the platform\n" +
		"will not take or that were held back. Replay takes the id in the first column."
	return c
}

// outwardRows are our own messages that were not written.
func outwardRows(v inbox.MessagesView) [][]string {
	rows := make([][]string, 0, len(v.Outward))
	for _, m := range v.Outward {
		about := m.Text
		if m.Gate != "" {
			about = "the decision " + m.Gate
		}
		rows = append(rows, []string{m.ID, "to " + show(m.Connection, 17), m.Kind, show(m.Why, 30), show(m.Goal, 20), show(about, 40)})
	}
	return rows
}

// ownersMessage is a verb of an owner about one message.
func ownersMessage(a *app, use, short string, goal, message *string, c kernel.Command, seen, word, done string) *cobra.Command {
	var s scope
	return a.verbOf(use, short, func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(message, "message-id", "", "message")
	}, func() error {
		*goal = s.goal
		by, err := a.owner(word+" a message", func() string { return seen }, word)
		if err != nil {
			return err
		}
		rec, err := a.doAs(c, by, "", a.g.dryRun)
		if err != nil {
			return err
		}
		return a.out(receipt(rec), func() string { return said(rec, show(*message, 60)+" "+done) })
	})
}
