package cards

import (
	"fmt"
	"slices"
	"strings"

	"loopx/adapters/chat"
)

// Message is how far a person's message to an agent is.
type Message struct {
	Lang      string
	GoalTitle string
	Agent     string // empty: any agent of the goal
	Ingress   string // steer, queue, inbox
	State     string // waiting, leased, answered, closed
	Step      string // of a steer: accepted, delivered, seen
	Outcome   string // of an answered one
	Reason    string // of a closed one
	Place, Of int    // in its queue
	Attempts  int
	Changed   bool // its author changed it, and the agent has the older text
	Gone      bool // its author took it back, and the agent has it
	Actions   []Action
}

// Progress draws it as a small card that is edited in place.
func Progress(m Message) chat.Card {
	w := progressWordsOf(m.Lang)
	agent := m.Agent
	if agent == "" {
		agent = w.anybody
	}
	card := chat.Card{Lang: m.Lang, State: chat.CardWaiting}
	phrase := ""
	switch {
	case m.State == "closed" && slices.ContainsFunc(m.Actions, func(a Action) bool { return a.Step == "to" }):
		phrase = w.ended(m, agent) // whom it is for is still to be chosen
	case m.State == "closed":
		card.State, phrase = chat.CardEnded, w.ended(m, agent)
	case m.State == "answered" && m.Outcome != "seen":
		card.State, phrase = chat.CardAnswered, fmt.Sprintf(w.outcome(m.Outcome), agent)
	case m.Ingress == "steer":
		card.State, phrase = chat.CardRunning, fmt.Sprintf(w.step(m.Step), agent)
	case m.State == "leased":
		card.State, phrase = chat.CardRunning, fmt.Sprintf(w.running, agent)
	case m.Ingress == "queue" && m.Of > 0:
		phrase = fmt.Sprintf(w.queued, agent, m.Place, m.Of)
	default:
		phrase = fmt.Sprintf(w.stored, agent)
	}
	card.Title = phrase
	if m.GoalTitle != "" {
		card.Title = m.GoalTitle + " · " + phrase
	}
	switch {
	case m.State != "leased":
	case m.Gone:
		card.Outcome = fmt.Sprintf(w.gone, agent)
	case m.Changed:
		card.Outcome = fmt.Sprintf(w.changed, agent)
	}
	for _, a := range m.Actions {
		label := w.button(a.Step)
		if a.Step == "to" {
			label = a.Option
		}
		if label != "" {
			card.Buttons = append(card.Buttons, chat.Button{ID: a.ID, Label: label})
		}
	}
	return card
}

type progressWords struct {
	anybody, queued, stored, running, gone, changed      string
	accepted, delivered, seen                            string
	adopted, declined, deferred                          string
	withdrawn, expired, turnEnded, exhausted, missed     string
	noTurn, noSession, noAgent, full, long, choice       string
	noRight, broken, suspended, budget, unknown, other   string
	cancel, steer, queue, withdraw, stop, correct, store string
}

