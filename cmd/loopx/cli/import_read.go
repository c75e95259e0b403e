package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"loopx/kernel"
)

// What a project of LoopX holds, read without changing it: a registry, a state
// file for each goal with its todos, an index of runs, and leases.

const (
	importFileMost = 32 << 20 // bytes of one file
	importRowsMost = 200_000  // rows of a project
)

// importRow is one row of what was read and what becomes of it. Every row that
// was found has exactly one.
type importRow struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Kind    string `json:"kind"` // goal, agent, todo, gate, run, spend, lease
	ID      string `json:"id,omitempty"`
	Verdict string `json:"verdict"` // kept, changed, refused
	Why     string `json:"why,omitempty"`
}

const (
	rowKept    = "kept"
	rowChanged = "changed"
	rowRefused = "refused"
)

// changed notes a difference; what was refused stays so.
func (r *importRow) changed(why string) {
	if r.Verdict == rowRefused {
		return
	}
	r.Verdict = rowChanged
	if r.Why != "" {
		r.Why += "; "
	}
	r.Why += why
}

func (r *importRow) refused(why string) { r.Verdict, r.Why = rowRefused, why }

// refRegistry is the registry file, as far as it is read.
type refRegistry struct {
	Runtime string            `json:"common_runtime_root"`
	Goals   []json.RawMessage `json:"goals"`
}

type refGoal struct {
	ID         string `json:"id"`
	Repo       string `json:"repo"`
	StateFile  string `json:"state_file"`
	Activation *struct {
		State string `json:"state"`
	} `json:"activation"`
	Quota *struct {
		Compute *float64 `json:"compute"`
		Window  *float64 `json:"window_hours"`
		Minutes *float64 `json:"slot_minutes"`
		Allowed *int     `json:"allowed_slots"`
	} `json:"quota"`
	Coordination struct {
		Agents []string          `json:"registered_agents"`
		Modes  map[string]string `json:"agent_work_modes"`
		Write  []string          `json:"write_scope"`
	} `json:"coordination"`
}

// refTodo is a checkbox of a state file with its comment.
type refTodo struct {
	line    int
	role    string // agent, user
	mark    byte   // ' ', 'x', '-'
	text    string
	fields  map[string]string
	invalid []string // fields that do not decode
}

// refState is a state file.
type refState struct {
	front   map[string]string
	section map[string][]string // plain lines by heading, lower case
	todos   []*refTodo
}

// readBounded reads one plain file; a link or a huge one is refused.
func readBounded(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no plain file")
	case info.Size() > importFileMost:
		return nil, errors.New("it is larger than 32 MiB")
	}
	return io.ReadAll(io.LimitReader(f, importFileMost))
}

func readRegistry(project string) (*refRegistry, string, error) {
	path := filepath.Join(project, ".loopx", "registry.json")
	b, err := readBounded(path)
	if err != nil {
		return nil, path, kernel.Errorf(kernel.NotFound, "no_project", "%s has no readable .loopx/registry.json, so it is no project of LoopX", show(project, 300)).Try("loopx import loopx --project DIR")
	}
	var r refRegistry
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, path, kernel.Errorf(kernel.Invalid, "bad_registry", "%s is no registry: it does not decode", show(path, 300))
	}
	return &r, path, nil
}

// stateFile is where a goal's state lies: inside the project, whatever it says.
func stateFile(project string, g *refGoal) string {
	tries := []string{filepath.Join(".codex", "goals", g.ID, "ACTIVE_GOAL_STATE.md"), filepath.Join(".claude", "goals", g.ID, "ACTIVE_GOAL_STATE.md")}
	if g.StateFile != "" {
		if filepath.IsAbs(g.StateFile) {
			if rel, err := filepath.Rel(project, g.StateFile); err == nil {
				tries = slices.Insert(tries, 0, rel)
			}
		} else {
			tries = slices.Insert(tries, 0, g.StateFile)
		}
	}
	for _, t := range tries {
		if !filepath.IsLocal(t) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(project, t)); err == nil {
			return filepath.Join(project, t)
		}
	}
	return ""
}

