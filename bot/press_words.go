package bot

import (
	"fmt"
	"strings"

	"loopx/inbox"
	"loopx/kernel"
)

// whoAnswers are the names of those who are asked a gate now.
func whoAnswers(r *kernel.Reader, g *kernel.Gate) []string {
	if g == nil || g.Status != kernel.GateOpen {
		return nil
	}
	var out []string
	for _, id := range r.AskedPersons(g) {
		if p := r.Person(id); p != nil {
			out = append(out, p.Name)
		}
	}
	return out
}

// pressWords is what only the person who pressed is told, in their language. A
// decision that was just made says nothing here: the card itself shows it.
func pressWords(lang string, who []string, o inbox.Outcome) string {
	say := func(en, zh string, args ...any) string {
		if lang == "zh" {
			en = zh
		}
		return fmt.Sprintf(en, args...)
	}
	code, by, label := "", "", ""
	if o.Gate != nil {
		code = o.Gate.Code
		if a := o.Gate.Answer; a != nil {
			by, label = a.Name, a.Label
		}
	}
	switch o.Code {
	case "answered", "changed", "disowned", "confirm", "back", inbox.StepPage:
		return "" // the card shows it
	case inbox.StepCancel, inbox.StepWithdraw, inbox.StepStop, inbox.StepSteer, inbox.StepQueue, inbox.StepStore, inbox.StepCorrect, inbox.StepTo,
		inbox.StepAdmit, inbox.StepAdmitAll:
		return ""
	case "voted":
		return say("Your answer to %s counts. It is decided when others agree.", "你对 %s 的回答已计入，其他人一致后才算决定。", code)
	case "already":
		if by == "" {
			return say("Your answer to %s counts already. It is decided when others agree.", "你对 %s 的回答已经计入，其他人一致后才算决定。", code)
		}
		return say("You decided %s already: %s. Nothing was done twice.", "你已经决定了 %s：%s。没有重复执行。", code, label)
	case "decided":
		return say("%s was already decided by %s: %s.", "%s 已由 %s 决定：%s。", code, by, label)
	case "withdrawn":
		return say("%s was taken back. There is nothing to decide.", "%s 已撤回，无需决定。", code)
	case "expired":
		return say("%s has expired. Nothing was decided. The agent can ask again, or an owner reopens it.", "%s 已超时，没有做出任何决定。Agent 可以再问，所有者也可以重新打开。", code)
	case "stale":
		if o.Moved {
			return say("This card is out of date. The new one is below.", "这张卡片已过期，新卡片在下方。")
		}
		return say("This card is out of date. The new one stands in its place.", "这张卡片已过期，已换成新的卡片。")
	case "confirm_expired":
		return say("The first press is more than a minute old. Press again to start over.", "第一次按键已超过一分钟，请重新开始。")
	case "wrong_person":
		return say("Somebody else pressed first. They confirm it, or it starts over in a minute.", "另一个人先按了。由其确认，否则一分钟后重新开始。")
	case "denied":
		switch {
		case o.Reads && by != "":
			return say("%s was already decided by %s: %s.", "%s 已由 %s 决定：%s。", code, by, label)
		case o.Reads && len(who) > 0:
			if lang == "zh" {
				return code + " 等待 " + strings.Join(who, " 或 ") + "。"
			}
			return code + " waits for " + strings.Join(who, " or ") + "."
		}
		return say("You are linked, but %s is not for you to answer.", "你已关联，但 %s 不由你回答。", code)
	case "needs_text":
		return say("This answer needs words of yours. Nothing was decided.", "这个回答需要你写下内容。没有做出任何决定。")
	case "bad_reason":
		return say("The text was not accepted: it is too long or holds control characters. Nothing was decided.", "文字未被接受：过长或含有控制字符。没有做出任何决定。")
	case "grant_refused":
		return say("An approval that stands for later is an owner's act, no wider than what was asked. Nothing was decided.", "长期有效的同意只能由所有者给出，且不超出所问的范围。没有做出任何决定。")
	case "change_late":
		return say("%s was decided more than ten minutes ago and can no longer be changed. Stop the goal and ask again.", "%s 的决定已超过十分钟，不能再修改。请停止目标后重新提问。", code)
	case "quorum_needed":
		return say("%s was decided by several; one alone can only take it back.", "%s 由多人决定，一个人只能撤回。", code)
	case "not_linked":
		if o.Owner != "" && o.Owner != "owner" {
			return "I don't know you here yet. Ask " + o.Owner + " to add you. 我还不认识你，请让 " + o.Owner + " 添加你。"
		}
		return "I don't know you here yet. Ask the owner to add you. 我还不认识你，请让所有者添加你。"
	case "not_yours":
		return say("Only who wrote the message, or an owner, can do that.", "只有发送者或所有者可以这样做。")
	case "moved_on":
		return say("The message moved on meanwhile. The card shows how it is now.", "消息的状态已经改变，以卡片为准。")
	case "no_live_turn":
		return say("The agent is in no turn now. The message stays in the queue.", "Agent 现在没有运行，消息留在队列中。")
	case "queue_full":
		return say("Twenty messages wait in that queue already. Nothing was changed.", "队列中已有 20 条消息，什么都没有改变。")
	case "other_place":
		return say("This is a copy of a card. Press on the original.", "这是卡片的副本，请在原卡片上操作。")
	}
	return say("This button is not supported any more.", "此按钮已不再支持。")
}
