package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the register names exists: the verbs, and the checks that show them.
func TestCapabilitiesAreReal(t *testing.T) {
	var scripts []string
	tests := ""
	root := filepath.Join("..", "..", "..")
	for _, dir := range []string{"cmd", "kernel"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case strings.HasSuffix(p, ".txtar"):
				scripts = append(scripts, filepath.Base(p))
			case strings.HasSuffix(p, "_test.go"):
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				tests += string(b)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ids := map[string]bool{}
	for _, c := range capabilities(nil) {
		if ids[c.ID] {
			t.Errorf("%s is registered twice", c.ID)
		}
		ids[c.ID] = true
		if !slices.Contains([]string{"stable", "preview", "experimental"}, c.Maturity) || c.Value == "" || len(c.Commands) == 0 || len(c.Not) == 0 || len(c.Checks) == 0 {
			t.Errorf("%s is not told in full: %+v", c.ID, c)
		}
		if !c.Enabled && c.TurnOn == "" {
			t.Errorf("%s is off, and nothing turns it on", c.ID)
		}
		commands := []string{"loopx " + c.Entry}
		for _, x := range c.Commands {
			if x.Writes == "" {
				t.Errorf("%s: %s does not say what it writes", c.ID, x.Command)
			}
			commands = append(commands, x.Command)
		}
		for _, line := range commands {
			words := strings.Fields(line)
			if words[0] == "loopx-bot" {
				continue
			}
			root := newApp(t.Context(), Options{Out: &strings.Builder{}}).root()
			found, rest, err := root.Find(words[1:])
			if err != nil || found == root || len(rest) > 0 && found.Flags().Lookup(strings.TrimPrefix(rest[0], "--")) == nil {
				t.Errorf("%s: there is no %q", c.ID, line)
			}
		}
		for _, check := range c.Checks {
			if !slices.Contains(scripts, check) && !strings.Contains(tests, "func "+check+"(") {
				t.Errorf("%s: nothing is called %s", c.ID, check)
			}
		}
	}
}
