package cards

import (
	"fmt"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
	"loopx/kernel/view"
)

// planLines is how many lines a plan's card shows.
const planLines = 12

// PlanCopy is a command that waits for a press, or how it ended.
type PlanCopy struct {
	Lang, Title string
	Lines       []string
	State       string // open, done, cancelled, expired, failed
	Said        string // how it ended, in words
	At          int64  // when, UTC ms
	Receipt     string
	Warn        bool
	Actions     []Action
	Zone        *time.Location
}

// planWords are the sentences around plans. Both tables are complete; a test
// finds missing ones.
type planWords struct {
	confirm, cancel, accept, decline                                  string
	open, done, cancelled, expired, failed, expiredNote, failedNote   string
	within, receipt, more                                             string
	grant, becomes, invited, replaces, revoke, loses                  string
	unlink, unlinks, takeAccount, accountLoses                        string
	statusCard                                                        string
	bind, bound, captures, wider, unbind, unbound, rebind, confirmed  string
	create, objective, stop, stops, resume, resumes, configure, slots string
	todo, deferTodo, deferred, assign, assigned                       string
	invitation, invites                                               string
}

func planWordsOf(lang string) planWords {
	if lang == "zh" {
		return planWords{
			confirm: "确认", cancel: "取消", accept: "接受", decline: "拒绝",
			open: "等你确认", done: "已完成", cancelled: "已取消", expired: "已超时", failed: "未执行", expiredNote: "15 分钟内没有确认，什么都没有改变。", failedNote: "什么都没有改变：%s",
			within: "15 分钟内由你本人确认", receipt: "回执 %s", more: "… 另有 %d 项",
			grant: "授予角色", becomes: "%s 成为目标 %s 的 %s", invited: "对方在与我的私聊中接受后才生效", replaces: "取代原角色：%s", revoke: "收回角色", loses: "%s 不再拥有目标 %s 的角色",
			unlink: "取消关联", unlinks: "你的这个账号不再拥有任何权限；若它是你唯一的账号，你的角色也一并结束。", takeAccount: "收回账号", accountLoses: "账号 %s 不再拥有任何权限",
			statusCard: "一张状态卡片会置顶在此处并保持更新",
			bind:       "绑定会话", bound: "此会话绑定到 %s（%s）", captures: "接收 %s · 进入 %s · 回复 %s", wider: "此处的人多于目标 %s 的可见范围：成员会看到它的卡片", unbind: "解除绑定", unbound: "绑定 %s 结束", rebind: "确认绑定", confirmed: "绑定 %s 重新生效",
			create: "新建目标", objective: "目标：%s", stop: "停止目标", stops: "%s 停止，Agent 不再开始新的工作", resume: "恢复目标", resumes: "%s 恢复，Agent 继续工作", configure: "修改设置", slots: "配额：%d",
			todo: "新任务", deferTodo: "推迟任务", deferred: "%s 推迟到 %s", assign: "指派任务", assigned: "%s 交给 %s",
			invitation: "邀请", invites: "邀请你成为目标 %s 的 %s",
		}
	}
	return planWords{
		confirm: "Confirm", cancel: "Cancel", accept: "Accept", decline: "Decline",
		open: "waits for you to confirm", done: "done", cancelled: "cancelled", expired: "expired", failed: "not done", expiredNote: "Nobody confirmed within 15 minutes. Nothing was changed.", failedNote: "Nothing was changed: %s",
		within: "only you can confirm, within 15 minutes", receipt: "receipt %s", more: "… %d more",
		grant: "Give a role", becomes: "%s becomes %[3]s of %[2]s", invited: "It counts once they accept in a private chat with me", replaces: "Replaces their role: %s", revoke: "Take a role away", loses: "%s has no role in %s any more",
		unlink: "Unlink your account", unlinks: "This account has no rights here any more. If it is your only one, your roles end with it.", takeAccount: "Take an account away", accountLoses: "The account %s has no rights here any more",
		statusCard: "A status card is pinned here and kept up to date",
		bind:       "Bind this conversation", bound: "This conversation is bound to %s (%s)", captures: "captures %s · goes to %s · answers in %s", wider: "More people are here than %s is meant for: they will see its cards", unbind: "End a binding", unbound: "The binding %s ends", rebind: "Confirm a binding", confirmed: "The binding %s counts again",
		create: "New goal", objective: "Objective: %s", stop: "Stop", stops: "%s stops; agents start nothing new", resume: "Resume", resumes: "%s goes on; agents work again", configure: "Change settings", slots: "allowance: %d slots",
		todo: "New todo", deferTodo: "Defer a todo", deferred: "%s waits until %s", assign: "Assign a todo", assigned: "%s goes to %s",
		invitation: "Invitation", invites: "You are invited to be %[2]s of %[1]s",
	}
}

