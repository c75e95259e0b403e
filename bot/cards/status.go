package cards

import (
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel/view"
)

// Board is what a status card says.
type Board struct {
	Lang  string
	Goals []view.Five
	Now   int64 // UTC ms
	Zone  *time.Location
	// Away is since when nobody keeps it up to date, UTC ms; 0: somebody does.
	Away int64
	// Off says that it is kept up to date no more, as an owner chose.
	Off bool
}

// boardMost bounds the goals of one card; five lines each.
const boardMost = 2

// Status draws the five lines of the goals of a conversation. asOf says how old
// they are; without it the card is the same as long as the facts are.
func Status(b Board, asOf bool) chat.Card {
	say := func(en, zh string) string {
		if b.Lang == "zh" {
			return zh
		}
		return en
	}
	if b.Zone == nil {
		b.Zone = time.UTC
	}
	clock := func(ms int64) string { return view.ClockIn(b.Lang, ms, b.Now, b.Zone) }
	card := chat.Card{Lang: b.Lang, State: chat.CardStatus}
	switch len(b.Goals) {
	case 0:
		card.Title = say("No goal", "没有目标")
	case 1:
		card.Title = b.Goals[0].Title
	default:
		card.Title = sprintf(say("%d goals", "%d 个目标"), len(b.Goals))
	}
	if asOf {
		card.Title += " · " + say("as of ", "截至 ") + clock(b.Now)
	}
	for i := range b.Goals {
		g := b.Goals[i]
		if i == boardMost {
			var names []string
			for _, more := range b.Goals[i:] {
				names = append(names, more.Title)
			}
			card.Facts = append(card.Facts, say("Not shown here: ", "此处未显示：")+strings.Join(names, say(", ", "、")))
			break
		}
		if !asOf {
			g.Wake = 0 // it moves with the clock
		}
		for _, l := range g.Lines(b.Lang, b.Now, b.Zone) {
			label := l.Label
			if len(b.Goals) > 1 {
				label = g.Title + " · " + label
			}
			card.Fields = append(card.Fields, chat.Field{Label: label, Value: l.Text})
		}
	}
	switch {
	case b.Off:
		card.State, card.Outcome = chat.CardEnded, say("no longer kept up to date", "不再更新")
	case b.Away > 0:
		card.Outcome = sprintf(say("away since %s", "%s 起离线"), clock(b.Away))
	}
	return card
}
