package cards

// choiceWord is a choice of a binding as a reader is told it. In English it is the
// word that is typed.
func choiceWord(lang, value string) string {
	if lang != "zh" {
		return value
	}
	zh := map[string]string{
		"goal": "目标", "manager": "管家", "direct": "私下会话", "addressed": "只收提到我的消息", "all": "所有消息",
		"steer": "正在进行的一轮", "queue": "下一轮的队列", "inbox": "收件箱", "thread": "原来的话题", "mirror": "原处和目标的会话", "none": "不回复",
	}[value]
	if zh == "" {
		return value
	}
	return zh
}
