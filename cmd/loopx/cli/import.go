package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"loopx/kernel"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const actImport = "importing a project"

func importCmd(a *app) *cobra.Command { return noun("import", importLoopx(a)) }

// importTotals are a report in numbers; together they are all rows.
type importTotals struct {
	Rows    int `json:"rows"`
	Kept    int `json:"kept"`
	Changed int `json:"changed"`
	Refused int `json:"refused"`
}

func importLoopx(a *app) *cobra.Command {
	var project string
	var execute bool
	c := a.verbOf("loopx", "take in a project of LoopX (shows it; --execute does it): an owner's act", func(f *pflag.FlagSet) {
		f.StringVar(&project, "project", "", "folder with .loopx/registry.json; it is only read")
		f.BoolVar(&execute, "execute", false, "do it")
		a.ownerFlags(f)
	}, func() error {
		if project == "" {
			return kernel.Errorf(kernel.Invalid, "missing_project", "no folder was named").Try("loopx import loopx --project DIR")
		}
		plans, err := importPlans(a, project)
		if err != nil {
			return err
		}
		if err := importChecked(a, plans, execute); err != nil {
			return err
		}
		totals, rows := totalsOf(plans)
		f := newFields().set("totals", totals).set("rows", rows).set("executed", execute).set("changed", execute)
		if !execute {
			f.set("preview", true).set("dry_run", true)
		}
		return a.out(f, func() string { return importText(totals, rows, execute) })
	})
	c.Long = "Reads the registry, the state files, the index of runs and the leases of a project of\n" +
		"LoopX, and says of every row whether it is kept, changed or refused. Decisions come as\n" +
		"history and give no right; claims and leases end. --runtime-root names the folder of runs\n" +
		"where the registry does not. Interrupted, the same import goes on where it stopped."
	return c
}

