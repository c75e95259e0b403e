// Package cards turns read models into chat.Card values: one file a card, no
// platform and no transport. Its words are the ones every surface uses.
package cards

import "fmt"

// words are the sentences of one language. Both tables are complete; a test
// finds missing ones.
type words struct {
	waits, decided, expired, withdrawn      string // title endings
	approves, rejects, cancels, answers     string
	blocks, blocksLane, blocksGoal, goesOn  string
	oneGoesOn                               string
	nothing, asked, expires, never, stale   string
	taken, nobody, recorded                 string
	confirmTitle, confirm, back, protected  string
	expiredNote, withdrawnNote, reason, via string
	votes, was, parked, pending, tainted    string
	snooze, change, notMe, disownNote       string
	showAll, nextPage, firstPage, readFirst string
	forGoal, forAction                      string
	reasonLabel, answerLabel, eitherLabel   string
	who, or, lookalike, unpinned, loose     string
	byHost, byHook, advisory                string
	waitsFor, waitsNone, asks, ended        string
	and, list, gap                          string
	blocksOnly                              string
	linked, inBrackets, onPage, atTerminal  string
	owner, approver, standing               string
}

func wordsOf(lang string) words {
	if lang == "zh" {
		return words{
			waits: "等你决定", decided: "由 %s 决定：%s", expired: "已超时", withdrawn: "已撤回",
			approves: "同意", rejects: "拒绝", cancels: "取消", answers: "回答",
			blocks: "阻塞 %d / %d 个任务", blocksLane: "阻塞 %s 的全部工作", blocksGoal: "阻塞整个目标", goesOn: "另外 %d 个继续", oneGoesOn: "另外 1 个继续",
			nothing: "不阻塞任何任务", asked: "提出于 %s", expires: "截止 %s", never: "不会超时", stale: "已过时",
			taken: "由 %s 于 %s 接手", nobody: "当前无人运行，下次唤醒时执行", recorded: "已记录",
			confirmTitle: "请再次确认", confirm: "确认：%s", back: "返回", protected: "受保护的决定，需要按两次",
			expiredNote: "没有人在截止前回答。这既不是同意，也不是拒绝。", withdrawnNote: "提问者已撤回。它阻塞的任务仍被阻塞。", reason: "理由：%s", via: "通过%s",
			votes: "%s：%d / %d 人一致", was: "此前：%s（%s，%s），不再有效", parked: "已过 %s，不再提醒，仍可回答",
			pending: "%s 在终端回答了“%s”（%s），等待按键确认", tainted: "提问的这一轮含有外部文字", snooze: "稍后",
			change: "修改", notMe: "不是我", disownNote: "若不是你的回答：目标停止，问题重新提出，终端上的所有者凭证作废换新。",
			showAll: "查看全部", nextPage: "下一页 %d/%d", firstPage: "回到卡片", readFirst: "内容未完，读到最后一页才能同意",
			forGoal: "%s（整个目标）", forAction: "%s（仅此次）",
			reasonLabel: "理由（可不填）", answerLabel: "你的回答", eitherLabel: "你的回答，或拒绝的理由",
			who: "可由 %s 决定", or: " 或 ", lookalike: "“%s” 混用了不同文字的字母，看起来像另一个词，因此不能同意", byHost: "由宿主强制", byHook: "由钩子强制", advisory: "仅建议",
			waitsFor: "等待 %s", waitsNone: "等待中", asks: "%s 提问", ended: "可回答至 %s", and: "，", list: "、", gap: " ",
			blocksOnly: "阻塞唯一未完成的任务",
			linked:     "%s关联", inBrackets: "（%s）", onPage: "页面", atTerminal: "终端",
			owner: "所有者", approver: "审批人", standing: "同意后对整个目标有效，至 %s",
			loose: "内容未固定", unpinned: "内容未固定：运行的文件之后可能改变",
		}
	}
	return words{
		waits: "waits for you", decided: "decided by %s: %s", expired: "expired", withdrawn: "withdrawn",
		approves: "approves", rejects: "rejects", cancels: "cancels", answers: "answers",
		blocks: "Blocks %d of %d todos", blocksLane: "Blocks all work of %s", blocksGoal: "Blocks the whole goal", goesOn: "%d others go on", oneGoesOn: "1 other goes on",
		nothing: "Blocks nothing", asked: "asked %s", expires: "expires %s", never: "expires never", stale: "out of date",
		taken: "taken by %s %s", nobody: "nobody is running, taken at the next tick", recorded: "recorded",
		confirmTitle: "press once more to confirm", confirm: "Confirm: %s", back: "Back", protected: "protected: it takes two presses",
		expiredNote: "Nobody answered in time. That is neither a yes nor a no.", withdrawnNote: "The asker took it back. What it blocked stays blocked.", reason: "Reason: %s", via: "via %s",
		votes: "Asks %s: %d of %d agree", was: "Before: %s by %s, %s; it holds no longer", parked: "parked since %s, it can still be answered",
		pending: "%s answered %s at a terminal (%s): it waits for a press", tainted: "Asked in a turn that carries words of others", snooze: "Snooze",
		change: "Change", notMe: "Not me", disownNote: "If this was not you: the goal stops, the question is asked again, and the owner's proof at the terminal is replaced by a new one.",
		showAll: "Show all", nextPage: "Next %d/%d", firstPage: "Back to the card", readFirst: "There is more: it can be approved on the last page",
		forGoal: "%s for this goal", forAction: "%s this time",
		reasonLabel: "Reason (may be left empty)", answerLabel: "Your answer", eitherLabel: "Your answer, or why not",
		who: "%s can answer", or: " or ", lookalike: "“%s” mixes letters of two alphabets and looks like another word, so it cannot be approved", byHost: "by host", byHook: "by hook", advisory: "advisory",
		waitsFor: "waits for %s", waitsNone: "waits", asks: "%s asks", ended: "could be answered until %s", and: ", ", list: ", ", gap: "",
		blocksOnly: "Blocks the only open todo",
		linked:     "linked %s", inBrackets: " (%s)", onPage: "the page", atTerminal: "a terminal",
		owner: "owner", approver: "approver", standing: "Approved, it stands for the whole goal until %s",
		loose: "contents not fixed", unpinned: "contents not fixed: a file it runs may change afterwards",
	}
}

// mark is the kernel's own mark of an option, in the card's language.
func (w words) mark(outcome string) string {
	switch outcome {
	case "approve":
		return w.approves
	case "reject":
		return w.rejects
	case "cancel":
		return w.cancels
	}
	return w.answers
}

// surface is where an answer came from.
func (w words) surface(name string) string {
	switch name {
	case "slack":
		return w.gap + "Slack"
	case "discord":
		return w.gap + "Discord"
	case "lark":
		return w.gap + "Lark"
	case "page":
		return w.onPage
	case "cli":
		return w.atTerminal
	}
	return w.gap + name
}

// role is what somebody is in a goal; empty for what decides nothing.
func (w words) role(name string) string {
	switch name {
	case "owner":
		return w.owner
	case "approver":
		return w.approver
	}
	return ""
}

// enforced says who holds an agent to a decision.
func (w words) enforced(by string) string {
	switch by {
	case "by host":
		return w.byHost
	case "by hook":
		return w.byHook
	}
	return w.advisory
}

func sprintf(format string, a ...any) string { return fmt.Sprintf(format, a...) }
