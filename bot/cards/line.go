package cards

import (
	"strings"
	"time"

	"loopx/kernel"
	"loopx/kernel/view"
)

// lineNames bounds the people a line names.
const lineNames = 3

// Line says in one line where others read along who is asked, and how it ended.
// Nothing of what is asked, or of what was answered, stands in it. many says that
// several goals are talked about in the place.
func Line(g view.Gate, lang string, zone *time.Location, many bool) string {
	say := func(en, zh string) string {
		if lang == "zh" {
			return zh
		}
		return en
	}
	if zone == nil {
		zone = time.UTC
	}
	at := func(ms int64) string { return view.ClockIn(lang, ms, g.Asked, zone) }
	var s string
	switch {
	case g.Status == kernel.GateAnswered:
		s = sprintf(say("%s: decided by %s, %s", "%s：由 %s 决定，%s"), g.Code, g.Answer.Name, at(g.Answer.At))
	case g.Status == "expired":
		s = sprintf(say("%s: expired %s, nobody answered", "%s：已于 %s 超时，没有人回答"), g.Code, at(g.Expires))
	case g.Status == kernel.GateWithdrawn:
		s = sprintf(say("%s: withdrawn, nothing is asked any more", "%s：已撤回，不再需要回答"), g.Code)
	case g.Unreachable != nil:
		s = sprintf(say("%s waits, and nobody who may answer it can be reached", "%s 等待中：有权回答的人都无法联系到"), g.Code)
	case len(g.Asks) == 0:
		s = sprintf(say("%s waits: nobody who may answer it is there", "%s 等待中：有权回答的人都不在"), g.Code)
	default:
		s = sprintf(say("%s waits for %s", "%s 等待 %s"), g.Code, people(g, say))
	}
	if many {
		s = g.GoalTitle + " · " + s
	}
	return s
}

// people names who is asked: few of them by name, the others by number.
func people(g view.Gate, say func(en, zh string) string) string {
	names := g.Asks
	rest := ""
	if len(names) > lineNames {
		rest = sprintf(say(" or %d others", "，或另外 %d 人"), len(names)-lineNames+1)
		names = names[:lineNames-1]
	}
	if q := g.Who.Quorum; q > 1 {
		return sprintf(say("%d of ", "其中 %d 人："), q) + strings.Join(names, say(", ", "、")) + strings.Replace(rest, say(" or ", "，或"), say(" and ", "，及"), 1)
	}
	if rest != "" {
		return strings.Join(names, say(", ", "、")) + rest
	}
	return strings.Join(names, say(" or ", " 或 "))
}

// Replaces says on a card that an older one of the same can no longer be changed.
func Replaces(lang string) string {
	if lang == "zh" {
		return "较早的那张卡片无法再更新，以这张为准"
	}
	return "An older card of this can no longer be changed; this one holds"
}

// unreachable says in a fact of a card that nobody can be told, why, and what
// mends it.
func unreachable(lang string, u *kernel.Unreachable) string {
	if lang != "zh" {
		return "Nobody can be told of this: " + u.Words + ". Try: " + u.Fix
	}
	why := map[string]string{
		"nobody": "没有人有权回答", "away": "有权回答的人都已离开，也没有代理人", "not_linked": "有权回答的人都没有关联聊天账号",
		"no_private_chat": "无法私下给有权回答的人发消息", "connections_down": "能联系到他们的连接都已中断",
	}[u.Reason]
	return "无法通知任何人：" + why + "。处理方法：" + u.Fix
}

// Beckon asks a person, where others read along, to open the private conversation
// that a decision needs.
func Beckon(lang, code string) string {
	if lang == "zh" {
		return sprintf("%s 等待你，但我无法私下给你发消息。请先私下给我写一句话，卡片随后就到。", code)
	}
	return sprintf("%s waits for you, and I cannot write to you privately. Write to me privately, and its card comes.", code)
}