// importPlans reads the project.
func importPlans(a *app, project string) ([]*importPlan, error) {
	root, err := filepath.Abs(project)
	if err != nil {
		return nil, fileError(project, err)
	}
	reg, file, err := readRegistry(root)
	if err != nil {
		return nil, err
	}
	runtime := runtimeRoot(a, reg)
	a.g.runtime = "" // it named the other program's folder, not ours
	var plans []*importPlan
	n := 0
	seen := map[string]bool{}
	for _, raw := range reg.Goals {
		p := planGoal(root, file, runtime, raw, seen, a.now().UnixMilli())
		if n += len(p.rows); n > importRowsMost {
			return nil, kernel.Errorf(kernel.Exhausted, "too_large", "the project has more than %d rows", importRowsMost)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// refuse gives a goal up with all its rows.
func (p *importPlan) refuse(why string) {
	p.bad = true
	for _, r := range p.rows {
		r.refused("its goal was refused")
	}
	p.rows[0].refused(why)
}

// importChecked looks at what is here already and, when told to, does it. What the
// kernel refuses of a preview is found by the kernel's own commands.
func importChecked(a *app, plans []*importPlan, execute bool) error {
	var by kernel.Actor
	var err error
	if execute {
		totals, rows := totalsOf(plans)
		by, err = a.owner(actImport, func() string { return importText(totals, rows, false) }, "import")
	} else {
		by, err = a.ownerPreview(actImport)
	}
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.bad {
			continue
		}
		if err := importKnown(a, p, by); err != nil {
			return err
		}
		if execute && !p.bad {
			if err := importRun(a, p, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// importKnown gives ids that are in use here another name. The same import begun
// before is recognised by its key, so that it can go on.
func importKnown(a *app, p *importPlan, by kernel.Actor) error {
	var ids []string
	begun := false
	for _, t := range p.todos {
		ids = append(ids, t.ID)
	}
	for first := true; first || len(ids) > 0; first = false {
		part := ids[:min(len(ids), 1000)]
		ids = ids[len(part):]
		v, err := ask[view.TakenView](a, &view.Taken{Goal: p.goal.Goal, IDs: part})
		switch {
		case noWorkspace(err):
			return nil
		case err != nil:
			return err
		}
		begun = begun || v.Goal
		for _, id := range v.IDs {
			sum := sha256.Sum256([]byte(p.goal.Goal + "\x00" + id))
			p.renamed(id, "todo_"+hex.EncodeToString(sum[:6]))
		}
	}
	if begun {
		return nil // by this import, or goal.create says that it is there
	}
	svc, err := a.workspace()
	if err != nil {
		return err
	}
	_, err = svc.Do(a.ctx, &p.goal, kernel.Options{By: by, Preview: true})
	if e := kernel.AsError(err); e != nil && (e.Class == kernel.Invalid || e.Class == kernel.Exhausted) {
		p.refuse(e.Message)
		return nil
	}
	return err
}

// importRun makes one goal. It stays stopped until all of it is there. Each step
// has a key of its own, so that a second run goes on where the first one ended.
func importRun(a *app, p *importPlan, by kernel.Actor) error {
	svc, err := a.workspace()
	if err != nil {
		return err
	}
	step := 0
	do := func(cmd kernel.Command) error {
		step++
		_, err := svc.Do(a.ctx, cmd, kernel.Options{By: by, Key: fmt.Sprintf("import_%s_%d", p.goal.Goal, step)})
		if e := kernel.AsError(err); e != nil && e.Code == "key_reused" {
			return kernel.Errorf(kernel.Conflict, "import_differs", "%s was imported before from another state of the project", p.goal.Goal).Try("loopx status --goal-id %s", p.goal.Goal)
		}
		return err
	}
	if err := do(&p.goal); err != nil {
		return err
	}
	if err := do(&kernel.PauseGoal{Goal: p.goal.Goal}); err != nil {
		return err
	}
	for part := range slices.Chunk(p.todos, 40) {
		if err := do(&kernel.ImportRows{Goal: p.goal.Goal, Todos: part}); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(p.runs, kernel.ImportMost) {
		if err := do(&kernel.ImportRows{Goal: p.goal.Goal, Runs: part}); err != nil {
			return err
		}
	}
	if n := len(p.spends); n > 0 {
		if err := do(&kernel.ImportRows{Goal: p.goal.Goal, Spends: p.spends[max(0, n-5000):]}); err != nil {
			return err
		}
	}
	for _, g := range p.gates {
		c := g.cmd
		err := do(&c)
		if e := kernel.AsError(err); e != nil && e.Class == kernel.Invalid {
			// The question itself is not acceptable here; the goal must not go on without it.
			g.row.refused(e.Message)
			p.stopped = true
			continue
		} else if err != nil {
			return err
		}
	}
	if p.stopped {
		return nil
	}
	return do(&kernel.PauseGoal{Goal: p.goal.Goal, Resume: true})
}

func totalsOf(plans []*importPlan) (importTotals, []*importRow) {
	var t importTotals
	rows := []*importRow{}
	for _, p := range plans {
		for _, r := range p.rows {
			rows = append(rows, r)
			t.Rows++
			switch r.Verdict {
			case rowKept:
				t.Kept++
			case rowChanged:
				t.Changed++
			default:
				t.Refused++
			}
		}
	}
	return t, rows
}

func importText(t importTotals, rows []*importRow, done bool) string {
	var b strings.Builder
	word := "would import"
	if done {
		word = "Imported"
	}
	fmt.Fprintf(&b, "%s: %s: %d kept, %d changed, %d refused\n", word, count(t.Rows, "row", "rows"), t.Kept, t.Changed, t.Refused)
	shown := 0
	for _, r := range rows {
		if r.Verdict == rowKept {
			continue
		}
		if shown++; shown > 40 {
			b.WriteString("  … and more; --json lists every row\n")
			break
		}
		fmt.Fprintf(&b, "  %s %s %s: %s\n", r.Verdict, r.Kind, show(r.ID, 60), show(r.Why, 200))
	}
	if !done {
		b.WriteString("  nothing was changed\n  to do it add --execute\n")
	}
	return b.String()
}
