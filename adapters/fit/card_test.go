package fit_test

import (
	"fmt"
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

func limits(most int) fit.Limits {
	return fit.Limits{
		Title: 100, Text: 1000, Line: 500, Field: 500, Label: 100, From: 50, Value: 500, Links: 60,
		Quotes: 3, Options: 3, Facts: 8, Fields: 3, Evidence: 3, Buttons: 3, Most: most,
		Total: func(c chat.Card, notes []string) int {
			n := fit.Units(c.Title) + fit.Units(c.Question)
			for _, f := range c.Facts {
				n += fit.Units(f)
			}
			for _, s := range notes {
				n += fit.Units(s)
			}
			return n
		},
	}
}

// What is shown and what is said to be gone are together what there was, also
// when a text is cut twice.
func TestWhatIsGoneIsCounted(t *testing.T) {
	c := chat.Card{Question: strings.Repeat("q", 5000), Facts: []string{strings.Repeat("f", 3000)}}
	d := fit.Card(c, limits(400))
	for _, got := range []string{d.Question, d.Facts[0]} {
		shown, note, _ := strings.Cut(got, " … ")
		var gone int
		if _, err := fmt.Sscanf(note, "[%d more characters]", &gone); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if sum := len(shown) + gone; sum != 5000 && sum != 3000 {
			t.Errorf("%d shown and %d gone", len(shown), gone)
		}
	}
}

// When stumps are too much, items go and are counted.
func TestItemsGoLast(t *testing.T) {
	c := chat.Card{Evidence: []chat.Evidence{{URL: "https://e.example/" + strings.Repeat("x", 30)}, {URL: "https://e.example/" + strings.Repeat("y", 30)}}}
	for range 10 {
		c.Facts = append(c.Facts, strings.Repeat("f", 300))
	}
	d := fit.Card(c, limits(200))
	if limits(0).Total(d.Card, d.Notes) > 200 || len(d.Facts) == 0 {
		t.Errorf("%d facts, %d units", len(d.Facts), limits(0).Total(d.Card, d.Notes))
	}
	want := fmt.Sprintf("… %d more facts|… 1 links left out", 10-len(d.Facts))
	if got := strings.Join(d.Notes, "|"); got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	if len(c.Facts[0]) != 300 {
		t.Error("the caller's card was changed")
	}
}
