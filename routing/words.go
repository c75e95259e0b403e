package routing

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words says whose words count.
type words struct{ en, zh bool }

func wordsOf(lang []string) words {
	if len(lang) == 0 {
		return words{true, true}
	}
	var w words
	for _, l := range lang {
		switch tag, _, _ := strings.Cut(strings.ToLower(l), "-"); tag {
		case "en":
			w.en = true
		case "zh":
			w.zh = true
		}
	}
	return w
}

// Commands are the names of all commands, in the order help shows them.
func Commands() []string {
	return []string{
		"help", "status", "gates", "todos", "today", "why", "find", "to", "queue", "todo", "defer", "assign", "stop", "resume", "report",
		"mute", "snooze", "quiet", "away", "new", "configure", "bind", "role", "grants", "quota", "link", "unlink",
	}
}

// command is the name of the command a word stands for, or nothing.
func (w words) command(word string) string {
	if w.en {
		if c := english(word); c != "" {
			return c
		}
	}
	if w.zh {
		return chinese(word)
	}
	return ""
}

func english(word string) string {
	switch word {
	case "?", "h":
		return "help"
	case "gate", "decisions":
		return "gates"
	case "grant":
		return "grants"
	case "roles":
		return "role"
	case "pause":
		return "stop"
	case "config":
		return "configure"
	case "help", "status", "gates", "todos", "today", "why", "find", "to", "queue", "todo", "defer", "assign", "stop", "resume", "report",
		"mute", "snooze", "quiet", "away", "new", "configure", "bind", "role", "grants", "quota", "link", "unlink":
		return word
	}
	return ""
}

func chinese(word string) string {
	switch word {
	case "帮助":
		return "help"
	case "状态":
		return "status"
	case "待决", "待决事项", "审批":
		return "gates"
	case "待办", "任务":
		return "todos"
	case "今天", "今日":
		return "today"
	case "为什么", "原因":
		return "why"
	case "查找", "搜索":
		return "find"
	case "发给", "转给":
		return "to"
	case "排队":
		return "queue"
	case "加待办", "新待办":
		return "todo"
	case "推迟":
		return "defer"
	case "指派", "分配":
		return "assign"
	case "停止", "暂停":
		return "stop"
	case "恢复":
		return "resume"
	case "报告":
		return "report"
	case "静音":
		return "mute"
	case "稍后", "稍后提醒":
		return "snooze"
	case "免打扰", "勿扰":
		return "quiet"
	case "离开", "外出":
		return "away"
	case "新建", "新目标":
		return "new"
	case "配置", "设置":
		return "configure"
	case "绑定":
		return "bind"
	case "角色":
		return "role"
	case "授权":
		return "grants"
	case "配额":
		return "quota"
	case "关联":
		return "link"
	case "取消关联":
		return "unlink"
	}
	return ""
}

// glued finds a Chinese command at the front of a word that goes on, since
// Chinese has no spaces: "静音2小时". The longest one counts; n is its length in
// characters.
func (w words) glued(word string) (name string, n int) {
	if !w.zh {
		return "", 0
	}
	at := 0
	for i, r := range word {
		if at > 0 {
			if c := chinese(word[:i]); c != "" {
				name, n = c, at
			}
		}
		if at++; at > 5 || !unicode.Is(unicode.Han, r) { // no command is longer
			break
		}
	}
	return name, n
}

// head reads the command a text begins with and what follows it. glued says that
// no space stood between them.
func (w words) head(t string) (name, rest string, glued bool) {
	first, rest := cutWord(t)
	word := fold(first)
	if name = w.command(word); name != "" {
		return name, rest, false
	}
	name, n := w.glued(word)
	if name == "" {
		return "", rest, false
	}
	for ; n > 0; n-- { // folding keeps the number of characters
		_, size := utf8.DecodeRuneInString(first)
		first = first[size:]
	}
	return name, strings.TrimSpace(first + " " + rest), true
}

// bare commands are taken without a slash, because the whole message is the
// command and nobody would say it to an agent. The others need the slash: "find
// the cause", "new idea" and "why" are talk.
func bare(name string) bool {
	switch name {
	case "help", "status", "gates", "todos", "today", "stop", "report", "mute", "snooze", "quiet", "away", "grants":
		return true
	}
	return false
}

// yes, no and cancel are the plain words of an answer.
const (
	yes    = "yes"
	no     = "no"
	cancel = "cancel"
)

// decision is the answer a whole word gives, or nothing.
func (w words) decision(word string) string {
	if w.en {
		switch word {
		case "yes", "y", "ok", "okay", "approve", "approved", "allow":
			return yes
		case "no", "n", "reject", "rejected", "deny", "decline":
			return no
		case "cancel":
			return cancel
		}
	}
	if w.zh {
		switch word {
		case "同意", "批准", "通过", "可以", "允许", "是", "是的", "好", "好的":
			return yes
		case "拒绝", "驳回", "不同意", "不批准", "不通过", "不可以", "不允许", "不", "不行", "否":
			return no
		case "取消":
			return cancel
		}
	}
	return ""
}

// nearest are up to three commands that a wrong word may have meant, nearest
// first; never none.
func (w words) nearest(word string) []string {
	type near struct {
		name string
		far  int
	}
	if r := []rune(word); len(r) > 16 {
		word = string(r[:16])
	}
	var all []near
	for _, c := range Commands() {
		d := distance(word, c)
		if len(word) > 1 && (strings.HasPrefix(c, word) || strings.HasPrefix(word, c)) {
			d = min(d, 1)
		}
		all = append(all, near{c, d})
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.far - b.far })
	if all[0].far > 2 {
		return []string{"help"}
	}
	var out []string
	for _, n := range all {
		if n.far <= max(all[0].far, 1) && len(out) < 3 {
			out = append(out, n.name)
		}
	}
	return out
}

// distance counts the letters to add, drop, change or swap (optimal string
// alignment) between two short words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// fold makes the forms of East Asian keyboards and of capitals the same: full
// width letters, digits, slash and space become plain ones.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u3000':
			return ' '
		case r >= '！' && r <= '～':
			r -= 0xfee0
		}
		return unicode.ToLower(r)
	}, s)
}
