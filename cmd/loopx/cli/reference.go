package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"loopx/bot/client"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// VerbDoc is one verb as its help tells of it, for the reference and the man page.
type VerbDoc struct {
	Path  string // "loopx todo add"
	Use   string // the path with its arguments
	Group string // of the top level
	Short string
	Long  string
	Flags []FlagDoc // its own; those of every verb stand with the root
	// Leaf verbs do something; the others only group them.
	Leaf bool
}

// FlagDoc is one flag.
type FlagDoc struct {
	Name, Type, Default, Usage string
}

// Reference lists the root and every verb that help shows, in the order of help.
func Reference() []VerbDoc {
	a := newApp(context.Background(), Options{Out: io.Discard})
	root := a.root()
	root.InitDefaultHelpFlag()
	out := []VerbDoc{docOf(root, "")}
	out[0].Flags = flagsOf(root.PersistentFlags())
	for _, v := range verbs() {
		c, _, err := root.Find([]string{v.name})
		if err != nil || c == root || c.Hidden {
			continue
		}
		out = append(out, docOf(c, v.group))
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				out = append(out, docOf(sub, v.group))
			}
		}
	}
	return out
}

func docOf(c *cobra.Command, group string) VerbDoc {
	return VerbDoc{
		Path: c.CommandPath(), Use: strings.Replace(c.UseLine(), " [flags]", "", 1), Group: group, Short: c.Short, Long: c.Long,
		Flags: flagsOf(c.LocalNonPersistentFlags()), Leaf: c.Runnable() && !c.HasAvailableSubCommands(),
	}
}

func flagsOf(set *pflag.FlagSet) []FlagDoc {
	var out []FlagDoc
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		typ := map[string]string{"bool": "", "stringArray": "text", "string": "text", "int": "number", "uint64": "number"}
		t, known := typ[f.Value.Type()]
		if !known {
			t = f.Value.Type()
		}
		def := f.DefValue
		if def == "false" || def == "[]" || def == "0" && t == "number" {
			def = ""
		}
		out = append(out, FlagDoc{Name: f.Name, Type: t, Default: def, Usage: f.Usage})
	})
	return out
}

// environment is what the command line reads from its environment, for its pages.
func environment() [][2]string {
	return [][2]string{
		{"LOOPX_HOME", "the state folder, where --home does not name one"},
		{"LOOPX_GOAL", "the goal, where --goal-id does not name one"},
		{"LOOPX_AGENT", "the acting agent, where --agent-id does not name one; an owner's act is denied while it is set"},
		{"LOOPX_SESSION", "the session a turn belongs to"},
		{"LOOPX_LEASE", "the lease token of a strict goal's todo"},
		{"NO_COLOR", "no colour, whatever the terminal can"},
	}
}

// ManPage is the manual page loopx(1).
func ManPage() string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	all := Reference()
	line(`.TH LOOPX 1 "" "loopx %s" "loopx"`, client.Version)
	line(".SH NAME\nloopx \\- %s", roff(strings.ToLower(all[0].Short[:1])+all[0].Short[1:]))
	line(".SH SYNOPSIS\n.B loopx\n.I verb\n[\\fIflags\\fR]")
	line(".SH DESCRIPTION\n%s", roff(all[0].Long))
	line(".PP\nResults are printed to standard output, everything else to standard error. With \\-\\-json a result, or a refusal, is one JSON object on one line.")
	line(".SH FLAGS OF EVERY VERB")
	manFlags(&b, all[0].Flags)
	group := ""
	for _, v := range all[1:] {
		if v.Group != group {
			group = v.Group
			line(".SH %s", strings.ToUpper(group))
		}
		line(".SS %s\n%s", roff(v.Use), roff(v.Short))
		if v.Long != "" {
			line(".PP\n%s", roff(v.Long))
		}
		manFlags(&b, v.Flags)
	}
	line(".SH ENVIRONMENT")
	for _, e := range environment() {
		line(".TP\n.B %s\n%s", e[0], roff(e[1]))
	}
	line(".SH EXIT STATUS")
	for _, row := range exitRows() {
		line(".TP\n.B %s\n%s", row[0], roff(row[1]))
	}
	line(".SH FILES\n.TP\n.I ~/.loopx\nthe state folder, where nothing names another\n.TP\n.I .loopx/link.toml\na project's workspace and goal, written by loopx connect")
	return b.String()
}

func manFlags(b *strings.Builder, flags []FlagDoc) {
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n.B \\-\\-%s", roff(f.Name))
		if f.Type != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", f.Type)
		}
		fmt.Fprintf(b, "\n%s\n", roff(flagText(f)))
	}
}

// flagText is what a flag does, with its default.
func flagText(f FlagDoc) string {
	text := f.Usage
	if f.Default != "" && !strings.Contains(text, "default") {
		text += " (default " + f.Default + ")"
	}
	return text
}

// roff keeps text from being read as a request: backslashes, hyphens, and a line
// that starts with a dot or a quote.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func manCmd(a *app) *cobra.Command {
	c := a.verbOf("man", "", nil, func() error {
		return a.out(newFields().set("page", ManPage()), ManPage)
	})
	c.Long = "Prints the manual page loopx(1). To read it: loopx man | man -l -"
	return c
}
