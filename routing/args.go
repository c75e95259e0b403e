package routing

import (
	"strconv"
	"strings"
)

// Args are what stands behind a command. The fields a command does not use are
// empty.
type Args struct {
	// Words are what a command's grammar leaves open, as they were typed: the
	// key=value words of bind, list or revoke of link.
	Words []string
	// Text is free text: a message to an agent, a question, a new goal.
	Text string
	// Gate is a code such as G-7.
	Gate string
	// Goal is the id of a goal, Agent of an agent, Todo of a todo. What a word
	// means is read from its place and never guessed.
	Goal, Agent, Todo string
	// User is the platform id of who was mentioned.
	User string
	// Role of role.
	Role Role
	// Key and Value of configure; Value also of quota, a whole number; Key also of
	// status: pin or unpin its card.
	Key, Value string
	// For is a duration, ms.
	For int64
	// Until is a moment that the person's zone and calendar give a meaning:
	// "2026-12-03", "12-03", "18:00", "tomorrow", "monday", "next_week".
	Until string
	// From and To are hours of the day, 0 to 23, of quiet; equal when not given.
	From, To int
	// All: of everything, as in stop all.
	All bool
	// Off takes back, as in quiet off and role revoke.
	Off bool
	// Bad says in a word or two what could not be read; empty when all was.
	Bad string
}

// MaxFor is the longest duration a command takes: a year, in ms.
const MaxFor = 366 * 24 * 60 * 60 * 1000

// args reads what stands behind a command.
func (w words) args(name, rest string) Args {
	t := strings.Fields(strings.ReplaceAll(rest, "\u3000", " "))
	switch name {
	case "find", "new", "queue":
		return Args{Text: rest}
	case "to":
		return toArgs(rest)
	case "todo":
		a := Args{Text: rest}
		if first, more := cutWord(rest); strings.HasSuffix(first, ":") && isGoal(first[:len(first)-1]) && more != "" {
			a.Goal, a.Text = first[:len(first)-1], more
		}
		return need(a, a.Text != "", "text")
	case "why":
		if len(t) > 1 {
			return Args{Bad: "one_thing"}
		}
		if len(t) == 1 {
			if g := gateCode(t[0]); g != "" {
				return Args{Gate: g}
			}
			return Args{Words: t}
		}
		return Args{}
	case "help":
		if len(t) > 1 {
			return Args{Bad: "one_command"}
		}
		return Args{Words: rather(t)}
	case "defer":
		if len(t) < 2 {
			return Args{Bad: "todo_and_time"}
		}
		a := moment(t[1:])
		a.Todo = t[0]
		return a
	case "assign":
		return assignArgs(t)
	case "mute":
		return muteArgs(t)
	case "snooze":
		if len(t) == 0 || gateCode(t[0]) == "" {
			return Args{Bad: "gate"}
		}
		a := Args{}
		if len(t) > 1 {
			a = moment(t[1:])
		}
		a.Gate = gateCode(t[0])
		return a
	case "quiet":
		return quietArgs(t)
	case "away":
		return awayArgs(t)
	}
	return adminArgs(name, t)
}

// adminArgs reads the commands about goals, people and bindings.
func adminArgs(name string, t []string) Args {
	switch name {
	case "resume":
		return need(goalOnly(t), len(t) == 1, "goal")
	case "stop":
		if len(t) == 1 && (fold(t[0]) == "all" || t[0] == "全部") {
			return Args{All: true}
		}
		return goalOnly(t)
	case "role":
		return roleArgs(t)
	case "configure":
		a := Args{}
		switch {
		case len(t) > 0 && isGoal(t[0]):
			a.Goal = t[0]
			if len(t) == 2 {
				return Args{Bad: "value"}
			}
			if len(t) > 2 {
				a.Key, a.Value = t[1], strings.Join(t[2:], " ")
			}
		case len(t) > 0:
			a.Bad = "goal"
		}
		return a
	case "quota":
		a := Args{}
		if len(t) > 0 {
			a = need(Args{Goal: t[0]}, isGoal(t[0]) && len(t) < 3, "goal")
		}
		if len(t) == 2 && a.Bad == "" {
			if n, err := strconv.Atoi(t[1]); err != nil || n < 0 || n > 1_000_000 {
				return Args{Bad: "number"}
			}
			a.Value = t[1]
		}
		return a
	case "status":
		if key := pinWord(t); key != "" {
			return Args{Key: key}
		}
		return goalOnly(t)
	case "bind":
		a := Args{}
		for i, word := range t {
			switch {
			case strings.Contains(word, "="):
				a.Words = append(a.Words, word)
			case i == 0 && isGoal(word):
				a.Goal = word
			case i == 1 && a.Goal != "" && isAgent(word):
				a.Agent = word
			default:
				return Args{Bad: "goal"}
			}
		}
		return a
	case "link":
		return need(Args{Words: rather(t)}, len(t) == 0 || fold(t[0]) == "list" && len(t) == 1 || fold(t[0]) == "revoke" && len(t) == 2, "list_or_revoke")
	case "unlink":
		if len(t) == 0 {
			return Args{}
		}
		return need(Args{User: mentioned(t[0])}, len(t) == 1 && mentioned(t[0]) != "", "person")
	}
	return goalOnly(t) // gates, todos, today, grants, report
}

