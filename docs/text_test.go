package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// commands returns the lines of the fenced blocks of a page without comments.
func commands(page string) []string {
	var out []string
	in := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			in = !in
			continue
		}
		if in {
			line, _, _ = strings.Cut(line, " #")
			out = append(out, strings.TrimRight(line, " "))
		}
	}
	return out
}

// A reader of either language gets the same commands, and the two that set up
// everything.
func TestReadmesAgree(t *testing.T) {
	en, zh := commands(read(t, "README.md")), commands(read(t, "README.zh-CN.md"))
	if !slices.Equal(en, zh) {
		t.Errorf("the commands differ:\nREADME.md:\n%s\nREADME.zh-CN.md:\n%s", strings.Join(en, "\n"), strings.Join(zh, "\n"))
	}
	for _, must := range []string{"go run ./cmd/loopx-bot demo", "go test ./..."} {
		if i := slices.Index(en, must); i < 0 || i > 1 {
			t.Errorf("%q is not one of the first two commands of README.md", must)
		}
	}
}

// Headings of both READMEs come in the same number, so that neither is behind.
func TestReadmesHaveTheSameSections(t *testing.T) {
	count := func(file string) int { return strings.Count(read(t, file), "\n## ") }
	if en, zh := count("README.md"), count("README.zh-CN.md"); en != zh {
		t.Errorf("README.md has %d sections, README.zh-CN.md %d", en, zh)
	}
}

// Links to files and headings of the repository lead somewhere.
func TestLinksResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	n := 0
	for _, f := range readRepo(t).files {
		if !strings.HasSuffix(f, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(prose(read(t, f)), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			n++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := f
			if file != "" {
				to = path.Join(path.Dir(f), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil || strings.HasPrefix(to, "..") {
				t.Errorf("%s links to %s, which does not exist", f, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", f, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no link was found: the test has no teeth")
	}
}

// prose is a page without its fenced blocks.
func prose(page string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			in = !in
		} else if !in {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors are the headings of a page as links name them.
func anchors(page string) []string {
	var out []string
	for line := range strings.Lines(prose(page)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return out
}

// Paths of the repository that a page names in code font exist, so that a page
// cannot describe a house that was rebuilt.
func TestNamedPathsExist(t *testing.T) {
	named := regexp.MustCompile("`((?:kernel|inbox|routing|adapters|bot|cmd|fixtures|docs|\\.ci)/[A-Za-z0-9_./-]*)`")
	for _, f := range readRepo(t).files {
		if !strings.HasSuffix(f, ".md") || f == "CHANGELOG.md" {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(prose(read(t, f)), -1) {
			p := strings.TrimSuffix(m[1], "/...")
			if strings.Contains(p, "NAME") {
				continue // a place to be filled in
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); err != nil {
				t.Errorf("%s names %s, which does not exist", f, m[1])
			}
		}
	}
}
