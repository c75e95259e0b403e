package cli

import (
	"os"
	"slices"
	"strings"

	"loopx/kernel"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
)

// capability is something this version can do beside keeping goals. None grants a
// permission: what needs an approval still asks for it.
type capability struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Value    string `json:"user_value"`
	Maturity string `json:"maturity"` // stable, preview, experimental
	// Enabled says whether it is on in this workspace; TurnOn is how, or "" for
	// what is always there.
	Enabled bool   `json:"enabled"`
	TurnOn  string `json:"turn_on"`
	// Entry is the verb it starts with; loopx-bot's own are named with it.
	Entry    string              `json:"entry_command"`
	Commands []capabilityCommand `json:"commands"`
	// Not says what it does not do, whoever turns it on.
	Not []string `json:"boundaries"`
	// Checks are the scripts and tests that show it.
	Checks []string `json:"checks"`
}

type capabilityCommand struct {
	Command string `json:"command"`
	Purpose string `json:"purpose"`
	Writes  string `json:"write_boundary"`
}

// capabilities is the register. enabled says which of those that are off at first
// were turned on.
func capabilities(enabled map[string]bool) []capability {
	chat := func(id, name string) capability {
		return capability{
			ID: id, Title: "Decisions in " + name, Value: "Gates come as cards into " + name + ", one tap answers, every copy shows the outcome.", Maturity: "preview",
			TurnOn: "loopx-bot setup " + id, Entry: "link",
			Commands: []capabilityCommand{
				{"loopx-bot setup " + id, "try the app's tokens, then write the connection", "config.toml and token files of the state folder; one test card to you"},
				{"loopx link", "join your account to you with a one-time code", "the state; nothing else"},
			},
			Not:    []string{"it posts only where it was connected", "names and history never authorise, ids do", "no command found in a message is run"},
			Checks: []string{"TestLinkOnATerminal"},
		}
	}
	list := []capability{
		{
			ID: "gates", Title: "Decisions", Value: "Work that needs a person waits for a concrete question, and only that work.", Maturity: "stable", Enabled: true, Entry: "gate",
			Commands: []capabilityCommand{
				{"loopx gate open", "ask one question", "the state; the question goes to linked chats"},
				{"loopx gate answer", "decide it", "the state; only with an owner's proof"},
			},
			Not: []string{"an agent never decides", "silence and expiry grant nothing"}, Checks: []string{"owner.txtar", "scope.txtar"},
		},
		{
			ID: "monitors", Title: "Monitors", Value: "Something is watched at a cadence; an unchanged look is quiet and free.", Maturity: "stable", Enabled: true, Entry: "quota",
			Commands: []capabilityCommand{{"loopx quota monitor-poll", "record one look", "the state; a material change counts as work done"}},
			Not:      []string{"loopx looks at nothing itself: the agent does"}, Checks: []string{"monitor.txtar"},
		},
		{
			ID: "turns", Title: "Turns", Value: "A slice of work is decided, done, validated and paid once, however often a step is repeated.", Maturity: "stable", Enabled: true, Entry: "tick",
			Commands: []capabilityCommand{
				{"loopx tick", "open a turn and claim its todo", "the state"},
				{"loopx turn commit", "settle and pay in one step", "the state; runs the todo's validation in this process"},
			},
			Not: []string{"nothing is paid without evidence", "no model is called"}, Checks: []string{"tick.txtar", "turn.txtar"},
		},
		{
			ID: "presets", Title: "Presets", Value: "Recurring work that can be started as it stands, within limits that are kept.", Maturity: "stable", TurnOn: "loopx preset start PRESET --agent-id AGENT --execute", Entry: "preset",
			Commands: []capabilityCommand{
				{"loopx preset list", "what there is", "nothing"},
				{"loopx preset start", "make its goal, agent, todos and watch", "one new goal in the state, after a preview"},
			},
			Not: []string{"a preset grants no permission", "what its limit refuses, an agent cannot lift"}, Checks: []string{"preset.txtar", "TestLimits"},
		},
		{
			ID: "project-link", Title: "Project link", Value: "Commands in a project's folder know its goal.", Maturity: "stable", TurnOn: "loopx connect --goal-id GOAL", Entry: "connect",
			Commands: []capabilityCommand{{"loopx connect", "join the folder to a goal", ".loopx/link.toml, the repository's exclude file, the register of the state folder"}},
			Not:      []string{"a link that came with a repository or an archive never counts"}, Checks: []string{"connect.txtar"},
		},
		{
			ID: "public-scan", Title: "Scan before publishing", Value: "Secrets and private paths are found before others see them.", Maturity: "preview", Enabled: true, Entry: "check",
			Commands: []capabilityCommand{
				{"loopx check", "look through files", "nothing"},
				{"loopx export --public", "a goal as a document that was scanned", "nothing"},
			},
			Not: []string{"it is a net with known holes", "what it finds is named by place and never printed"}, Checks: []string{"check.txtar", "TestCorpus"},
		},
		{
			ID: "backup", Title: "Backup and repair", Value: "The state is copied while it is used, checked against its journal, restored, mended.", Maturity: "stable", Enabled: true, Entry: "backup",
			Commands: []capabilityCommand{
				{"loopx backup create", "copy the state", "the file that is named"},
				{"loopx backup restore", "put a copy in its place", "the state folder; only with an owner's proof"},
				{"loopx doctor --repair", "mend indexes and stale leases", "the state, after a copy"},
			},
			Not: []string{"damage that decides something is never mended, only restored"}, Checks: []string{"backup.txtar", "TestDoctorRepair"},
		},
		chat("slack", "Slack"), chat("discord", "Discord"), chat("lark", "Lark"),
	}
	for i := range list {
		list[i].Enabled = list[i].Enabled || enabled[list[i].ID]
	}
	return list
}

