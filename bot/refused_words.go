package bot

import "loopx/kernel"

// refusedBecause is why the kernel said no, in a person's language: its own
// sentence, or what its code means. A code without a word of its own is told by
// its class and by itself, so that it can be looked up.
func refusedBecause(lang string, err error) string {
	e := kernel.AsError(err)
	if e == nil {
		return ""
	}
	if lang != "zh" {
		return e.Message
	}
	if word := refusedCode(e.Code); word != "" {
		return word
	}
	return refusedClass(e.Class) + "（" + e.Code + "）"
}

func refusedCode(code string) string {
	return map[string]string{
		"agent_exists":         "该 Agent 已是此目标的成员",
		"agent_missing":        "此目标还没有 Agent",
		"agent_not_registered": "此目标没有这个 Agent",
		"agent_required":       "此目标有多个 Agent，需要指明是哪一个",
		"allow_empty":          "需要写明谁的消息算数；空名单等于没有人",
		"bad_allowed_slots":    "允许的份数超出范围",
		"bad_budget":           "每天打扰次数超出范围",
		"bad_delegate":         "不能把待决事项交给自己",
		"bad_option":           "没有这个选项",
		"bad_priority":         "优先级应为 P0 到 P3",
		"bad_quiet":            "免打扰时段需要开始和结束时间",
		"bad_time_of_day":      "时间应在 00:00 到 23:59 之间",
		"bad_until":            "日期不可用：应在一年之内",
		"bad_zone":             "没有这个时区",
		"binding_exists":       "这里已有相同的绑定",
		"binding_not_found":    "没有这个绑定",
		"capture_all":          "只有管家绑定可以接收全部消息",
		"change_late":          "这个决定已超过十分钟，不能再修改",
		"context_all":          "只有管家绑定可以保留所有人的上下文",
		"direct_place":         "direct 绑定用于整个私聊，且最多一个目标",
		"gate_answered":        "这个问题已经有决定",
		"gate_changed":         "问题在显示之后有变化",
		"gate_closed":          "这个问题已不再等待回答",
		"gate_expired":         "问题已超时；超时不代表同意",
		"gate_not_decided":     "还没有可以修改的决定",
		"gate_not_expired":     "问题没有超时",
		"gate_not_found":       "没有这个待决事项",
		"gate_open":            "问题仍可回答",
		"gate_released":        "它所阻塞的工作已经放行",
		"goal_closed":          "目标已经关闭",
		"goal_exists":          "已有同名目标",
		"goal_not_found":       "没有这个目标",
		"link_invited":         "该账号已被邀请，对方尚未接受",
		"link_not_found":       "没有这个聊天账号",
		"link_revoked":         "该账号已被收回",
		"link_suspended":       "该账号已被暂停",
		"local_owner":          "此人是本机的所有者，拥有全部目标",
		"manager_ingress":      "管家的消息会成为独立的一轮，只能用 queue",
		"manager_thread":       "管家面向整个会话，不能只绑定一个话题",
		"members_ingress":      "对成员开放的绑定只能用 ingress=queue",
		"missing_goals":        "管家绑定需要写明目标",
		"missing_person":       "没有写明是谁",
		"no_right":             "对方没有回答待决事项的权利",
		"no_undo":              "这类决定不能修改",
		"not_decider":          "只有做出决定的人能修改",
		"not_found":            "没有找到",
		"not_invited":          "邀请已被撤回，或该账号未被邀请",
		"not_private":          "direct 绑定只能用于私聊",
		"not_suspended":        "该账号没有被暂停",
		"not_yours":            "只有本人可以这样做",
		"one_goal":             "goal 绑定只能有一个目标",
		"owner_only":           "只有所有者可以这样做",
		"people_only":          "只有人可以这样做",
		"person_not_found":     "这里没有这个人",
		"person_suspended":     "此人已被暂停",
		"place_fixed":          "这个绑定属于另一个会话",
		"plan_changed":         "结果已变化",
		"quorum_needed":        "由多人决定的事项，一个人只能撤回",
		"session_not_found":    "没有这个会话窗口",
		"todo_closed":          "任务已经结束",
		"todo_not_found":       "此目标没有这个任务",
		"todo_superseded":      "任务已被另一个任务取代",
		"too_far":              "最多提前 30 天",
		"too_many":             "数量超出上限",
		"too_many_agents":      "此目标的 Agent 已达上限",
		"too_many_bindings":    "绑定数量已达上限",
		"too_many_gates":       "待决事项数量已达上限",
		"too_many_pauses":      "静音和推迟的数量已达上限",
		"too_many_roles":       "此目标的人员已达上限",
	}[code]
}

func refusedClass(c kernel.Class) string {
	switch c {
	case kernel.Invalid:
		return "内容不可用"
	case kernel.NotFound:
		return "没有找到"
	case kernel.Conflict:
		return "与现状冲突"
	case kernel.Denied:
		return "没有权限"
	case kernel.Stale:
		return "显示之后有变化"
	case kernel.Exhausted:
		return "已达上限"
	case kernel.Locked:
		return "正被占用"
	case kernel.Unavailable:
		return "暂时不可用"
	case kernel.Unknown:
		return "结果未知"
	case kernel.Internal:
		return "内部错误"
	}
	return "被拒绝"
}
