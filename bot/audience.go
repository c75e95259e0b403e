package bot

import (
	"slices"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// audience is what a place may be told: goals bound there, or at least as visible
// as the place is wide. Everything else goes to the asker alone.
type audience struct {
	alone bool     // only the asker reads it
	bound []string // goals bound here
	width int      // of the place
}

func audienceOf(r *kernel.Reader, e chat.Event, page bool) audience {
	a := audience{alone: e.Private || page, width: widest}
	if a.alone {
		return a
	}
	for _, b := range r.BindingsOf(e.Place.Connection, e.Place.Conversation) {
		if b.State != kernel.BindActive {
			continue
		}
		// What an owner said of the conversation holds in all of its threads.
		a.width = min(a.width, width(b.Visibility))
		if b.Thread == "" || b.Thread == e.Place.Thread {
			a.bound = append(a.bound, b.Goals...)
		}
	}
	return a
}

// widest is a place nobody has said anything about.
const widest = 2

// width orders visibilities; what is unknown is the widest.
func width(visibility string) int {
	switch visibility {
	case "private":
		return 0
	case "group":
		return 1
	}
	return widest
}

func (a audience) shows(g *kernel.Goal) bool {
	// An unknown visibility of a goal is the narrowest.
	narrow := map[string]int{"group": 1, "public": 2}[g.Visibility]
	return a.alone || slices.Contains(a.bound, g.ID) || narrow >= a.width
}

// said is an answer: what may stand where it was asked, and what only the asker
// may read.
type said struct{ here, private string }

// privately is the asker's private conversation with the bot, if there was one:
// the bot never begins one.
func (p *planner) privately() (chat.Place, bool) {
	if p.e.Private || p.s.local != nil {
		return p.e.Place, true
	}
	a := p.r.Principal(string(p.s.platform), p.e.Place.Connection, p.e.Sender.Tenant, p.e.Sender.ID)
	if a == nil || a.Private == "" {
		return chat.Place{}, false
	}
	return chat.Place{Connection: p.e.Place.Connection, Conversation: a.Private}, true
}

// tell owes an answer. Where a part of it is private, a line in the open says so,
// whatever that part is, so that nothing can be read from it.
func (p *planner) tell(q *request, a said) error {
	if a.private == "" {
		return p.in.AddText(replyKey(p.e), p.e.Place, a.here)
	}
	place, ok := p.privately()
	if ok && place == p.e.Place {
		return p.in.AddText(replyKey(p.e), place, a.private)
	}
	line := q.say("I answer you privately.", "我私下回复你。")
	switch {
	case !ok:
		line = writeFirst(q)
		if err := p.in.Count("command_in_the_open"); err != nil {
			return err
		}
	case a.here != "":
		line = q.say("The rest I tell you privately.", "其余内容我私下告诉你。")
	}
	if a.here != "" {
		line = a.here + "\n\n" + line
	}
	if err := p.in.AddText(replyKey(p.e)+"/where", p.e.Place, line); err != nil || !ok {
		return err
	}
	return p.in.AddText(replyKey(p.e), place, a.private)
}

func writeFirst(q *request) string {
	return q.say("Not everything about this is for everybody here. Write to me privately and ask again.", "这件事不便在这里全部公开。请先私下给我发消息，再问一次。")
}