// enabledHere looks at what was turned on: connections of the configuration, and
// the link of this folder. A preset is started and not turned on.
func enabledHere(a *app) map[string]bool {
	on := map[string]bool{}
	if p, _ := a.project(); p != nil {
		on["project-link"] = true
	}
	home, err := a.home()
	if err != nil {
		return on
	}
	var config struct {
		Connection []struct {
			Platform string `toml:"platform"`
		} `toml:"connection"`
	}
	if b, err := os.ReadFile(home.Config()); err == nil && toml.Unmarshal(b, &config) == nil {
		for _, c := range config.Connection {
			on[c.Platform] = true
		}
	}
	return on
}

func capabilityCmd(a *app) *cobra.Command {
	c := noun("capability", capabilityList(a), capabilityShow(a))
	c.Long = "What this version can do, with its maturity and what each command writes. What is off is\n" +
		"turned on by the command that is named with it. Turning something on never grants a\n" +
		"permission: what needs an approval still asks for it."
	return c
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func capabilityList(a *app) *cobra.Command {
	return a.verbOf("list", "what this version can do, and what is on", nil, func() error {
		all := capabilities(enabledHere(a))
		short := make([]map[string]any, 0, len(all))
		rows := make([][]string, 0, len(all))
		for _, c := range all {
			short = append(short, map[string]any{"id": c.ID, "title": c.Title, "maturity": c.Maturity, "enabled": c.Enabled, "entry_command": c.Entry, "turn_on": c.TurnOn, "checks": len(c.Checks)})
			rows = append(rows, []string{c.ID, c.Maturity, onOff(c.Enabled), c.Value})
		}
		return a.out(newFields().set("capabilities", short), func() string { return a.wrapped(rows) })
	})
}

func capabilityShow(a *app) *cobra.Command {
	return a.argVerb("show CAPABILITY", "its commands, what each writes, and what it does not do", nil, oneArg("capability", "loopx capability list"), func(args []string) error {
		all := capabilities(enabledHere(a))
		i := slices.IndexFunc(all, func(c capability) bool { return c.ID == args[0] })
		if i < 0 {
			names := make([]string, 0, len(all))
			for _, c := range all {
				names = append(names, c.ID)
			}
			return kernel.Errorf(kernel.NotFound, "capability_not_found", "there is no capability %q: there are %s", show(args[0], 40), strings.Join(names, ", ")).Try("loopx capability list")
		}
		c := all[i]
		return a.out(newFields().set("capability", c), func() string {
			text := a.bold(c.Title) + "  " + c.Maturity + ", " + onOff(c.Enabled) + "\n" + c.Value + "\n"
			for _, x := range c.Commands {
				text += "  " + x.Command + ": " + x.Purpose + "\n    writes " + x.Writes + "\n"
			}
			for _, n := range c.Not {
				text += "  · " + n + "\n"
			}
			if !c.Enabled && c.TurnOn != "" {
				text += "  try: " + c.TurnOn + "\n"
			}
			return text
		})
	})
}
