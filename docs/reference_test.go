package docs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopx/cmd/loopx/cli"
)

// Every verb and flag of the command line, as its own help has them.
func TestCommandReference(t *testing.T) {
	verbs := cli.Reference()
	if len(verbs) < 80 {
		t.Fatalf("only %d verbs were found: the test has lost its eyes", len(verbs))
	}
	var b strings.Builder
	b.WriteString("# The command line\n\nMade from the code: `go test ./docs -update`. The same text is the manual page, [loopx.1](loopx.1), and `loopx man`. What each answer holds with `--json` is in [the JSON reference](json.md); refusals are in [the list of errors](errors.md).\n")
	flags := func(list []cli.FlagDoc) {
		if len(list) == 0 {
			return
		}
		b.WriteString("\n| flag | value | default | meaning |\n|---|---|---|---|\n")
		for _, f := range list {
			fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, f.Type, f.Default, strings.ReplaceAll(f.Usage, "|", `\|`))
		}
	}
	b.WriteString("\n## Flags of every verb\n")
	flags(verbs[0].Flags)
	group := ""
	for _, v := range verbs[1:] {
		if v.Group != group {
			group = v.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s.\n", v.Use, strings.ToUpper(v.Short[:1])+v.Short[1:])
		if v.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", v.Long)
		}
		flags(v.Flags)
	}
	same(t, "docs/reference/cli.md", b.String())
	same(t, "docs/reference/loopx.1", cli.ManPage())
}

// example is one run of a verb. keep names fields of the answer that later runs
// use as $NAME; fails says that the refusal is what is shown.
type example struct {
	line  string
	keep  map[string]string // name -> field
	owner bool              // with the owner's proof
}

// examples are one story on an empty folder, in its order; each verb is shown by
// its first run here.
func examples() []example {
	return []example{
		{line: `start-goal --goal-id blog --objective "Write weekly" --agent-id writer --todo "[P1] First post"`},
		{line: `goal create --goal-id site --objective "Ship the pricing page" --agent-id builder --agent-id reviewer`},
		{line: `agent register --goal-id site --agent-id analyst --host codex`},
		{line: `todo add --goal-id site --text "[P0] Write the page"`, keep: map[string]string{"A": "todo_id"}},
		{line: `todo add --goal-id site --text "[P1] Publish it"`, keep: map[string]string{"B": "todo_id"}},
		{line: `todo add --goal-id site --task-class continuous_monitor --text "Watch the build" --cadence 1h --watch-only`, keep: map[string]string{"M": "todo_id"}},
		{line: `session open --goal-id site --agent-id builder --session s1`},
		{line: `quota should-run --goal-id site --agent-id builder`},
		{line: `tick --goal-id site --agent-id builder --session s1 --turn-instance-id t1`},
		{line: `todo claim --goal-id site --agent-id builder --todo-id $A`},
		{line: `todo update --goal-id site --agent-id builder --todo-id $A --note "half done"`},
		{line: `todo complete --goal-id site --agent-id builder --turn-instance-id t1 --todo-id $A --evidence "check: tests 212/212" --no-follow-up`},
		{line: `quota spend-slot --goal-id site --agent-id builder --turn-instance-id t1 --execute`, keep: map[string]string{"S": "spend_id"}},
		{line: `gate open --goal-id site --agent-id builder --question "Publish the page?" --option go=Publish:approve --option hold=Hold:reject --blocks-todo $B`, keep: map[string]string{"G": "gate_id"}},
		{line: `gate list --goal-id site`},
		{line: `gate show --gate-id $G`},
		{line: `attention --goal-id site`},
		{line: `forget --connection work --conversation C1`},
		{line: `why --goal-id site --agent-id builder`},
		{line: `review-packet --goal-id site`},
		{line: `gate answer --gate-id $G --option go --reason "Looks right"`, owner: true},
		{line: `gate change --gate-id $G --option hold`, owner: true},
		{line: `gate release --gate-id $G`, owner: true},
		{line: `gate open --goal-id site --agent-id builder --question "Which colour?" --advisory`, keep: map[string]string{"W": "gate_id"}},
		{line: `gate withdraw --gate-id $W --agent-id builder`},
		{line: `grant list --goal-id site`},
		{line: `tick --goal-id site --agent-id builder --turn-instance-id t2`},
		{line: `todo transfer --goal-id site --agent-id builder --todo-id $B --to reviewer`},
		{line: `refresh-state --goal-id site --agent-id builder --delivery-outcome outcome_progress --note "Handed over"`},
		{line: `todo supersede --goal-id site --agent-id reviewer --todo-id $B --next-agent-todo "Publish it on Monday"`},
		{line: `todo update --goal-id site --agent-id analyst --todo-id $M --status deferred --resume-when event:released`},
		{line: `event fire --goal-id site --key released`},
		{line: `quota monitor-poll --goal-id site --agent-id analyst --todo-id $M --execute`},
		{line: `turn show --goal-id site --agent-id builder --turn-instance-id t1`},
		{line: `tick --goal-id blog --agent-id writer --turn-instance-id t1`, keep: map[string]string{"C": "selected_todo.todo_id"}},
		{line: `turn commit --goal-id blog --agent-id writer --turn-instance-id t1 --todo-id $C --complete --evidence "link: the post" --no-follow-up`},
		{line: `quota void-slot --goal-id site --spend-id $S --reason-summary "the check was wrong" --execute`, owner: true},
		{line: `todo list --goal-id site`},
		{line: `todo show --goal-id site --todo-id $M`},
		{line: `status --goal-id site`},
		{line: `log --goal-id blog`},
		{line: `history --goal-id site`},
		{line: `find pricing`},
		{line: `board --goal-id site`},
		{line: `goal list`},
		{line: `goal show --goal-id blog`},
		{line: `agent list --goal-id site`},
		{line: `goal configure --goal-id blog`},
		{line: `configure-goal --goal-id blog --allowed-slots 20`, owner: true},
		{line: `quota status --goal-id site`},
		{line: `quota plan --goal-id site --agent-id builder`},
		{line: `session list --goal-id site`},
		{line: `session close --goal-id site --session s1`},
		{line: `preset list`},
		{line: `preset show pr-watch`},
		{line: `preset start pr-watch --agent-id bot`},
		{line: `capability list`},
		{line: `capability show gates`},
		{line: `link list`},
		{line: `role list --goal-id site`},
		{line: `bind list`},
		{line: `person list`},
		{line: `inbox list --goal-id site`},
		{line: `export --goal-id blog`},
		{line: `usage`},
		{line: `ready-score --goal-id site`},
		{line: `first-run-report`},
		{line: `version`},
		{line: `connect --goal-id site --project $PROJECT`},
		{line: `check --scan-path $PROJECT`},
		{line: `gate open --goal-id blog --agent-id writer --question "Print it too?" --advisory`, keep: map[string]string{"D": "gate_id"}},
		{line: `gate answer --gate-id $D --option approve`, owner: true},
		{line: `gate disown --gate-id $D`, owner: true},
		{line: `goal stop --goal-id blog --execute`},
		{line: `goal resume --goal-id blog --execute`, owner: true},
		{line: `goal close --goal-id blog --outcome "Enough written" --execute`, owner: true},
		{line: `backup create --output $BACKUP`},
	}
}

