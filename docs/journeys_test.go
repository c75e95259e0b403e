package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each journey has a row for each surface, each test that a row names exists
// where it says, and a row without a test says what is missing.
func TestJourneysPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "journeys.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := testsThere(t)
	link := regexp.MustCompile(`\[(Test\w+)\]\(\.\./([^)]+)\)`)
	for _, l := range link.FindAllStringSubmatch(string(page), -1) {
		if !there[l[2]+" "+l[1]] {
			t.Errorf("the page names %s, which is not in %s", l[1], l[2])
		}
	}
	var want, got []string
	for n := range 10 {
		for _, surface := range []string{"page", "Slack", "Discord", "Lark"} {
			want = append(want, strconv.Itoa(n+1)+" "+surface)
		}
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) [^|]+ \| (\w+) \| ([^|]+) \| ([^|]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1]+" "+m[2])
		if !link.MatchString(m[3]) && !strings.HasPrefix(m[4], "Not yet: ") {
			t.Errorf("journey %s on %s has no test and does not say why", m[1], m[2])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page has %v, the journeys are %v", got, want)
	}
}
