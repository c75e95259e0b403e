package routing

import (
	"testing"

	"loopx/adapters/chat"
)

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

// a mention whose id comes as plain text is one as well
func TestB48_MentionIDAsText(t *testing.T) { runRows(t, "B48") }

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

// each answer goes to the place, message and person of its own message, whatever came in between
func TestB39_AnswerBelongsToItsMessage(t *testing.T) { answersBelong(t) }

// of two threads in one channel each message is answered in its own
func TestB42_ThreadOfTheMessage(t *testing.T) { answersBelong(t) }

// an answer mentions nobody but who wrote the message it answers
func TestB55_SenderOfTheMessage(t *testing.T) { answersBelong(t) }

// the place of a command's answer is fixed when it arrives, also when it ends what it was about
func TestB44_PlaceOfACommand(t *testing.T) {
	e, f := privately("/stop site")
	e.Place.Thread = "t1"
	if v := Decide(e, f); v.Action != Command || v.Place.Place != e.Place || v.Place.Message != "m1" {
		t.Errorf("%+v", v)
	}
}

func answersBelong(t *testing.T) {
	t.Helper()
	_, f := privately("")
	f.Current = &f.Reach[0]
	var verdicts []Verdict
	var events []chat.Event
	for _, c := range []struct{ thread, message, user string }{{"t1", "m1", "U1"}, {"t2", "m2", "U2"}, {"t1", "m3", "U2"}} {
		e, _ := privately("fix " + c.message)
		e.ID, e.Place.Thread, e.Message.ID, e.Sender.ID = c.message, c.thread, c.message, c.user
		events = append(events, e)
		verdicts = append(verdicts, Decide(e, f))
		f.Current = &Target{Goal: "blog", Ingress: IngressInbox} // it changes while they wait
	}
	for i, v := range verdicts {
		e := events[i]
		if !v.Action.Starts() || v.Place.Place != e.Place || v.Place.Message != e.Message.ID || v.Place.User != e.Sender.ID {
			t.Errorf("%s: %+v", e.ID, v)
		}
	}
	if verdicts[0].Target.Goal != "site" || verdicts[1].Target.Goal != "blog" {
		t.Error("another target moved an accepted message")
	}
}
