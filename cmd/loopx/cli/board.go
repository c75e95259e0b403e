package cli

import (
	"fmt"
	"strings"
	"time"

	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func boardCmd(a *app) *cobra.Command {
	var s scope
	q := &view.Board{}
	return a.verbOf("board", "each goal in five lines: objective, next, needs you, evidence, continues", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
	}, func() error {
		q.Goal = s.goal
		v, raw, err := askRaw[view.BoardView](a, q)
		if noWorkspace(err) && s.goal == "" {
			v, raw, err = view.BoardView{}, fmt.Appendf(nil, `{"as_of":%d,"goals":[]}`, a.now().UnixMilli()), nil
		}
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw), func() string { return boardText(v) })
	})
}

func boardText(v view.BoardView) string {
	if len(v.Goals) == 0 {
		return "There is no goal yet.\n"
	}
	var b strings.Builder
	for i := range v.Goals {
		if i > 0 {
			b.WriteString("\n")
		}
		g := &v.Goals[i]
		fmt.Fprintf(&b, "%-12s as of %s\n", show(g.Title, 60), view.Clock(v.AsOf, v.AsOf, time.Local))
		for _, l := range g.Lines("en", v.AsOf, time.Local) {
			fmt.Fprintf(&b, "%-12s %s\n", l.Label, show(l.Text, 200))
		}
	}
	return b.String()
}