// unshown are verbs without an example here, and why.
func unshown() map[string]string {
	return map[string]string{
		"loopx man":    "its answer is one text",
		"loopx wait":   "it answers as `gate show` or `quota should-run` do, once there is something",
		"loopx doctor": "its answer depends on the machine: `healthy`, and `checks` with name, state, text and fix",
		"loopx link":   "a person has to type the code into a chat", "loopx link confirm": "it wants a chat account", "loopx link page": "it wants an open page",
		"loopx link revoke": "it wants a chat account", "loopx link unsuspend": "it wants a chat account",
		"loopx grant revoke": "it wants a standing approval", "loopx gate reopen": "it wants an expired gate",
		"loopx role grant": "it wants a person known here", "loopx role revoke": "it wants a role", "loopx person set": "it wants a person known here", "loopx attention set": "it wants a person known here", "loopx attention away": "it wants a person known here",
		"loopx bind set": "it wants a chat", "loopx bind show": "it wants a binding", "loopx bind remove": "it wants a binding", "loopx bind confirm": "it wants a binding",
		"loopx inbox next": "it wants a message from a chat", "loopx inbox settle": "it wants a message from a chat", "loopx inbox admit": "it wants a message from a chat",
		"loopx inbox dead": "it wants a message from a chat", "loopx inbox withdraw": "it wants a message from a chat", "loopx inbox redeliver": "it wants a message from a chat",
		"loopx quota scheduler-ack-current": "it wants the token of an advice",
		"loopx import loopx":                "it wants a project of LoopX",
		"loopx turn run":                    "it runs a host", "loopx backup verify": "it runs this program again", "loopx backup restore": "it runs this program again",
		"loopx compact": "it runs this program again", "loopx migrate": "it wants a state of an older version",
	}
}

