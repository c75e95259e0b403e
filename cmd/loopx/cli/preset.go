package cli

import (
	"fmt"
	"slices"
	"strings"

	"loopx/kernel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// preset is recurring work that can be started as it stands.
type preset struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Tier      string `json:"tier"`     // beginner, advanced
	Maturity  string `json:"maturity"` // stable, preview, experimental
	Cadence   string `json:"cadence"`
	Limit     string `json:"limit"` // what its work may write; the kernel holds todos to it
	AgentMode string `json:"agent_mode"`
	Summary   string `json:"summary"`
	Objective string `json:"objective"`
	// Useful says when to take it.
	Useful []string `json:"useful_when"`
	// Safety says what the limit, the agent's mode and the approvals keep from happening.
	Safety []string `json:"safety_defaults"`

	write    []string
	nonGoals []string
	todos    []kernel.AddTodo
}

const hourMS = 60 * 60 * 1000

func presets() []preset {
	watch := func(title, target string, hours float64) kernel.AddTodo {
		return kernel.AddTodo{Title: title, Class: kernel.Monitor, Target: target, CadenceMS: int64(hours * hourMS), WatchOnly: true}
	}
	work := func(priority int, title, body string, write ...string) kernel.AddTodo {
		return kernel.AddTodo{Title: title, Body: body, Priority: &priority, Write: write}
	}
	return []preset{
		{
			ID: "daily-triage", Title: "Daily triage", Tier: "beginner", Maturity: "stable", Cadence: "every 24 h", Limit: kernel.ReportOnly, AgentMode: "active",
			Summary:   "Reads status, open todos, gates and stale signals each day, and ends with the one next action.",
			Objective: "Each day, say what is open, what waits for a person, what went stale, and the one next action.",
			Useful:    []string{"several goals run and nobody looks at all of them", "the day should start from one short report"},
			Safety:    []string{"a todo that declares a write is refused", "gates are reported and never answered", "an unchanged look costs no slot"},
			nonGoals:  []string{"no file is changed", "nothing is published or closed"},
			todos: []kernel.AddTodo{
				work(1, "Write the first triage report", "Read status, todos, gates and monitors of every goal. Report open, waiting and stale work in a note as evidence; end with the one next action."),
				watch("Triage of the day", "status, open todos, gates and stale signals of all goals", 24),
			},
		},
		{
			ID: "changelog-draft", Title: "Changelog draft", Tier: "beginner", Maturity: "stable", Cadence: "every 24 h while a release is near", Limit: kernel.DraftOnly, AgentMode: "active",
			Summary:   "Drafts a changelog from merged work: who should upgrade, what it solves, what breaks, how to verify.",
			Objective: "Keep a draft of the changelog of the next release in drafts/, ready for a person to review.",
			Useful:    []string{"a release is being prepared", "merged work is hard to tell from its commits"},
			Safety:    []string{"only drafts/ may be declared as written", "no tag, release or publishing: each would need an approval", "a person reviews the draft"},
			write:     []string{"drafts/**"}, nonGoals: []string{"no tag, no release, nothing is published"},
			todos: []kernel.AddTodo{
				work(1, "Draft the changelog of the next release", "From merged work: who should upgrade, what it solves, breaking or not, how to verify, who contributed. Group by area, link rather than paste.", "drafts/**"),
				watch("Merged work since the last draft", "commits and merged changes since the last draft", 24),
			},
		},
		{
			ID: "pr-watch", Title: "Watch open changes", Tier: "beginner", Maturity: "stable", Cadence: "every 20 min", Limit: kernel.WatchOnly, AgentMode: "monitor_only",
			Summary:   "Watches reviews, checks and what blocks a merge; reports changes and the next human decision only.",
			Objective: "Notice when a review, a check or a merge blocker of an open change needs a person, and say so once.",
			Useful:    []string{"changes wait for reviews longer than they should", "a red check goes unseen"},
			Safety:    []string{"the goal takes no work, only monitors and requests to people", "the agent is never given work", "an unchanged look is quiet and costs no slot"},
			nonGoals:  []string{"nothing is merged, rerun or edited"},
			todos:     []kernel.AddTodo{watch("Open changes", "reviews, checks and merge blockers of open changes", 1.0/3)},
		},
		{
			ID: "ci-sweeper", Title: "Failing checks", Tier: "advanced", Maturity: "preview", Cadence: "every 30 min", Limit: kernel.AskFirst, AgentMode: "active",
			Summary:   "Classifies failing checks first; a patch waits for the owner's approval and stays small.",
			Objective: "Keep the main branch's checks green: classify each failure, report it, and patch only what was approved.",
			Useful:    []string{"checks fail for reasons that repeat", "somebody reviews each patch"},
			Safety:    []string{"every todo that declares a write waits for one approval of the owner", "no push, merge or rerun: each would need an approval of its own", "the same failure twice is reported, not retried"},
			nonGoals:  []string{"no push, no merge, no rerun that costs money"},
			todos: []kernel.AddTodo{
				work(1, "Classify the failing checks and report", "For each: what fails, since when, flaky or real, the smallest fix. Change nothing."),
				work(2, "Patch lane: the smallest fix of one failing check", "In a worktree of its own; run the focused check; leave the patch for review.", "**"),
				watch("Failing checks", "the checks of the main branch", 0.5),
			},
		},
		{
			ID: "dependency-sweeper", Title: "Dependency updates", Tier: "advanced", Maturity: "preview", Cadence: "every 7 days", Limit: kernel.AskFirst, AgentMode: "active",
			Summary:   "Lists patch and minor updates against a policy first; an update waits for the owner's approval.",
			Objective: "Know which dependencies are behind or have advisories, and update within the policy once it was approved.",
			Useful:    []string{"advisories are read too late", "updates pile up"},
			Safety:    []string{"every todo that declares a write waits for one approval of the owner", "no major, runtime, toolchain or lockfile-wide jump", "two failures or a widened scope go back to a person"},
			nonGoals:  []string{"no major version, runtime or toolchain jump"},
			todos: []kernel.AddTodo{
				work(1, "Report updates and advisories against the policy", "Patch and minor only. For each: from, to, why, risk, how to verify. Change nothing."),
				work(2, "Update lane: one approved update", "In a worktree of its own; run the checks; leave it for review.", "**"),
				watch("Dependencies and advisories", "new versions and advisories of the dependencies", 7*24),
			},
		},
	}
}