// parseState reads a state file. It never fails: what is no todo is text.
func parseState(b []byte) *refState {
	s := &refState{front: map[string]string{}, section: map[string][]string{}}
	heading, role, front := "", "", false
	var last *refTodo
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "---" && (i == 0 || front):
			front = !front && i == 0
			continue
		case front:
			if k, v, ok := strings.Cut(line, ":"); ok {
				s.front[strings.TrimSpace(k)] = strings.Trim(strings.TrimSpace(v), `"'`)
			}
			continue
		case strings.HasPrefix(line, "#"):
			heading = strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			role, last = roleOf(heading), nil
			continue
		}
		if t := todoLine(line); t != nil && role != "" {
			t.line, t.role = i+1, role
			s.todos = append(s.todos, t)
			last = t
			continue
		}
		if last != nil && trimmed != "" && line != strings.TrimLeft(line, " \t") {
			last.more(trimmed)
			continue
		}
		if trimmed != "" {
			last = nil
			s.section[heading] = append(s.section[heading], trimmed)
		}
	}
	for _, t := range s.todos {
		// An archive holds what both roles finished.
		if strings.HasPrefix(t.fields["task_class"], "user_") {
			t.role = "user"
		}
	}
	return s
}

func roleOf(heading string) string {
	switch {
	case strings.HasPrefix(heading, "user todo"):
		return "user"
	case strings.HasPrefix(heading, "agent todo"), strings.Contains(heading, "archive"):
		return "agent"
	}
	return ""
}

// todoLine reads "- [ ] text"; nil when the line is none.
func todoLine(line string) *refTodo {
	if len(line) < 6 || line[:3] != "- [" || line[4] != ']' || !strings.ContainsRune(" xX-", rune(line[3])) {
		return nil
	}
	mark := line[3]
	if mark == 'X' {
		mark = 'x'
	}
	return &refTodo{mark: mark, text: strings.TrimSpace(line[5:]), fields: map[string]string{}}
}

// more takes an indented line: the comment with the fields, or more text.
func (t *refTodo) more(line string) {
	rest, ok := strings.CutPrefix(line, "<!-- loopx:todo")
	if !ok {
		t.text += "\n" + line
		return
	}
	rest, closed := strings.CutSuffix(strings.TrimSpace(rest), "-->")
	if !closed {
		t.invalid = append(t.invalid, "the comment is not closed")
	}
	for kv := range strings.FieldsSeq(rest) {
		k, v, ok := strings.Cut(kv, "=")
		text, err := url.PathUnescape(v)
		switch {
		case !ok || err != nil:
			t.invalid = append(t.invalid, show(k, 40))
		case t.fields[k] != "":
			t.invalid = append(t.invalid, k+" twice")
		default:
			t.fields[k] = text
		}
	}
}

// list reads a field with several values.
func (t *refTodo) list(name string) []string {
	v := t.fields[name]
	var out []string
	if strings.HasPrefix(v, "[") && json.Unmarshal([]byte(v), &out) == nil {
		return out
	}
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (t *refTodo) yes(name string) bool { return t.fields[name] == "true" || t.fields[name] == "1" }

// refLine is one line of an index of runs.
type refLine struct {
	At             string  `json:"generated_at"`
	Goal           string  `json:"goal_id"`
	Classification string  `json:"classification"`
	Recommended    string  `json:"recommended_action"`
	Agent          string  `json:"agent_id"`
	Todo           string  `json:"todo_id"`
	Turn           string  `json:"turn_instance_id"`
	Outcome        string  `json:"delivery_outcome"`
	Slots          float64 `json:"slots"`
	Voids          string  `json:"void_generated_at"`
}

// jsonLines gives each line that is not blank to fn with its number.
func jsonLines(b []byte, fn func(n int, line []byte)) {
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, importFileMost)
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) > 0 {
			fn(n, sc.Bytes())
		}
	}
}

// runtimeRoot is where runs and leases lie.
func runtimeRoot(a *app, r *refRegistry) string {
	root := r.Runtime
	if a.g.runtime != "" {
		root = a.g.runtime
	}
	if root == "" {
		root = "~/.codex/loopx"
	}
	if rest, ok := strings.CutPrefix(root, "~/"); ok {
		root = filepath.Join(a.env["HOME"], rest)
	}
	return root
}