func progressWordsOf(lang string) progressWords {
	if lang == "zh" {
		return progressWords{
			anybody: "任一执行者", queued: "已为 %s 排队，第 %d 位，共 %d 条", stored: "已为 %s 留存", running: "%s 正在处理这条消息", gone: "你撤回了这条消息，但 %s 已经拿到它。", changed: "你修改了这条消息，%s 拿到的是旧文字。",
			accepted: "已接收，%s 尚未取走", delivered: "已送达 %s", seen: "%s 已看到",
			adopted: "%s 已答复", declined: "%s 未采纳", deferred: "%s 已推后",
			withdrawn: "已撤回", expired: "排队超过一小时，已失效", turnEnded: "未送达：%s 的这一轮先结束了", exhausted: "未处理：已发给 %s %d 次", missed: "在离线期间到达，尚未处理",
			noTurn: "未送达：%s 现在没有进行中的一轮", noSession: "未送达：%s 没有唯一打开的会话", noAgent: "没有执行者接入", full: "队列已满：最多 20 条等待", long: "太长：插话最多 12,000 个字符", choice: "发给谁？",
			noRight: "你可以看，但不能在这里发起", broken: "这里的绑定已失效", suspended: "这里的绑定已暂停，等待所有者确认", budget: "今天的次数已用完", unknown: "没有你能到达的这个目标", other: "没有发出",
			cancel: "取消", steer: "插入当前一轮", queue: "改为排队", withdraw: "撤回", stop: "停止处理", correct: "发送更正", store: "改为留存",
		}
	}
	return progressWords{
		anybody: "any agent", queued: "queued for %s, %d of %d", stored: "stored for %s", running: "%s works on this message", gone: "You took the message back; %s has it already.", changed: "You changed the message; %s has the older text.",
		accepted: "accepted, not yet taken by %s", delivered: "delivered to %s", seen: "seen by %s",
		adopted: "answered by %s", declined: "declined by %s", deferred: "put off by %s",
		withdrawn: "taken back", expired: "expired: it waited an hour in the queue", turnEnded: "not delivered: the turn of %s ended first", exhausted: "not handled: it was given to %s %d times", missed: "came while I was away; not handled",
		noTurn: "not delivered: %s is in no turn now", noSession: "not delivered: %s has not exactly one open session", noAgent: "nobody is attached", full: "the queue is full: 20 messages wait", long: "too long: a message into a running turn has at most 12,000 characters", choice: "who is this for?",
		noRight: "you may look, and not start anything here", broken: "this place is bound no longer", suspended: "this place waits for its owner to confirm it", budget: "today's turns are used up", unknown: "no such target that you can reach", other: "not sent",
		cancel: "Cancel", steer: "Send as steer", queue: "Queue it instead", withdraw: "Withdraw", stop: "Stop it", correct: "Send the correction", store: "Store it instead",
	}
}

func (w progressWords) step(step string) string {
	switch step {
	case "delivered":
		return w.delivered
	case "seen":
		return w.seen
	}
	return w.accepted
}

func (w progressWords) outcome(outcome string) string {
	switch outcome {
	case "declined":
		return w.declined
	case "deferred":
		return w.deferred
	}
	return w.adopted
}

func (w progressWords) button(step string) string {
	switch step {
	case "cancel":
		return w.cancel
	case "steer":
		return w.steer
	case "queue":
		return w.queue
	case "withdraw":
		return w.withdraw
	case "stop":
		return w.stop
	case "store":
		return w.store
	case "correct":
		return w.correct
	}
	return ""
}

// ended says why nothing more happens to a message, in words for people.
func (w progressWords) ended(m Message, agent string) string {
	word := map[string]string{
		"withdrawn": w.withdrawn, "requeued": w.withdrawn, "expired": w.expired, "turn_ended": w.turnEnded, "exhausted": w.exhausted, "missed": w.missed,
		"no_live_turn": w.noTurn, "no_session": w.noSession, "no_agent": w.noAgent, "queue_full": w.full, "too_long": w.long, "choice": w.choice, "more_than_one_binding": w.choice,
		"no_right": w.noRight, "binding_broken": w.broken, "binding_suspended": w.suspended, "binding_cannot_be_used": w.broken, "budget_spent": w.budget, "unknown_target": w.unknown,
	}[m.Reason]
	switch {
	case word == "":
		return w.other
	case strings.Count(word, "%") == 2:
		return fmt.Sprintf(word, agent, m.Attempts)
	case strings.Contains(word, "%"):
		return fmt.Sprintf(word, agent)
	}
	return word
}

// Refusal is a sentence about why a message was not taken. agent is whom it was
// for, or the decision or command it was about.
func Refusal(lang, reason, agent string) string {
	if text := refusal(lang, reason, agent); text != "" {
		return text
	}
	w := progressWordsOf(lang)
	if agent == "" {
		agent = w.anybody
	}
	return w.ended(Message{Reason: reason}, agent)
}
