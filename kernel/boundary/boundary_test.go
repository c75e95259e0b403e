package boundary_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"loopx/kernel/boundary"
)

// Every labelled text of the corpus is found under its label, and no clean one is.
func TestCorpus(t *testing.T) {
	b, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := boundary.New()
	labelled, clean := 0, 0
	for line := range strings.Lines(strings.ReplaceAll(string(b), "¦", "")) {
		want, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("%q has no label", line)
			}
			continue
		}
		if want == "-" {
			clean++
			if got := s.All(text); len(got) > 0 || s.Find(text) != "" {
				t.Errorf("%q is clean, and was called %v", text, got)
			}
			continue
		}
		labelled++
		if got := s.All(text); !slices.Contains(got, want) || s.Find(text) == "" {
			t.Errorf("%q holds a %s, and was called %v", text, want, got)
		}
		// Where it stands in a text does not matter.
		if got := s.All("before it\n" + text + "\nand after"); !slices.Contains(got, want) {
			t.Errorf("%q holds a %s between other lines, and was called %v", text, want, got)
		}
	}
	if labelled < 40 || clean < 40 {
		t.Errorf("the corpus has %d labelled and %d clean texts: it was not read whole", labelled, clean)
	}
}

// Scanning takes time in proportion to the text, whatever the text is.
func FuzzScan(f *testing.F) {
	f.Add("password=correct-horse-9 at ~/.ssh")
	f.Add(strings.Repeat("a:", 1000))
	s := boundary.New()
	f.Fuzz(func(t *testing.T, text string) {
		if first, all := s.Find(text), s.All(text); (first == "") != (len(all) == 0) || first != "" && first != all[0] {
			t.Errorf("Find says %q, All says %v", first, all)
		}
	})
}
