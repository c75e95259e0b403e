package chat

import (
	"net/url"
	"strings"
)

// Word is the state's word in the card's language, shown beside Mark.
func (s CardState) Word(lang string) string {
	zh := lang == "zh"
	switch s {
	case CardOpen:
		return pick(zh, "open", "待处理")
	case CardConfirming:
		return pick(zh, "confirming", "确认中")
	case CardDecided:
		return pick(zh, "decided", "已决定")
	case CardStale:
		return pick(zh, "out of date", "已过期的卡片")
	case CardWaiting:
		return pick(zh, "waiting", "等待中")
	case CardRunning:
		return pick(zh, "running", "进行中")
	case CardAnswered:
		return pick(zh, "answered", "已答复")
	case CardStatus:
		return pick(zh, "status", "状态")
	case CardEnded:
		return pick(zh, "ended", "已结束")
	default:
		return pick(zh, "expired", "已超时")
	}
}

// MarkWord is an option's mark in a language; a mark it does not know is
// returned as it is.
func MarkWord(lang, mark string) string {
	zh := lang == "zh"
	switch mark {
	case "approves":
		return pick(zh, mark, "同意")
	case "rejects":
		return pick(zh, mark, "拒绝")
	case "cancels":
		return pick(zh, mark, "取消")
	case "answers":
		return pick(zh, mark, "回答")
	}
	return mark
}

// Bracketed sets the brackets of a language around a text.
func Bracketed(lang, s string) string { return pick(lang == "zh", "("+s+")", "（"+s+"）") }

// Colon ends a text with the colon of a language.
func Colon(lang, s string) string { return s + pick(lang == "zh", ":", "：") }

// StaleWord marks evidence that is no longer fresh.
func StaleWord(lang string) string { return pick(lang == "zh", "stale", "已陈旧") }

func pick(zh bool, en, cn string) string {
	if zh {
		return cn
	}
	return en
}

// PlainText is the complete text form of a card, in the order of its parts: for
// terminals, notifications, screen readers, and for the message that is sent
// when a platform refuses the card. Nothing is cut. Every line of somebody's
// words starts with "│ ", so words cannot pass for a line of ours.
func PlainText(c Card) string {
	var lines []string
	add := func(parts ...string) {
		lines = append(lines, strings.Join(parts, ""))
	}
	if c.Title != "" {
		add(oneLine(c.Title))
	}
	if c.Question != "" {
		q := Visible(c.Question)
		if c.Struck {
			q = "~ " + strings.ReplaceAll(q, "\n", "\n~ ")
		}
		add(q)
	}
	if c.Outcome != "" {
		add(oneLine(c.Outcome))
	}
	for _, q := range c.Quotes {
		add(Colon(c.Lang, oneLine(q.From)))
		for line := range strings.SplitSeq(Visible(q.Text), "\n") {
			add("│ ", line)
		}
	}
	for _, o := range c.Options {
		add(OptionLine(c.Lang, o))
	}
	for _, f := range c.Facts {
		add(oneLine(f))
	}
	for _, f := range c.Fields {
		add(oneLine(f.Label), ": ", oneLine(f.Value))
	}
	for _, e := range c.Evidence {
		add("- ", EvidenceText(c.Lang, e))
	}
	if c.Input != nil {
		add("[", oneLine(c.Input.Label), ": ____ ]")
	}
	add(FooterLine(c))
	if len(c.Buttons) > 0 {
		labels := make([]string, len(c.Buttons))
		for i, b := range c.Buttons {
			labels[i] = "[ " + oneLine(b.Label) + " ]"
		}
		add(strings.Join(labels, "  "))
	}
	return strings.Join(lines, "\n")
}

// OptionLine is one option as text: label, consequence and the kernel's mark.
func OptionLine(lang string, o Option) string {
	line := "▸ " + oneLine(o.Label)
	if o.Consequence != "" {
		line += "  " + oneLine(o.Consequence)
	}
	if o.Mark != "" {
		line += "  " + Bracketed(lang, MarkWord(lang, o.Mark))
	}
	return line
}

// EvidenceText is one proof as text, with the whole address when there is a
// usable one and the stale mark.
func EvidenceText(lang string, e Evidence) string {
	line := oneLine(e.Text)
	if _, ok := SafeURL(e.URL); ok {
		line += " " + Visible(e.URL)
	}
	if e.Stale {
		line += " " + Bracketed(lang, StaleWord(lang))
	}
	return line
}

// FooterLine is the state as shape and word, then the card's footer.
func FooterLine(c Card) string {
	line := c.State.Mark() + " " + c.State.Word(c.Lang)
	if c.Footer != "" {
		line += " · " + oneLine(c.Footer)
	}
	return line
}

// SafeURL reports whether an address may be made clickable, and its host, which
// is to be shown beside the label: http or https, a host, no user part.
func SafeURL(raw string) (host string, ok bool) {
	if raw == "" || len(raw) > 2000 || Visible(raw) != raw || strings.ContainsAny(raw, " \t\n<>|\"`") {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	return u.Host, true
}

// oneLine is for parts that are one line by nature: a line break in them is
// shown, because it could start a line that looks like one of ours.
func oneLine(s string) string {
	return strings.ReplaceAll(Visible(s), "\n", "⟦U+000A⟧")
}
