package cards

import (
	"strconv"
	"strings"
	"time"

	"loopx/kernel/view"
)

// Reminder is what a person reads about a decision whose card they have: that it
// changed, or how long it has waited. Milliseconds.
func Reminder(lang, code, question string, changed bool, waited int64) string {
	switch {
	case lang == "zh" && changed:
		return code + " 有变化：" + question + "\n上面的卡片是最新的。"
	case lang == "zh":
		return code + " 已等待 " + view.Age(lang, waited) + "：" + question + "\n请在上面的卡片上决定。"
	case changed:
		return code + " has changed: " + question + "\nThe card above is up to date."
	}
	return code + " has waited " + view.Age(lang, waited) + ": " + question + "\nThe card above takes your answer."
}

// digestShown is how many decisions a digest names; their cards come below it.
const digestShown = 8

// Digest is the daily message about what waits for a person: one line a
// decision, most severe first. held says that the day's interruptions were used
// up; head names the newest journal record, so that the person can check later
// that history was not rewritten.
func Digest(lang string, gates []view.Gate, now int64, held bool, head string) string {
	var b strings.Builder
	line := func(s string) { b.WriteString(s + "\n") }
	zh := lang == "zh"
	switch {
	case len(gates) == 0 && zh:
		line("没有待你处理的事项。")
	case len(gates) == 0:
		line("Nothing waits for you.")
	case zh:
		line("待你处理：" + strconv.Itoa(len(gates)) + " 项")
	default:
		line("Needs you: " + strconv.Itoa(len(gates)))
	}
	for i, g := range gates {
		if i == digestShown {
			more := strconv.Itoa(len(gates) - i)
			if zh {
				line("… 另有 " + more + " 项：发送 gates 查看")
			} else {
				line("… " + more + " more: send gates")
			}
			break
		}
		line(g.Code + "  " + g.Question + " (" + g.GoalTitle + ", " + view.Age(lang, now-g.Asked) + ")")
	}
	switch {
	case held && zh:
		line("今天的打扰次数已用完，其余事项放在这里。")
	case held:
		line("Some of these waited for this message, because the day's interruptions were used up.")
	}
	if head != "" {
		if zh {
			line("记录 " + head)
		} else {
			line("Record " + head)
		}
	}
	return strings.TrimSpace(b.String())
}

// MomentWords writes a time as a person says it, both in the reader's zone.
func MomentWords(lang string, at, now time.Time) string {
	zh := lang == "zh"
	switch {
	case at.YearDay() == now.YearDay() && at.Year() == now.Year():
		return at.Format("15:04")
	case at.Sub(now) < 6*24*time.Hour:
		if zh {
			return [...]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"}[at.Weekday()] + at.Format(" 15:04")
		}
		return at.Format("Mon 15:04")
	}
	return view.ClockIn(lang, at.UnixMilli(), now.UnixMilli(), at.Location())
}

// Muted answers /mute.
func Muted(lang, goal, until string, off bool) string {
	what, zh := "Everything", "所有目标"
	if goal != "" {
		what, zh = goal, goal
	}
	switch {
	case off && lang == "zh":
		return zh + "不再静音。"
	case off:
		return what + " is not muted any more."
	case lang == "zh":
		return zh + "静音至 " + until + "。到时会一并告诉你。"
	}
	return what + " is muted until " + until + ". What comes up meanwhile comes then."
}

// Snoozed answers /snooze and the card's button.
func Snoozed(lang, code, until string) string {
	if lang == "zh" {
		return code + " 稍后再提：" + until + "。它仍在等待回答。"
	}
	return code + " comes up again " + until + ". It still waits for an answer."
}

// Quiet answers /quiet. Minutes after midnight.
func Quiet(lang string, from, to int, zone string) string {
	span := sprintf("%02d:%02d–%02d:%02d", from/60, from%60, to/60, to%60) + " (" + zone + ")"
	switch {
	case from == to && lang == "zh":
		return "没有安静时段。"
	case from == to:
		return "No quiet hours."
	case lang == "zh":
		return "安静时段：" + span + "。期间的事项会在结束时告诉你。"
	}
	return "Quiet " + span + ". What comes up meanwhile comes at the end."
}

// BadMoment says what a time may look like.
func BadMoment(lang string) string {
	if lang == "zh" {
		return "没看懂时间。例如：2h、tomorrow、18:00。什么都没有改变。"
	}
	return "I cannot read that time. Like this: 2h, tomorrow, 18:00, quiet 22-8. Nothing was changed."
}

// NoGate says that a code names no open decision, or more than one.
func NoGate(lang, code string, found int) string {
	switch {
	case found > 1 && lang == "zh":
		return "有 " + strconv.Itoa(found) + " 个目标都有 " + code + "。请用卡片上的按钮。"
	case found > 1:
		return strconv.Itoa(found) + " goals have an open " + code + ". Use the button on the card."
	case lang == "zh":
		return "没有待决的 " + code + "。"
	}
	return "No open decision is called " + code + "."
}
