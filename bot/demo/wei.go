package demo

import (
	"context"
	"slices"
	"strings"
	"time"

	"loopx/fixtures/demo"
	slacksim "loopx/fixtures/sim/slack"
)

// wei is the owner in the simulated Slack.
const wei = "U0WEI"

func (p *player) dm() []slacksim.Message { return p.sim.BotMessages(p.sim.DM(wei)) }

// gate finds a question of one of the stories.
func (p *player) gate(key string) *demo.Gate {
	for _, r := range p.stories {
		if g := r.Gate(key); g != nil {
			return g
		}
	}
	return &demo.Gate{Question: "no gate " + key}
}

// count is how many cards of a gate are in the chat. A digest is none.
func (p *player) count(gate string) (n int) {
	for _, m := range p.dm() {
		if strings.Contains(m.Shown(), p.gate(gate).Question) && !isDigest(m) {
			n++
		}
	}
	return n
}

// isDigest says that a message is the morning's list of questions and no card.
func isDigest(m slacksim.Message) bool { return strings.HasPrefix(m.Shown(), "Needs you:") }

// card waits for a gate's card in the chat to look as wanted.
func (p *player) card(ctx context.Context, gate string, fits func(slacksim.Message) bool) (slacksim.Message, error) {
	var card slacksim.Message
	err := p.until(ctx, "the card of "+gate, func() bool {
		for _, m := range p.dm() {
			if strings.Contains(m.Shown(), p.gate(gate).Question) && !isDigest(m) && fits(m) {
				card = m
				return true
			}
		}
		return false
	})
	return card, err
}

// press answers a gate with one tap. A card that changes under the finger is
// pressed again, as a person would.
func (p *player) press(ctx context.Context, gate, label string) error {
	for try := 0; ; try++ {
		card, err := p.card(ctx, gate, func(m slacksim.Message) bool { return has(m, label) })
		if err != nil {
			return err
		}
		if _, err := p.sim.PressButton(wei, card.Channel, card.TS, label); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err = p.card(short, gate, settled)
		cancel()
		if err == nil || try == 3 || ctx.Err() != nil {
			if err == nil {
				p.tell("owner", "Wei presses “%s”", label)
			}
			return err
		}
	}
}

// settled says that a card's decision was made: all that is left is to take it
// back.
func settled(m slacksim.Message) bool {
	return !slices.ContainsFunc(m.Buttons(), func(b slacksim.Button) bool { return b.Label != "Change" && b.Label != "Not me…" })
}
