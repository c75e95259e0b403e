package cli

import (
	"fmt"
	"strings"
	"time"

	"loopx/inbox"
	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func attentionCmd(a *app) *cobra.Command {
	c := attentionShow(a)
	c.AddCommand(attentionSet(a), attentionAway(a))
	return c
}

func attentionShow(a *app) *cobra.Command {
	var s scope
	var window string
	q := &inbox.Attention{}
	return a.verbOf("attention", "what people's attention is spent on, and when they may be interrupted", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.StringVar(&q.Person, "person", "owner", "person (loopx person list)")
		f.StringVar(&window, "window", "7d", "how far back")
	}, func() error {
		ms, err := span("--window", window)
		if err != nil {
			return err
		}
		q.Goal, q.WindowMS = s.goal, ms
		v, raw, err := askRaw[inbox.AttentionView](a, q)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return attentionText(v) })
	})
}

func attentionText(v inbox.AttentionView) string {
	var b strings.Builder
	line := func(label, text string) { fmt.Fprintf(&b, "%-12s %s\n", label, text) }
	c := v.Choice
	quiet := clockText(c.QuietFrom) + " to " + clockText(c.QuietTo)
	if c.QuietFrom == c.QuietTo {
		quiet = "never"
	}
	zone := v.Zone
	if zone == "" {
		zone = "this machine's zone"
	}
	line("Person", show(v.Person, 60))
	line("Quiet", quiet+" ("+show(zone, 40)+")")
	line("Digest", clockText(c.Digest))
	urgent := "P0 waits like the rest"
	if c.Urgent {
		urgent = "P0 comes at any time"
	}
	line("Budget", fmt.Sprintf("%d a day; %s", c.Budget, urgent))
	for _, m := range c.Mutes {
		what := "everything"
		if m.Goal != "" {
			what = show(m.Goal, 60)
		}
		line("Muted", what+" until "+stamp(m.Until))
	}
	for _, s := range c.Snoozes {
		line("Snoozed", show(s.Gate, 60)+" until "+stamp(s.Until))
	}
	line("Questions", fmt.Sprintf("%d, %d open", v.Questions, v.Open))
	line("Messages", fmt.Sprintf("%d, %d of them repeats", v.Messages, v.Repeats))
	answered := fmt.Sprintf("%d", v.Answered)
	if v.Answered > 0 {
		answered += ", half of them within " + (time.Duration(v.MedianMS) * time.Millisecond).Round(time.Second).String()
	}
	line("Answered", answered)
	cost := "no todo was finished"
	if v.Finished > 0 {
		cost = fmt.Sprintf("%.2f messages for each of %s", v.PerTodo, count(v.Finished, "finished todo", "finished todos"))
	}
	line("Cost", cost)
	if v.Incomplete {
		line("", "older records of the window were not looked at")
	}
	return b.String()
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func clockText(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func attentionSet(a *app) *cobra.Command {
	var quiet, digest, mute, snooze, until, goal string
	var budget int
	var urgent bool
	var set *pflag.FlagSet
	c := &kernel.SetAttention{}
	cmd := a.verbOf("set", "change when a person may be interrupted: an owner's act", func(f *pflag.FlagSet) {
		set = f
		a.writeFlags(f)
		a.ownerFlags(f)
		f.StringVar(&c.Person, "person", "owner", "person (loopx person list)")
		f.StringVar(&quiet, "quiet", "", "quiet hours, like 22:00-08:00, or off")
		f.StringVar(&digest, "digest", "", "when the daily digest comes, like 08:00")
		f.IntVar(&budget, "budget", 0, "interruptions a day")
		f.BoolVar(&urgent, "urgent", false, "let P0 through quiet hours and mutes")
		f.StringVar(&mute, "mute", "", "hear nothing for this long, like 2h; 0s lifts it")
		f.StringVar(&goal, "mute-goal", "", "with --mute: of this goal only")
		f.StringVar(&snooze, "snooze", "", "put off one gate, by its id")
		f.StringVar(&until, "for", "24h", "with --snooze: for how long; 0s lifts it")
	}, func() error {
		if err := attentionFlags(a, c, set, quiet, digest); err != nil {
			return err
		}
		if set.Changed("budget") {
			c.Budget = &budget
		}
		if set.Changed("urgent") {
			c.Urgent = &urgent
		}
		now := a.now().UnixMilli()
		if set.Changed("mute") {
			ms, err := span("--mute", mute)
			if err != nil {
				return err
			}
			c.Mute = &kernel.Mute{Goal: goal, Until: now + ms}
		}
		if snooze != "" {
			ms, err := span("--for", until)
			if err != nil {
				return err
			}
			c.Snooze = &kernel.Snooze{Gate: snooze, Until: now + ms}
		}
		return a.ownerAct(c, true, "changing when somebody may be interrupted", "Questions to "+show(c.Person, 60)+" come when this says.", "yes", func(kernel.Receipt) string {
			return show(c.Person, 60) + " is asked as chosen (loopx attention)"
		})
	})
	cmd.Long = "Nothing here answers, hides or drops a question: whatever is held back comes later,\n" +
		"and what was resolved meanwhile does not come."
	return cmd
}

func attentionFlags(a *app, c *kernel.SetAttention, set *pflag.FlagSet, quiet, digest string) error {
	if set.Changed("quiet") {
		from, to := 0, 0
		if quiet != "off" {
			x, y, ok := strings.Cut(quiet, "-")
			var err1, err2 error
			from, err1 = timeOfDay("--quiet", x)
			to, err2 = timeOfDay("--quiet", y)
			if !ok || err1 != nil || err2 != nil {
				return kernel.Errorf(kernel.Invalid, "bad_quiet", "--quiet %q must be two times of day like 22:00-08:00, or off", show(quiet, 20))
			}
		}
		c.QuietFrom, c.QuietTo = &from, &to
	}
	if set.Changed("digest") {
		at, err := timeOfDay("--digest", digest)
		if err != nil {
			return err
		}
		c.Digest = &at
	}
	return nil
}

// timeOfDay reads 08:00 or 8 as minutes after midnight.
func timeOfDay(flag, s string) (int, error) {
	for _, form := range []string{"15:04", "15"} {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil {
			return t.Hour()*60 + t.Minute(), nil
		}
	}
	return 0, kernel.Errorf(kernel.Invalid, "bad_time_of_day", "%s %q must be a time of day like 08:00", flag, show(s, 20))
}
