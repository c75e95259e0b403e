package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// check is one line of doctor's report.
type check struct {
	Name  string `json:"name"`
	State string `json:"state"` // ok, note, bad
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

const (
	stateOK   = "ok"
	stateNote = "note"
	stateBad  = "bad"
	lowDisk   = 100 << 20 // bytes free below which doctor says so
)

func doctorCmd(a *app) *cobra.Command {
	var verify string
	var limit time.Duration
	var mend, execute bool
	c := a.verbOf("doctor", "", func(f *pflag.FlagSet) {
		f.BoolVar(&mend, "repair", false, "show what could be mended without deciding anything; --execute does it")
		f.BoolVar(&execute, "execute", false, "with --repair: back up, then mend")
		f.DurationVar(&limit, "timeout", 30*time.Second, "for the check of the state file")
		f.StringVar(&verify, "verify-file", "", "")
		_ = f.MarkHidden("verify-file") // what doctor runs in a child process
	}, func() error {
		if verify != "" {
			return verifyFile(a.ctx, verify)
		}
		if mend {
			return doctorRepair(a, limit, execute)
		}
		return a.doctor(limit)
	})
	c.Long = "Looks at folder, lock, socket, file, daemon and project, and names what mends each finding.\n" +
		"--repair mends two things only: indexes and counters that do not follow from the journal,\n" +
		"and leases that ran out. It copies the state first. Whatever else is damaged is for a backup."
	return c
}

// verifyFile checks a state file in this process, which a damaged file may end.
func verifyFile(ctx context.Context, path string) error {
	err := bolt.VerifyFile(ctx, path)
	if errors.Is(err, store.ErrCorrupt) {
		// Which records are damaged says more to an operator than any word of ours.
		return kernel.Errorf(kernel.Unavailable, "state_damaged", "%s", show(err.Error(), 1000))
	}
	return err
}

func (a *app) doctor(limit time.Duration) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	checks := checksOf(a, home, limit)
	healthy := true
	for _, c := range checks {
		healthy = healthy && c.State != stateBad
	}
	f := newFields().set("healthy", healthy).set("home", home.Dir).set("version", client.Version).set("checks", checks)
	if !healthy {
		e := kernel.Errorf(kernel.Unavailable, "unhealthy", "something here needs mending: see checks").Try("loopx doctor")
		f = errorFields(e).add(f.json())
	}
	err = a.out(f, func() string {
		rows := make([][]string, 0, len(checks))
		for _, c := range checks {
			rows = append(rows, []string{shape(c.State), c.Name, show(c.Text, 200)})
		}
		text := a.table(rows)
		for _, c := range checks {
			if c.Fix != "" {
				text += "  " + c.Name + ": try: " + show(c.Fix, 200) + "\n"
			}
		}
		return text
	})
	if err == nil && !healthy {
		err = exitError(kernel.Unavailable.ExitCode())
	}
	return err
}

// checks looks at everything there is to look at.
func checksOf(a *app, home client.Home, limit time.Duration) []check {
	checks := []check{folderCheck(home)}
	if home.Check() == nil && home.Exists() {
		checks = append(checks, filesCheck(home), diskCheck(home), a.holderCheck(home))
		daemon, running := a.daemonChecks(home)
		checks = append(checks, daemon...)
		if !running {
			checks = append(checks, a.fileCheck(home, limit))
		}
		checks = append(append(checks, configCheck(home)), a.leftovers(home)...)
		checks = append(checks, a.reachChecks(checks)...)
	}
	return append(checks, projectChecks(a)...)
}

// exitError ends the process with a code after everything was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func shape(state string) string {
	return map[string]string{stateOK: "● ok", stateNote: "○ note", stateBad: "✕ bad"}[state]
}

func bad(name string, err error) check {
	e := kernel.AsError(err)
	return check{name, stateBad, e.Message, e.Fix}
}

func folderCheck(home client.Home) check {
	if err := home.Check(); err != nil {
		return bad("folder", err)
	}
	if _, err := os.Lstat(home.Dir); err != nil || !home.Exists() {
		return check{"folder", stateNote, home.Dir + " holds no workspace yet", "loopx goal create --goal-id NAME --objective TEXT"}
	}
	return check{"folder", stateOK, home.Dir + " is yours alone", ""}
}

func filesCheck(home client.Home) check {
	for _, path := range []string{home.DB(), home.TokenFile()} {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return check{"files", stateNote, path + " is missing", "any command that writes makes it again"}
		case err != nil:
			return check{"files", stateBad, path + " cannot be looked at", ""}
		case !info.Mode().IsRegular():
			return check{"files", stateBad, path + " is no plain file", ""}
		case info.Mode().Perm()&0o077 != 0:
			return check{"files", stateBad, fmt.Sprintf("%s is open to others (mode %04o)", path, info.Mode().Perm()), "chmod 600 " + path}
		}
	}
	return check{"files", stateOK, "state file and owner token are yours alone", ""}
}