// pinWord is what status does with its card: pin, unpin, or empty for neither.
func pinWord(t []string) string {
	if len(t) != 1 {
		return ""
	}
	return map[string]string{"pin": "pin", "unpin": "unpin", "置顶": "pin", "取消置顶": "unpin"}[fold(t[0])]
}

// rather gives no list instead of an empty one.
func rather(t []string) []string {
	if len(t) == 0 {
		return nil
	}
	return t
}

func need(a Args, ok bool, what string) Args {
	if !ok {
		return Args{Bad: what}
	}
	return a
}

func goalOnly(t []string) Args {
	if len(t) == 0 {
		return Args{}
	}
	return need(Args{Goal: strings.ToLower(t[0])}, len(t) == 1 && isGoal(strings.ToLower(t[0])), "goal")
}

// toArgs reads "goal", "goal agent" and either with a message behind it. Whether
// the second word is an agent is known where the targets are.
func toArgs(rest string) Args {
	goal, text := cutWord(rest)
	goal = strings.TrimRight(strings.ToLower(goal), ":：")
	return need(Args{Goal: goal, Text: text}, isGoal(goal), "goal")
}

func assignArgs(t []string) Args {
	switch {
	case len(t) != 2:
		return Args{Bad: "todo_and_agent"}
	case mentioned(t[1]) != "":
		return Args{Todo: t[0], User: mentioned(t[1])}
	}
	return need(Args{Todo: t[0], Agent: t[1]}, isAgent(t[1]), "agent")
}

func muteArgs(t []string) Args {
	a := Args{}
	if len(t) > 0 && off(t[0]) {
		a.Off, t = true, t[1:]
	} else if len(t) > 0 {
		goal := ""
		if n := len(t) - 1; isGoal(t[n]) && moment(t[n:]).Bad != "" && duration(fold(t[n])) == 0 {
			goal, t = t[n], t[:n]
		}
		if len(t) > 0 {
			a = moment(t)
		}
		a.Goal = goal
		return a
	}
	if len(t) > 0 {
		b := goalOnly(t)
		a.Goal, a.Bad = b.Goal, b.Bad
	}
	return a
}

func quietArgs(t []string) Args {
	switch {
	case len(t) == 0:
		return Args{}
	case len(t) == 1 && off(t[0]):
		return Args{Off: true}
	}
	s := strings.NewReplacer("–", "-", "—", "-", "~", "-", "到", "-", "至", "-", "点", "", "时", "", ":00", "", " ", "").Replace(fold(strings.Join(t, "")))
	from, to, ok := strings.Cut(s, "-")
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || len(from) > 2 || len(to) > 2 || a < 0 || b < 0 || a > 23 || b > 24 || a == b%24 {
		return Args{Bad: "hours"}
	}
	return Args{From: a, To: b % 24}
}

func awayArgs(t []string) Args {
	if len(t) == 0 {
		return Args{}
	}
	if len(t) == 1 && off(t[0]) {
		return Args{Off: true}
	}
	user := ""
	if n := len(t) - 1; mentioned(t[n]) != "" {
		user, t = mentioned(t[n]), t[:n]
		if n := len(t) - 1; n >= 0 && (fold(t[n]) == "to" || t[n] == "给" || t[n] == "交给") {
			t = t[:n]
		}
	}
	a := moment(t)
	a.User = user
	return a
}

func roleArgs(t []string) Args {
	if len(t) == 0 {
		return Args{}
	}
	a := Args{}
	switch fold(t[0]) {
	case "list":
		return goalOnly(t[1:])
	case "revoke":
		a.Off, t = true, t[1:]
	}
	if len(t) != 3 {
		return Args{Bad: "person_role_goal"}
	}
	a.User, a.Role, a.Goal = mentioned(t[0]), roleOf(fold(t[1])), strings.ToLower(t[2])
	return need(a, a.User != "" && a.Role != "" && isGoal(a.Goal), "person_role_goal")
}

func roleOf(word string) Role {
	switch word {
	case "owner", "所有者":
		return Owner
	case "approver", "审批人":
		return Approver
	case "steerer", "引导者":
		return Steerer
	case "observer", "观察者":
		return Observer
	}
	return ""
}

// off is the word that takes something back.
func off(word string) bool {
	switch fold(word) {
	case "off", "end", "关", "关闭", "取消", "结束":
		return true
	}
	return false
}

// mentioned is the id of a mention as chat.Message gives it. Whether it is one
// or only looks so is known where the message is.
func mentioned(word string) string {
	id, ok := strings.CutPrefix(word, "@")
	if !ok || id == "" || len(id) > 128 {
		return ""
	}
	return id
}

// gateCode is the code when the word is one.
func gateCode(word string) string {
	c, n := readCode(word)
	if n != len(word) {
		return ""
	}
	return c
}

// isGoal says whether a word has the form of a goal's id: 1 to 64 of a-z 0-9 _ -.
func isGoal(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' || s[0] == '_' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// isAgent says whether a word has the form of an agent's id.
func isAgent(s string) bool {
	return s != "" && len(s) <= 80 && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.:@-") == ""
}
