package cards

import (
	"fmt"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel/view"
)

// AwayCopy is what an owner is told after a time when nobody listened. Times are
// UTC ms, From 0 where it is not known since when.
type AwayCopy struct {
	Lang     string
	From, To int64
	Now      int64
	Zone     *time.Location
	Messages []MissedMessage
	More     int      // missed ones that are not named
	Gates    []string // codes of decisions that still wait for the reader
	Actions  []Action // Option is the place of the message in Messages, from 1
}

// MissedMessage is one that came meanwhile and started nothing.
type MissedMessage struct {
	From, Goal, Agent string
	At                int64
	Text              string
	Files             int
	// State is "missed", "command" for one that is not done late, "given" once it
	// is with its agent, or "gone".
	State string
}

// Away draws the summary.
func Away(a AwayCopy) chat.Card {
	zh := a.Lang == "zh"
	say := func(en, zhText string, args ...any) string {
		if zh {
			en = zhText
		}
		return fmt.Sprintf(en, args...)
	}
	clock := func(ms int64) string { return view.ClockIn(a.Lang, ms, a.Now, a.Zone) }
	card := chat.Card{Lang: a.Lang, State: chat.CardEnded, Title: say("While I was away", "我离线期间")}
	if a.From > 0 {
		card.Facts = append(card.Facts, say("Nobody listened here from %s to %s.", "从 %s 到 %s 这里没有在听。", clock(a.From), clock(a.To)))
	}
	card.Facts = append(card.Facts, say("Presses on cards in that time did not reach me: press again.", "这段时间里按下的按钮没有送达，请重新按。"))
	open := 0
	for i, m := range a.Messages {
		where := m.From
		if m.Goal != "" {
			where += " · " + m.Goal
		}
		text := m.Text
		if m.Files > 0 {
			text = strings.TrimSpace(text + say(" (files: %d)", "（%d 个文件）", m.Files))
		}
		state := ""
		switch m.State {
		case "given":
			state = say("given to %s", "已交给 %s", m.agent(zh))
		case "command":
			state = say("a command, not done: send it again", "命令未执行，请重新发送")
		case "gone":
			state = say("taken back", "已撤回")
		default:
			open++
			state = say("started nothing", "没有启动任何工作")
		}
		card.Quotes = append(card.Quotes, chat.Quote{From: fmt.Sprintf("%d. %s · %s · %s", i+1, where, clock(m.At), state), Text: cut(text, 240)})
	}
	if open > 0 {
		card.State = chat.CardOpen
		card.Facts = append(card.Facts, say("These messages came meanwhile. They start something only if you give them to their agent.", "期间收到以下消息。只有你交给相应的 Agent 才会开始处理。"))
	}
	if a.More > 0 {
		card.Facts = append(card.Facts, say("%d more: loopx inbox list", "另有 %d 条：loopx inbox list", a.More))
	}
	if len(a.Gates) > 0 {
		card.Facts = append(card.Facts, say("Still waiting for you: %s", "仍待你处理：%s", strings.Join(a.Gates, ", ")))
	}
	for _, x := range a.Actions {
		label := say("Give all", "全部交付")
		if x.Step == "admit" {
			label = say("Give %s", "交付 %s", x.Option)
		}
		card.Buttons = append(card.Buttons, chat.Button{ID: x.ID, Label: label})
	}
	return card
}

func (m MissedMessage) agent(zh bool) string {
	switch {
	case m.Agent != "":
		return m.Agent
	case zh:
		return "Agent"
	}
	return "its agent"
}

// cut keeps a text to so many characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
