package cards

import "fmt"

// refusal is what a person is told about an answer or a command that was not
// taken; empty for a reason that is not about one. about is the decision's code
// or the command's name.
func refusal(lang, reason, about string) string {
	zh := lang == "zh"
	say := func(en, chinese string) string {
		if zh {
			return chinese
		}
		return en
	}
	switch reason {
	case "mention_needed":
		return say("Several people write here, so I take only what mentions me.", "这里有多人发言，只有 @我 的消息才算数。")
	case "answer_on_card":
		return fmt.Sprintf(say("%s is protected: answer it on its card, not in words.", "%s 受保护：请在卡片上回答，文字不算。"), about)
	case "gate_right":
		return fmt.Sprintf(say("%s is not for you to answer. Nothing was decided.", "%s 不由你回答，没有做出任何决定。"), about)
	case "no_such_gate":
		return say("I know no open decision with this number here.", "这里没有这个编号的待决事项。")
	case "no_such_option":
		return fmt.Sprintf(say("%s has no such answer. Press one of its buttons.", "%s 没有这个答案，请按卡片上的按钮。"), about)
	case "talk_under_a_gate":
		return say("This stands under a decision, so I took it for talk about it. Answer with its buttons, or with yes or no; to reach an agent, write outside this thread.",
			"这条写在待决事项下面，我当作讨论。请按按钮，或回答“同意”“拒绝”；要找执行者，请写在这个话题之外。")
	case "bad_arguments":
		return say("I could not read that. It goes like this: ", "没有读懂。写法：") + Usage(about)
	}
	return ""
}

// Usage is how a command is written.
func Usage(command string) string {
	args := map[string]string{
		"help": "[COMMAND]", "status": "[GOAL | pin | unpin]", "gates": "[GOAL]", "todos": "[GOAL]", "today": "", "why": "[G-7 | TODO | GOAL]", "find": "WORDS", "to": "GOAL [AGENT] [MESSAGE]", "queue": "[MESSAGE]",
		"todo": "[GOAL:] TEXT", "defer": "TODO TIME", "assign": "TODO AGENT|@PERSON", "stop": "[GOAL | all]", "resume": "GOAL", "report": "[GOAL]", "mute": "[2h | off] [GOAL]", "snooze": "G-7 [2h | tomorrow]",
		"quiet": "21-7 | off", "away": "until DATE [to @PERSON] | off", "new": "OBJECTIVE", "configure": "[GOAL [KEY VALUE]]", "bind": "GOAL [AGENT] [KEY=VALUE]...",
		"role": "@PERSON ROLE GOAL | revoke @PERSON ROLE GOAL | list [GOAL]", "grants": "[GOAL]", "quota": "[GOAL [SLOTS]]", "link": "[CODE | list | revoke ID]", "unlink": "[@PERSON]",
	}[command]
	if args == "" {
		return "/" + command
	}
	return "/" + command + " " + args
}