// The fields of each answer, from answers that were really given.
func TestJSONReference(t *testing.T) {
	dir := t.TempDir()
	home, project := filepath.Join(dir, "home"), t.TempDir()
	vars := map[string]string{"PROJECT": project, "BACKUP": filepath.Join(dir, "copy.db")}
	env := []string{"HOME=" + dir, "LOOPX_HOME=" + home}
	plain := &plainer{ids: map[string]string{}, n: map[string]int{}, paths: strings.NewReplacer(project, "PROJECT", home, "HOME/.loopx", dir, "HOME")}
	var b strings.Builder
	b.WriteString("# Answers in JSON\n\nMade by running the verbs: `go test ./docs -update`. With `--json` (or `--format json`) each verb prints one object on one line. `ok` and `schema_version` stand in front of every answer and are not repeated below; a field is only ever added within one schema version. Ids, times, digests and tokens are replaced by examples, and of each list the first entry is shown. A refusal is `{ok: false, class, code, message, fix, details}`, see [the list of errors](errors.md); a preview adds `preview`, `would_change`, `plan_rev` and `changes`. The verbs themselves are in [the command line's reference](cli.md).\n")
	shown := map[string]bool{}
	verbs := cli.Reference()
	for _, x := range examples() {
		args := words(t, x.line)
		for i := range args {
			args[i] = os.Expand(args[i], func(name string) string { return vars[name] })
		}
		if x.owner {
			args = append(args, "--owner-token-file", filepath.Join(home, "owner.token"))
		}
		var out, errs strings.Builder
		if code := cli.Run(context.WithoutCancel(t.Context()), append(args, "--json"), env, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("loopx %s: exit %d\n%s%s", x.line, code, out.String(), errs.String())
		}
		for name, field := range x.keep {
			vars[name] = fieldOf(t, out.String(), field)
		}
		verb := verbOf(verbs, args)
		if shown[verb] {
			continue
		}
		shown[verb] = true
		answer, err := parseJSON(plain.text(out.String()))
		if err != nil {
			t.Fatalf("loopx %s: %v", x.line, err)
		}
		answer = answer.without("ok", "schema_version").firsts()
		fmt.Fprintf(&b, "\n## `%s`\n\n```sh\nloopx %s --json\n```\n\n| field | type |\n|---|---|\n", verb, x.line)
		for _, row := range answer.rows("") {
			fmt.Fprintf(&b, "| `%s` | %s |\n", row[0], row[1])
		}
		fmt.Fprintf(&b, "\n```json\n%s\n```\n", answer.pretty(""))
	}
	b.WriteString("\n## Not shown\n\n| verb | why |\n|---|---|\n")
	for _, v := range verbs {
		why, left := unshown()[v.Path]
		switch {
		case !v.Leaf:
		case shown[v.Path] && left:
			t.Errorf("%s has an example and a reason for having none", v.Path)
		case shown[v.Path]:
		case left:
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.Path, why)
		default:
			t.Errorf("%s has no example of its answer: add a run of it to examples, or the reason to unshown", v.Path)
		}
	}
	same(t, "docs/reference/json.md", b.String())
}

// verbOf is the longest verb that a call starts with.
func verbOf(verbs []cli.VerbDoc, args []string) string {
	best := ""
	for _, v := range verbs {
		w := strings.Fields(v.Path)[1:]
		if len(w) > 0 && len(w) <= len(args) && slices.Equal(w, args[:len(w)]) && len(v.Path) > len(best) {
			best = v.Path
		}
	}
	return best
}

// plainer replaces what differs from run to run.
type plainer struct {
	ids   map[string]string
	n     map[string]int
	paths *strings.Replacer
}

func (p *plainer) text(s string) string {
	s = p.paths.Replace(s)
	s = regexp.MustCompile(`\b(todo|gate|grant|lease|bind|msg|session)_[a-z0-9]{4,}\b`).ReplaceAllStringFunc(s, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		if p.ids[id] == "" && slices.Contains([]string{"todo_added", "todo_claimed", "todo_completed", "gate_opened", "gate_answered", "todo_superseded"}, id) {
			return id
		}
		if p.ids[id] == "" {
			p.n[kind]++
			p.ids[id] = kind + "_" + strconv.Itoa(p.n[kind]) + "abcdefg"
		}
		return p.ids[id]
	})
	for _, r := range [][2]string{
		{`\b1[0-9]{12}\b`, "1796000000000"}, {`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "2026-11-30T10:00:00Z"},
		{`"([0-9a-f]{16}|[0-9a-f]{32,64})"`, `"9f86d081…"`}, {`\bplan_[0-9a-f]{12}\b`, "plan_0123456789ab"}, {`"go":"[^"]*"`, `"go":"go1.26"`}, {`"os":"[^"]*"`, `"os":"linux"`}, {`"arch":"[^"]*"`, `"arch":"amd64"`},
		{`"size_bytes":\d+`, `"size_bytes":65536`}, {`\b[0-9]{2}:[0-9]{2} UTC`, "10:00 UTC"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
