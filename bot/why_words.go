package bot

import "loopx/kernel"

// nextWords is what an agent does next, in a few words: what it works on by its
// title, and no word that only its loop knows.
func nextWords(q *request, d *kernel.Decision) string {
	title := ""
	if d.Selected != nil {
		title = d.Selected.Title
	}
	switch d.Kind {
	case "reply":
		return q.say("answers a message next", "接下来回复一条消息")
	case "settle":
		return q.say("finishes what its last turn left", "接下来处理上一轮留下的事")
	case "replan":
		return q.say("looks at its plan again", "接下来重新检查计划")
	case "repair":
		return q.say("puts something right first", "先修正一处问题")
	case "monitor":
		return q.say("looks at ", "接下来查看：") + title
	case "ask":
		return q.say("waits for a decision", "等待决定")
	case "plan":
		return q.say("has nothing open and plans", "没有未完成的任务，接下来做计划")
	case "stop":
		return q.say("is stopped", "已停止")
	case "wait":
		return q.say("waits", "等待中")
	}
	if title != "" {
		return q.say("next is ", "接下来：") + title
	}
	return q.say("goes on", "继续")
}

// roleWords is a role in words.
func roleWords(q *request, role string) string {
	zh := map[string]string{kernel.RoleOwner: "所有者", kernel.RoleApprover: "审批人", kernel.RoleSteerer: "指挥者", kernel.RoleObserver: "观察者"}[role]
	return q.say(role, zh)
}

// accountWords is the state of an account or of a role in words.
func accountWords(q *request, state string) string {
	zh := map[string]string{"invited": "已邀请", "pending": "待确认", "linked": "已关联", "suspended": "已停用", "revoked": "已解除", "gone": "已离开"}[state]
	if zh == "" {
		zh = state
	}
	return q.say(state, zh)
}