// Plan draws a command that waits for a press, or how it ended.
func Plan(c PlanCopy) chat.Card {
	w := planWordsOf(c.Lang)
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	card := chat.Card{Lang: c.Lang, State: chat.CardOpen, Title: c.Title, Facts: c.Lines}
	if n := len(c.Lines); n > planLines {
		card.Facts = append(append([]string{}, c.Lines[:planLines]...), sprintf(w.more, n-planLines))
	}
	end := w.open
	switch c.State {
	case "open":
		card.Footer = w.within
	case "done":
		card.State, end = chat.CardDecided, w.done
		parts := []string{}
		for _, s := range []string{c.Said, view.ClockIn(c.Lang, c.At, c.At, c.Zone)} {
			if s != "" {
				parts = append(parts, s)
			}
		}
		card.Outcome = strings.Join(parts, " · ")
		if c.Receipt != "" {
			card.Footer = sprintf(w.receipt, c.Receipt)
		}
	case "cancelled":
		card.State, end, card.Outcome = chat.CardDecided, w.cancelled, c.Said
	case "expired":
		card.State, end, card.Outcome = chat.CardExpired, w.expired, w.expiredNote
	default:
		card.State, end, card.Outcome = chat.CardStale, w.failed, sprintf(w.failedNote, c.Said)
	}
	card.Title += " · " + end
	for _, a := range c.Actions {
		b := chat.Button{ID: a.ID, Label: w.confirm}
		switch {
		case a.Step == "confirm" && a.Option == "invitation":
			b.Label = w.accept
		case a.Step == "confirm" && c.Warn:
			b.Style = chat.ButtonDanger
		case a.Step != "confirm" && a.Option == "invitation":
			b.Label = w.decline
		case a.Step != "confirm":
			b.Label = w.cancel
		}
		card.Buttons = append(card.Buttons, b)
	}
	return card
}

// PlanTitle says what a command is about, in two or three words.
func PlanTitle(lang string, cmd kernel.Command) string {
	w := planWordsOf(lang)
	switch c := cmd.(type) {
	case *kernel.GrantRole:
		return w.grant
	case *kernel.RevokeRole:
		return w.revoke
	case *kernel.AcceptRole:
		return w.invitation
	case *kernel.Unlink:
		return w.unlink
	case *kernel.SettleLink:
		return w.takeAccount
	case *kernel.SetBinding:
		return w.bind
	case *kernel.RemoveBinding:
		return w.unbind
	case *kernel.SetBindingState:
		return w.rebind
	case *kernel.CreateGoal:
		return w.create
	case *kernel.PauseGoal:
		if c.Resume {
			return w.resume
		}
		return w.stop
	case *kernel.ConfigureGoal:
		return w.configure
	case *kernel.AddTodo:
		return w.todo
	case *kernel.UpdateTodo:
		return w.deferTodo
	case *kernel.ClaimTodo, *kernel.TransferTodo:
		return w.assign
	}
	return cmd.Name()
}

// PlanLines says what a command would do. result is what its preview found.
func PlanLines(lang string, cmd kernel.Command, result map[string]any) []string {
	w := planWordsOf(lang)
	text := func(name string) string { s, _ := result[name].(string); return s }
	choice := func(name string) string { return choiceWord(lang, text(name)) }
	var out []string
	switch c := cmd.(type) {
	case *kernel.GrantRole:
		out = append(out, sprintf(w.becomes, text("name"), c.Goal, c.Role))
		if text("state") == kernel.RolePending {
			out = append(out, w.invited)
		}
		if was := text("was"); was != "" && was != c.Role {
			out = append(out, sprintf(w.replaces, was))
		}
	case *kernel.RevokeRole:
		out = append(out, sprintf(w.loses, text("name"), c.Goal))
	case *kernel.Unlink:
		out = append(out, w.unlinks)
	case *kernel.SettleLink:
		out = append(out, sprintf(w.accountLoses, c.User))
	case *kernel.SetBinding:
		out = append(out, sprintf(w.bound, strings.Join(c.Goals, ", "), choice("role")), sprintf(w.captures, choice("capture"), choice("ingress"), choice("reply")))
		if text("card") == kernel.CardOfStatus {
			out = append(out, w.statusCard)
		}
		if wide, _ := result["wider_than"].([]any); len(wide) > 0 {
			out = append(out, sprintf(w.wider, fmt.Sprint(wide[0])))
		}
	case *kernel.RemoveBinding:
		out = append(out, sprintf(w.unbound, c.Binding))
	case *kernel.SetBindingState:
		out = append(out, sprintf(w.confirmed, c.Binding))
	case *kernel.CreateGoal:
		out = append(out, c.Goal, sprintf(w.objective, c.Objective))
	case *kernel.PauseGoal:
		if c.Resume {
			return []string{sprintf(w.resumes, c.Goal)}
		}
		return []string{sprintf(w.stops, c.Goal)}
	case *kernel.ConfigureGoal:
		out = configureLines(w, c)
	case *kernel.AddTodo:
		out = append(out, c.Goal+": "+c.Title)
	case *kernel.UpdateTodo:
		out = append(out, sprintf(w.deferred, c.Todo, strings.TrimPrefix(c.ResumeWhen, "date:")))
	case *kernel.ClaimTodo:
		out = append(out, sprintf(w.assigned, c.Todo, c.Agent))
	case *kernel.TransferTodo:
		out = append(out, sprintf(w.assigned, c.Todo, c.To))
	}
	for i := range out {
		out[i] = oneLine(out[i], planLine)
	}
	return out
}

// planLine is how much of a person's own words a plan repeats, in characters.
const planLine = 300

// oneLine folds spaces and line ends and cuts what is long, saying so.
func oneLine(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}

func configureLines(w planWords, c *kernel.ConfigureGoal) []string {
	var out []string
	add := func(name string, v *string) {
		if v != nil && *v != "" {
			out = append(out, c.Goal+" · "+name+": "+*v)
		}
	}
	add("title", c.Title)
	add("objective", c.Objective)
	add("language", &c.Language)
	add("visibility", &c.Visibility)
	add("handoff", &c.Handoff)
	if c.Allowed != nil {
		out = append(out, c.Goal+" · "+sprintf(w.slots, *c.Allowed))
	}
	return out
}

// InvitationLine says what somebody is invited to.
func InvitationLine(lang, goal, role string) string {
	return sprintf(planWordsOf(lang).invites, goal, role)
}
