package routing

import "testing"

// late pushes and what a catch-up finds never start a turn; addressed ones are kept as missed
func TestB03_LateIsNoTurn(t *testing.T) { runRows(t, "B03") }

// history is never a turn, whichever path saw a message first
func TestB05_HistoryIsNoTurn(t *testing.T) { runRows(t, "B05") }

// somebody whom the gate does not name decides nothing
func TestB25_OnlyWhomTheGateNames(t *testing.T) { runRows(t, "B25") }

// a press is looked up and never becomes text
func TestB26_PressIsNoText(t *testing.T) { runRows(t, "B26") }

// only a thread id is a topic; a quote is a reply and stays where it is
func TestB37_QuoteIsNoTopic(t *testing.T) { runRows(t, "B37") }

// an empty thread is none
func TestB45_EmptyThread(t *testing.T) { runRows(t, "B45") }

// everybody and groups of people are nobody in particular; with a mention of the bot beside them it is meant
func TestB46_EverybodyIsNobody(t *testing.T) { runRows(t, "B46") }

// a mention without our own id is none, and nobody from outside is let in by one
func TestB47_OwnIDOnly(t *testing.T) { runRows(t, "B47") }

// that a colleague is mentioned does not mention the bot
func TestB49_Colleague(t *testing.T) { runRows(t, "B49") }

// a command stands behind every mention; paths and fractions are none
func TestB50_TwoMentions(t *testing.T) {
	runRows(t, "B50")
	for _, text := range []string{"1/2", "/usr/bin", "https://a.example/status"} {
		if in := Parse(text); in.Command != "" || len(in.Near) > 0 {
			t.Errorf("%q: %+v", text, in)
		}
	}
}

// a mention in code or in a quote is none
func TestB51_MentionInCode(t *testing.T) { runRows(t, "B51") }

// what only looks like a mention is text
func TestB52_LooksLikeAMention(t *testing.T) { runRows(t, "B52") }

// another bot starts nothing, whatever it mentions
func TestB53_OtherBots(t *testing.T) { runRows(t, "B53") }

// what was sent while the bot was away is kept as missed and named, not thrown away and not run
func TestB78_WhileAway(t *testing.T) { runRows(t, "B78") }

// a steer without a live turn is refused, said, and offered for the queue; never queued silently
func TestB79_SteerIsNeverQueuedSilently(t *testing.T) { runRows(t, "B79") }

// own messages and edits ask for nothing
func TestB86_OwnMessages(t *testing.T) { runRows(t, "B86") }

// a deletion reaches the stored message and nothing else
func TestB87_Deletion(t *testing.T) { runRows(t, "B87") }

// only immutable ids authorise: not a name, not a name in a list
func TestB95_NamesAuthoriseNobody(t *testing.T) { runRows(t, "B95") }