func diskCheck(home client.Home) check {
	var st syscall.Statfs_t
	if err := syscall.Statfs(home.Dir, &st); err != nil {
		return check{"disk", stateNote, "the free space is not known", ""}
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	text := fmt.Sprintf("%d MiB free", free>>20)
	if free < lowDisk {
		return check{"disk", stateNote, text, "free some space; writes are refused whole when none is left"}
	}
	return check{"disk", stateOK, text, ""}
}

func (a *app) holderCheck(home client.Home) check {
	h, held, err := bolt.ReadHolder(home.Dir)
	switch {
	case err != nil:
		return bad("lock", err)
	case held:
		return check{"lock", stateOK, fmt.Sprintf("held by %s (pid %d) since %s", show(h.Command, 40), h.PID, a.clock(h.Since)), ""}
	case h.PID != 0:
		return check{"lock", stateNote, fmt.Sprintf("free; %s (pid %d) ended without giving it back", show(h.Command, 40), h.PID), ""}
	}
	return check{"lock", stateOK, "free", ""}
}

func (a *app) daemonChecks(home client.Home) (out []check, running bool) {
	info, err := client.New(home).Info(a.ctx)
	switch {
	case client.NoDaemon(err):
		return []check{{"bot", stateNote, "no bot is running; commands use the state file themselves", ""}}, false
	case err != nil:
		return []check{bad("bot", err)}, true
	}
	text := fmt.Sprintf("version %s, pid %d, since %s", show(info.Version, 20), info.PID, a.clock(info.Since))
	if info.Page != "" {
		text += ", page " + show(info.Page, 100)
	}
	out = append(out, check{"bot", stateOK, text, ""})
	for _, c := range info.Connections {
		state := stateNote
		switch chat.HealthState(c.State) {
		case chat.Ready:
			state = stateOK
		case chat.Failed, chat.Contested:
			state = stateBad
		}
		out = append(out, check{"connection", state, show(strings.TrimSpace(c.Name+" ("+c.Platform+"): "+c.State+" "+c.Detail), 240), show(c.Fix, 300)})
	}
	return out, true
}

// fileCheck verifies the whole state file in a child process: what a damaged file
// does to it, or how long it takes, stays there.
func (a *app) fileCheck(home client.Home, limit time.Duration) check {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	self := a.opt.Self
	if len(self) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return check{"file", stateNote, "not checked: this program cannot be found again", ""}
		}
		self = []string{exe}
	}
	tail := &tailWriter{most: 4000}
	c := exec.CommandContext(ctx, self[0], append(self[1:len(self):len(self)], "--json", "doctor", "--verify-file", home.DB())...)
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = a.opt.Env, tail, tail, time.Second
	err := c.Run()
	switch {
	case err == nil:
		return check{"file", stateOK, "every page and record is whole", ""}
	case ctx.Err() != nil:
		return check{"file", stateBad, "the check did not end within " + limit.String(), "loopx doctor --timeout 10m"}
	case c.ProcessState != nil && c.ProcessState.ExitCode() == kernel.Locked.ExitCode() && strings.Contains(tail.String(), `"class":"locked"`):
		return check{"file", stateNote, "not checked: another process is using it", "loopx doctor"}
	}
	text := "it is damaged; it was kept as it is"
	if _, after, ok := strings.Cut(tail.String(), `"message":"`); ok {
		message, _, _ := strings.Cut(after, `","`)
		text += ": " + message
	}
	return check{"file", stateBad, text, "keep a copy of " + home.DB() + ", then restore a backup"}
}

// projectChecks tell of the link of the folder this runs in, if it has one.
func projectChecks(a *app) []check {
	p, why := a.project()
	switch {
	case why != "":
		return []check{{"project", stateNote, "its .loopx/link.toml does not count: " + why, "loopx connect --goal-id GOAL"}}
	case p != nil:
		return []check{{"project", stateOK, "works on " + p.Goal + " in " + p.Home + ": " + p.Dir, ""}}
	}
	return nil
}

func configCheck(home client.Home) check {
	b, err := os.ReadFile(home.Config())
	if errors.Is(err, os.ErrNotExist) {
		return check{"config", stateOK, "none; the bot starts with the page alone", ""}
	}
	if err != nil {
		return check{"config", stateBad, home.Config() + " cannot be read", ""}
	}
	var any map[string]any
	if err := toml.Unmarshal(b, &any); err != nil {
		line := ""
		if d, ok := errors.AsType[*toml.DecodeError](err); ok {
			n, _ := d.Position()
			line = fmt.Sprintf(", line %d", n)
		}
		return check{"config", stateBad, home.Config() + line + ": " + show(err.Error(), 100), "mend that line"}
	}
	return check{"config", stateOK, home.Config() + " reads well", ""}
}
