package bot

import (
	"strings"
	"testing"
	"unicode"

	"loopx/kernel"
)

// What the kernel refuses is told in the reader's language: nothing of a Chinese
// answer is an English sentence, also for a code nobody gave a word.
func TestRefusalsInChinese(t *testing.T) {
	for _, err := range []error{
		kernel.Errorf(kernel.Denied, "not_decider", "G-1 was decided by Wei, who alone may change that"),
		kernel.Errorf(kernel.Conflict, "goal_closed", "the goal site is closed already"),
		kernel.Errorf(kernel.Conflict, "from_the_future", "something nobody knows yet"),
	} {
		zh := refusalWords("zh", err)
		if !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) || strings.Contains(zh, kernel.AsError(err).Message) {
			t.Errorf("%v is told as %q", err, zh)
		}
		if en := refusalWords("en", err); !strings.Contains(en, kernel.AsError(err).Message) {
			t.Errorf("%v is told as %q", err, en)
		}
	}
	if zh := refusalWords("zh", kernel.Errorf(kernel.Conflict, "from_the_future", "x")); !strings.Contains(zh, "from_the_future") {
		t.Errorf("a code without a word cannot be looked up: %q", zh)
	}
}