func findPreset(id string) (preset, error) {
	all := presets()
	names := make([]string, 0, len(all))
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
		names = append(names, p.ID)
	}
	return preset{}, kernel.Errorf(kernel.NotFound, "preset_not_found", "there is no preset %q: there are %s", show(id, 40), strings.Join(names, ", ")).Try("loopx preset list")
}

func presetCmd(a *app) *cobra.Command {
	return noun("preset", presetList(a), presetShow(a), presetStart(a))
}

func presetList(a *app) *cobra.Command {
	return a.verbOf("list", "what recurring work can be started", nil, func() error {
		all := presets()
		return a.out(newFields().set("presets", all), func() string {
			rows := make([][]string, 0, len(all))
			for _, p := range all {
				rows = append(rows, []string{p.ID, p.Tier, p.Maturity, p.Limit, p.Summary})
			}
			return a.wrapped(rows)
		})
	})
}

// oneArg takes exactly one word.
func oneArg(what, try string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return kernel.Errorf(kernel.Invalid, "usage", "%s takes one %s", c.CommandPath(), what).Try("%s", try)
	}
}

func presetShow(a *app) *cobra.Command {
	return a.argVerb("show PRESET", "what a preset makes, when it is useful, what it cannot do", nil, oneArg("preset", "loopx preset list"), func(args []string) error {
		p, err := findPreset(args[0])
		if err != nil {
			return err
		}
		todos := make([]map[string]any, 0, len(p.todos))
		for _, v := range p.todos {
			class := v.Class
			if class == "" {
				class = kernel.Work
			}
			todos = append(todos, map[string]any{"title": v.Title, "class": class, "write": slices.Concat([]string{}, v.Write)})
		}
		start := []string{"loopx", "preset", "start", p.ID, "--agent-id", "AGENT"}
		return a.out(newFields().set("preset", p).set("todos", todos).set("start", start), func() string {
			var b strings.Builder
			fmt.Fprintf(&b, "%s  %s, %s\n%s\n\n", a.bold(p.Title), p.Tier, p.Maturity, p.Summary)
			b.WriteString(a.wrapped([][]string{{"Objective", p.Objective}, {"Cadence", p.Cadence}, {"Limit", p.Limit}, {"Agent", p.AgentMode}}))
			for _, list := range []struct {
				title string
				lines []string
			}{{"Useful when", p.Useful}, {"Kept safe", p.Safety}} {
				fmt.Fprintf(&b, "%s\n", list.title)
				for _, l := range list.lines {
					fmt.Fprintf(&b, "  %s\n", l)
				}
			}
			b.WriteString("Makes\n")
			for _, v := range todos {
				fmt.Fprintf(&b, "  %s: %s\n", v["class"], v["title"])
			}
			return b.String() + "  try: " + strings.Join(start, " ") + "\n"
		})
	})
}

func presetStart(a *app) *cobra.Command {
	var goal, agent, host, repo string
	var execute bool
	return a.argVerb("start PRESET", "make the preset's goal, agent, todos and watch (shows it; --execute does it)", func(f *pflag.FlagSet) {
		f.StringVar(&goal, "goal-id", "", "name of the goal (else the preset's)")
		f.StringVar(&agent, "agent-id", "", "agent that does it")
		f.StringVar(&host, "host", "", "what runs the agent")
		f.StringVar(&repo, "repo", "", "repository it looks at")
		f.BoolVar(&execute, "execute", false, "do it")
		a.writeFlags(f)
	}, oneArg("preset", "loopx preset list"), func(args []string) error {
		p, err := findPreset(args[0])
		if err != nil {
			return err
		}
		if agent == "" {
			return kernel.Errorf(kernel.Invalid, "agent_missing", "no agent was named").Try("loopx preset start %s --agent-id NAME", p.ID)
		}
		if goal == "" {
			goal = p.ID
		}
		x := &starting{cmd: kernel.StartGoal{
			Create: kernel.CreateGoal{Goal: goal, Title: p.Title, Objective: p.Objective, Repo: repo, Write: p.write, NonGoals: p.nonGoals, Limit: p.Limit},
			Agents: []kernel.RegisterAgent{{Agent: agent, Host: host, Mode: p.AgentMode}},
			Todos:  p.todos,
		}}
		a.g.dryRun = a.g.dryRun || !execute
		rec, err := a.do(&x.cmd, "", "")
		if err != nil {
			return err
		}
		return a.out(receipt(rec).set("preset", p.ID).set("limit", p.Limit).set("next", x.next()), func() string {
			text := a.executed(rec, "goal "+show(goal, 64)+": "+p.Title+" ("+p.Limit+")")
			if !rec.Preview {
				text += "  next: " + strings.Join(x.next()[0], " ") + "\n"
			}
			return text
		})
	})
}
