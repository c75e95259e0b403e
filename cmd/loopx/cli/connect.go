package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// linkedFlag is a goal flag with the flag set it belongs to.
type linkedFlag struct {
	set  *pflag.FlagSet
	into *string
}

// project is what the folder this command runs in is connected to, nil without a
// link that counts; why tells what is wrong with one that does not.
func (a *app) project() (p *client.Project, why string) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, ""
	}
	return client.FindProject(dir, a.getenv)
}

// fillLinked gives the goal flags of the verb that runs the project's goal, where
// neither the command line nor the environment names one and the workspace is the
// project's.
func (a *app) fillLinked(f *pflag.FlagSet) {
	for _, l := range a.linked {
		if l.set != f || *l.into != "" || f.Changed("goal-id") {
			continue
		}
		p, why := a.project()
		if why != "" {
			fmt.Fprintf(a.opt.Err, "note: the .loopx/link.toml of this project does not count: %s\n  try: loopx connect --goal-id GOAL\n", why)
		}
		if p == nil {
			return
		}
		if home, err := a.home(); err == nil && home.Dir == p.Home {
			*l.into = p.Goal
		}
	}
}

// connected is the answer of connect.
type connected struct {
	client.Project
	Link string `json:"link"`
	// Exclude is the repository's exclude file, "" without a repository.
	Exclude string `json:"exclude"`
	Removed bool   `json:"removed"`
	Changed bool   `json:"changed"`
}

func connectCmd(a *app) *cobra.Command {
	var goal, dir string
	var remove bool
	c := a.verbOf("connect", "", func(f *pflag.FlagSet) {
		f.StringVar(&goal, "goal-id", "", "goal that is worked on here")
		f.StringVar(&dir, "project", ".", "folder of the project")
		f.BoolVar(&remove, "remove", false, "take the link and its registration away")
		a.acceptUnused(f, "execute! dry-run!")
	}, func() error {
		place, err := projectPlace(dir)
		if err != nil {
			return err
		}
		var out connected
		if remove {
			out, err = disconnect(a, place)
		} else {
			out, err = connect(a, place, goal)
		}
		if err != nil {
			return err
		}
		return a.out(newFields().set("goal_id", out.Goal).set("project", out.Dir).set("home", out.Home).
			set("link", out.Link).set("exclude", out.Exclude).set("removed", out.Removed).set("changed", out.Changed),
			func() string { return out.text() })
	})
	c.Long = "Writes .loopx/link.toml into this project's folder: the state folder and the goal. From\n" +
		"then on commands that run below it, or in a worktree of it, need neither --home nor\n" +
		"--goal-id; LOOPX_HOME and LOOPX_GOAL come before it. `.loopx/` goes into the repository's\n" +
		"exclude file. The link counts only on this machine, only unchanged, and never when git\n" +
		"tracks it: a repository cannot choose whose state an agent works on."
	return c
}

func projectPlace(dir string) (client.Place, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return client.Place{}, kernel.Errorf(kernel.NotFound, "path_not_found", "%s is no folder", show(dir, 200)).Try("loopx connect --project DIR")
	}
	place, _ := client.FindPlace(dir)
	return place, nil
}

// connect registers a project and writes its link.
func connect(a *app, place client.Place, goal string) (connected, error) {
	if goal == "" {
		goal = a.env["LOOPX_GOAL"]
	}
	if old, ok := client.Registered(place.Dir, a.getenv); ok && goal == "" {
		goal = old.Goal
	}
	home, err := a.home()
	if err != nil {
		return connected{}, err
	}
	v, err := ask[view.SettingsView](a, &view.Settings{Goal: goal})
	if e := kernel.AsError(err); e != nil {
		if e.Class == kernel.NotFound {
			e = e.Try("loopx start-goal --guided, or loopx goal create --goal-id NAME --objective TEXT")
		}
		return connected{}, e
	}
	if home.Dir == filepath.Join(place.Dir, ".loopx") {
		return connected{}, kernel.Errorf(kernel.Conflict, "is_home", "%s is the state folder itself", home.Dir).Try("run it in the folder of a project, or pass --project DIR")
	}
	if place.Tracked() {
		return connected{}, kernel.Errorf(kernel.Conflict, "link_tracked", "git tracks .loopx/link.toml in %s, so it is not this machine's alone", place.Dir).Try("git rm --cached .loopx/link.toml")
	}
	out := connected{Project: client.Project{Dir: place.Dir, Home: home.Dir, Goal: v.ID}, Link: client.LinkFile(place.Dir)}
	before, _ := os.ReadFile(out.Link)
	was, _ := client.FindProject(place.Dir, a.getenv)
	if out.Exclude, err = exclude(place); err != nil {
		return connected{}, err
	}
	if err := linkFolder(filepath.Dir(out.Link)); err != nil {
		return connected{}, err
	}
	if err := out.Register(a.getenv); err != nil {
		return connected{}, err
	}
	if err := client.WriteWhole(out.Link, out.Project.Link(), 0o600); err != nil {
		return connected{}, err
	}
	out.Changed = was == nil || *was != out.Project || string(before) != string(out.Project.Link())
	return out, nil
}

// linkFolder makes a project's .loopx, or refuses what stands there.
func linkFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fileError(dir, err)
		}
		return nil
	case err != nil:
		return fileError(dir, err)
	case !info.IsDir():
		return kernel.Errorf(kernel.Denied, "link_folder", "%s is no plain folder", dir).Try("take it away, then connect again")
	}
	return nil
}

// exclude puts .loopx/ into the repository's exclude file, which is this clone's
// alone and never committed.
func exclude(place client.Place) (string, error) {
	if place.GitDir == "" {
		return "", nil
	}
	path := filepath.Join(place.GitDir, "info", "exclude")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fileError(path, err)
	}
	lines := strings.Split(string(b), "\n")
	if slices.ContainsFunc(lines, func(l string) bool {
		return slices.Contains([]string{".loopx/", "/.loopx/", ".loopx", "/.loopx"}, strings.TrimSpace(l))
	}) {
		return path, nil
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fileError(path, err)
	}
	return path, client.WriteWhole(path, append(b, ".loopx/\n"...), 0o644)
}

// disconnect takes the link away. The exclude line stays: it does no harm, and who
// wrote it is not known.
func disconnect(a *app, place client.Place) (connected, error) {
	out := connected{Project: client.Project{Dir: place.Dir}, Link: client.LinkFile(place.Dir), Removed: true}
	if reg, ok := client.Registered(place.Dir, a.getenv); ok {
		out.Project, out.Changed = reg, true
		if err := reg.Unregister(a.getenv); err != nil {
			return connected{}, err
		}
	}
	info, err := os.Lstat(filepath.Dir(out.Link))
	if err != nil || !info.IsDir() {
		return out, nil // a link is not followed, not even to take something away
	}
	switch err := os.Remove(out.Link); {
	case err == nil:
		out.Changed = true
		_ = os.Remove(filepath.Dir(out.Link)) // stays when something else is in it
	case !errors.Is(err, fs.ErrNotExist):
		return connected{}, fileError(out.Link, err)
	}
	return out, nil
}

func (c connected) text() string {
	switch {
	case c.Removed && c.Changed:
		return c.Dir + " is connected no more\n"
	case c.Removed:
		return c.Dir + " was not connected\n"
	}
	text := fmt.Sprintf("%s works on %s in %s", c.Dir, c.Goal, c.Home)
	if !c.Changed {
		text += " (it was so already)"
	}
	return text + "\n  next: loopx status\n"
}
