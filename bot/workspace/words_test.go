package workspace

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestWords finds missing and unused words, and Chinese that is not set as it
// should be.
func TestWords(t *testing.T) {
	w, err := loadWords()
	if err != nil {
		t.Fatal(err)
	}
	tight := regexp.MustCompile(`\p{Han}[A-Za-z0-9{/]|[A-Za-z0-9/]\p{Han}`)
	half := regexp.MustCompile(`\p{Han}[,.?!:;(]|[,?!;)]\p{Han}`)
	for _, k := range w.keys() {
		en, zh := w[k]["en"], w[k]["zh"]
		if len(w[k]) != 2 || en == "" || zh == "" {
			t.Errorf("%s: a language is missing", k)
		}
		for _, h := range []string{"{0}", "{1}"} {
			if strings.Count(en, h) != strings.Count(zh, h) {
				t.Errorf("%s: %s is not in both languages", k, h)
			}
		}
		if strings.ContainsAny(en, "!") || strings.Contains(strings.ToLower(en), "success") || strings.ContainsRune(zh, '！') {
			t.Errorf("%s is not quiet: %s %s", k, en, zh)
		}
		if strings.ContainsFunc(en, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: Chinese in the English column", k)
		}
		if m := tight.FindString(zh); m != "" {
			t.Errorf("%s: no space in %q of %q", k, m, zh)
		}
		if m := half.FindString(zh); m != "" {
			t.Errorf("%s: half-width punctuation in %q of %q", k, m, zh)
		}
		for _, word := range []string{"lease", "token", "revision", "digest", "journal", "partition", "frontier"} {
			if strings.Contains(strings.ToLower(en), word) {
				t.Errorf("%s: people need not know %q", k, word)
			}
		}
	}
	code := ""
	list, err := files.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if strings.HasSuffix(f.Name(), ".js") {
			b, err := files.ReadFile("assets/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			code += string(b)
		}
	}
	for _, m := range regexp.MustCompile(`\b(?:t|tIn)\((?:card\.lang, |lang, )?'([a-z_0-9]+)'[,)]`).FindAllStringSubmatch(code, -1) {
		if w[m[1]] == nil {
			t.Errorf("the page uses %q, which is in no language", m[1])
		}
	}
	for _, banned := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "console.", "http://", "https://"} {
		code := strings.ReplaceAll(code, "'http://www.w3.org/2000/svg'", "")
		if strings.Contains(code, banned) {
			t.Errorf("the page's code uses %s", banned)
		}
	}
}

// TestAgreedWords holds the words every surface shares.
func TestAgreedWords(t *testing.T) {
	w, err := loadWords()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][2]string{
		"needs_you": {"Needs you", "待你处理"}, "running": {"Running", "进行中"}, "watching": {"Watching", "观察中"},
		"scheduled": {"Scheduled", "已安排"}, "stopped": {"Stopped", "已停止"}, "decision": {"decision", "待决事项"},
		"approve": {"Approve", "同意"}, "reject": {"Reject", "拒绝"}, "answer": {"Answer", "回答"}, "snooze": {"Snooze", "稍后"}, "change": {"Change", "修改"},
		"nobody_running": {"nobody is running, taken at the next tick", "当前无人运行，下次唤醒时执行"},
		"state_stale":    {"out of date", "已过期的卡片"}, "state_expired": {"expired", "已超时"},
		"accepted": {"accepted", "已收到"}, "delivered": {"delivered", "已送达"}, "seen": {"seen", "已读取"}, "refused_now": {"not possible now", "当前无法送达"},
		"queue": {"position {0} of {1}", "排队第 {0} 位，共 {1} 条"}, "goal": {"goal", "目标"}, "todo": {"todo", "任务"}, "agent": {"agent", "Agent"},
		"quota": {"quota", "配额"}, "report": {"report", "报告"}, "manager": {"Manager", "管家"}, "context_only": {"seen, not acted on", "仅作上下文"},
	} {
		if w[key]["en"] != want[0] || w[key]["zh"] != want[1] {
			t.Errorf("%s is %q and %q, agreed are %q", key, w[key]["en"], w[key]["zh"], want)
		}
	}
}
