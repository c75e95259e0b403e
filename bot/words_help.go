package bot

import (
	"fmt"
	"slices"
	"strings"

	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/routing"
)

// does is what a command is for, in a few words.
func (q *request) does(command string) string {
	en := map[string]string{
		"help": "this", "status": "how each goal is", "gates": "what waits for you", "todos": "open work", "today": "what was done today", "why": "why something waits", "find": "search what you may read",
		"to": "whom your messages go to", "queue": "a message for the next turn", "todo": "new work", "defer": "put work off", "assign": "give work to an agent", "stop": "stop a goal, or all",
		"resume": "let a goal go on", "report": "reports (later)", "mute": "hear nothing for a while", "snooze": "put a decision off", "quiet": "quiet hours", "away": "somebody else answers",
		"new": "a new goal", "configure": "settings of a goal", "bind": "join this conversation to a goal", "role": "who may do what", "grants": "standing approvals", "quota": "slots of a goal", "link": "your accounts", "unlink": "take an account away",
	}
	zh := map[string]string{
		"help": "本说明", "status": "各目标的状态", "gates": "待你处理的事项", "todos": "未完成的任务", "today": "今天的进展", "why": "为什么在等待", "find": "查找你能查看的内容",
		"to": "消息发给谁", "queue": "排到下一轮的消息", "todo": "新任务", "defer": "推迟任务", "assign": "指派任务", "stop": "停止一个或全部目标",
		"resume": "恢复目标", "report": "报告（尚未提供）", "mute": "暂时静音", "snooze": "稍后再提", "quiet": "免打扰时段", "away": "由别人代答",
		"new": "新建目标", "configure": "目标的设置", "bind": "把会话绑定到目标", "role": "人员角色", "grants": "长期授权", "quota": "目标的配额", "link": "你的账号", "unlink": "解除账号关联",
	}
	return q.say(en[command], zh[command])
}

// needs is the role without which a command is not listed: what somebody may not
// do is not offered.
func needs(command string) string {
	switch command {
	case "to", "queue", "todo", "defer", "assign", "stop":
		return kernel.RoleSteerer
	case "new", "bind", "role", "configure", "quota", "resume":
		return kernel.RoleOwner
	case "snooze", "away":
		return kernel.RoleApprover
	}
	return kernel.RoleObserver
}

// helpWords lists what the person may do, and no more, or how one command goes.
func helpWords(q *request) string {
	if len(q.in.Args.Words) == 1 {
		word := routing.Parse("/" + strings.TrimPrefix(q.in.Args.Words[0], "/")).Command
		if word == "" {
			word = "help"
		}
		return usageWords(q, word) + "\n" + q.does(word)
	}
	var held []string
	for _, v := range q.r.RolesBy(q.actor.ID) {
		held = append(held, q.r.RoleOf(v.Goal, q.actor.ID))
	}
	may := func(command string) bool {
		switch {
		case q.actor.Kind == kernel.ByOwner:
			return true
		case command == "new":
			return false
		}
		return needs(command) == kernel.RoleObserver || slices.ContainsFunc(held, func(r string) bool { return kernel.Includes(r, needs(command)) })
	}
	lines := []string{q.say("I show decisions as cards; press a button to answer one.", "待决事项会以卡片显示，按按钮即可回答。")}
	for _, c := range routing.Commands() {
		if may(c) {
			lines = append(lines, "/"+c+"  "+q.does(c))
		}
	}
	return strings.Join(append(lines, "", aboutWords(q.r, q.lang())), "\n")
}

// aboutWords says who owns the bot, what it keeps, how long, and whom to ask.
func aboutWords(r *kernel.Reader, lang string) string {
	name := ""
	if p := r.Person("owner"); p != nil && p.Name != "owner" {
		name = p.Name
	}
	if lang == "zh" {
		who := "所有者是这台机器的使用者"
		if name != "" {
			who = "所有者是 " + name
		}
		return fmt.Sprintf("我是 loopx。%s，有问题请找其本人。我只保存发给我的消息（%d 天）；设有管家的群里，其他消息仅作上下文（%d 天）。决定和记录留在所有者的机器上。", who, inbox.TextDays, inbox.ContextDays)
	}
	who, ask := "whoever runs it on their machine", "the owner"
	if name != "" {
		who, ask = name, name
	}
	return fmt.Sprintf("I am loopx. I belong to %s. I keep messages addressed to me for %d days; where a Manager listens, others as context for %d days. Decisions and records stay on the owner's machine. Questions: ask %s.", who, inbox.TextDays, inbox.ContextDays, ask)
}

// usageWords is how a command is written.
func usageWords(q *request, command string) string {
	return q.say("It goes like this: ", "写法：") + cards.Usage(command)
}

// unknownWords names the commands that a wrong word may have meant.
func unknownWords(q *request) string {
	near := slices.DeleteFunc(slices.Clone(q.in.Near), func(c string) bool { return c == "help" })
	if len(near) == 0 {
		return q.say("I took that for nothing I know. /help lists what I do. Nothing was changed.", "我没有明白。/help 可查看我能做的事。什么都没有改变。")
	}
	lines := []string{q.say("I don't know that. Did you mean:", "没有这个命令。你是不是想用：")}
	for _, c := range near {
		lines = append(lines, "/"+c+"  "+q.does(c))
	}
	return strings.Join(append(lines, q.say("Nothing was changed.", "什么都没有改变。")), "\n")
}

// linkWords lists accounts: a person's own, for the owner everybody's.
func linkWords(q *request) string {
	words := q.in.Args.Words
	if len(words) > 0 && strings.EqualFold(words[0], "revoke") {
		return q.say("Somebody's account is taken away with /unlink @PERSON. Nothing was changed.", "解除他人的账号请用 /unlink @某人。什么都没有改变。")
	}
	list := q.r.PrincipalsOf(q.actor.ID)
	if q.actor.Kind == kernel.ByOwner {
		list = q.r.Principals(todosShown + 1)
	}
	var lines []string
	for i, p := range list {
		if i == todosShown {
			lines = append(lines, q.say("… more: loopx link list", "… 更多：loopx link list"))
			break
		}
		name := p.Person
		if v := q.r.Person(p.Person); v != nil {
			name = v.Name
		}
		lines = append(lines, fmt.Sprintf("%s  %s, %s  %s", name, p.Platform, p.Connection, accountWords(q, p.Status)))
	}
	if len(lines) == 0 {
		return q.say("No account is linked. Another one is linked with: loopx link", "没有关联的账号。关联：loopx link")
	}
	return strings.Join(append(lines, q.say("Another one is linked with: loopx link", "关联其他账号：loopx link")), "\n")
}
