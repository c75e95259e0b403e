package cli

import (
	"encoding/json"
	"fmt"

	"loopx/inbox"
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func forgetCmd(a *app) *cobra.Command {
	c := &inbox.ForgetMessages{}
	var execute bool
	cmd := a.verbOf("forget", "erase what a person said, or what was said in a conversation (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		a.ownerFlags(f)
		f.StringVar(&c.Person, "person", "", "person (loopx person list)")
		f.StringVar(&c.Connection, "connection", "", "with --conversation: its connection")
		f.StringVar(&c.Conversation, "conversation", "", "conversation, by the platform's id (loopx bind list)")
		f.BoolVar(&execute, "execute", false, "do it")
	}, func() error {
		whose := "the person " + show(c.Person, 60)
		if c.Person == "" {
			whose = "the conversation " + show(c.Conversation, 60)
		}
		var by kernel.Actor
		var err error
		if execute {
			by, err = a.owner("forgetting messages", func() string {
				return "The messages of " + whose + ", the answers to them and the cards about them are erased. Nothing brings them back."
			}, "forget")
		} else {
			by, err = a.ownerPreview("forgetting messages")
		}
		if err != nil {
			return err
		}
		total, err := forgetAll(a, c, by, !execute)
		if err != nil {
			return err
		}
		out := newFields().set("messages", total.Messages).set("receipts", total.Receipts).set("changed", execute && total.Messages+total.Receipts > 0)
		if !execute {
			out.set("preview", true)
		}
		return a.out(out, func() string {
			if execute {
				return fmt.Sprintf("%d messages are forgotten.\n", total.Messages)
			}
			return fmt.Sprintf("%d messages of %s would be forgotten.\n  next: the same with --execute\n", total.Messages, whose)
		})
	})
	cmd.Long = "What waits for an agent is taken back first. The journal holds no chat text and stays\n" +
		"whole; so does who decided a gate, with the reason that was given. What the platform\n" +
		"itself keeps is the platform's. Backups made before still hold the texts, and so may\n" +
		"unused places of the file until they are written over: loopx compact makes it anew."
	return cmd
}

// forgetAll repeats the command until nothing is left to look at. Each piece is a
// transaction; after an interruption the same command goes on.
func forgetAll(a *app, c *inbox.ForgetMessages, by kernel.Actor, preview bool) (inbox.ForgottenCount, error) {
	var total inbox.ForgottenCount
	for {
		rec, err := a.doAs(c, by, "", preview)
		if err != nil {
			return total, err
		}
		var piece inbox.ForgottenCount
		if err := json.Unmarshal(rec.Result, &piece); err != nil {
			return total, kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
		}
		total.Messages += piece.Messages
		total.Receipts += piece.Receipts
		if !piece.More {
			return total, nil
		}
		c.Next = piece.Next
	}
}
