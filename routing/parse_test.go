package routing

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	minute = 60 * 1000
	hours  = 60 * minute
	days   = 24 * hours
)

func TestParseCommands(t *testing.T) {
	for text, want := range map[string]Intent{
		"help":                        {Command: "help"},
		"?":                           {Command: "help"},
		"/help gates":                 {Command: "help", Args: Args{Words: []string{"gates"}}},
		"Status":                      {Command: "status"},
		"/status site":                {Command: "status", Args: Args{Goal: "site"}},
		"/status pin":                 {Command: "status", Args: Args{Key: "pin"}},
		"／状态 取消置顶":                    {Command: "status", Args: Args{Key: "unpin"}},
		"/status Site":                {Command: "status", Args: Args{Goal: "site"}},
		"/loopx status":               {Command: "status"},
		"/loopx /status site":         {Command: "status", Args: Args{Goal: "site"}},
		"/loopx":                      {Command: "help"},
		"状态":                          {Command: "status"},
		"／状态":                         {Command: "status"},
		"/状态 site":                    {Command: "status", Args: Args{Goal: "site"}},
		"待决事项":                        {Command: "gates"},
		"/todos":                      {Command: "todos"},
		"待办":                          {Command: "todos"},
		"/today":                      {Command: "today"},
		"今天":                          {Command: "today"},
		"/why G-7":                    {Command: "why", Args: Args{Gate: "G-7"}},
		"/why g-07":                   {Command: "why", Args: Args{Words: []string{"g-07"}}},
		"/why t_4":                    {Command: "why", Args: Args{Words: []string{"t_4"}}},
		"/find login page":            {Command: "find", Args: Args{Text: "login page"}},
		"/查找登录问题":                     {Command: "find", Args: Args{Text: "登录问题"}},
		"/to site":                    {Command: "to", Args: Args{Goal: "site"}},
		"/to site builder fix it":     {Command: "to", Args: Args{Goal: "site", Text: "builder fix it"}},
		"/to site: fix\nit":           {Command: "to", Args: Args{Goal: "site", Text: "fix\nit"}},
		"/发给 site 修一下":                {Command: "to", Args: Args{Goal: "site", Text: "修一下"}},
		"/发给site 修一下":                 {Near: []string{"to"}},
		"/to":                         {Command: "to", Args: Args{Bad: "goal"}},
		"/queue":                      {Command: "queue"},
		"/queue then run  the tests":  {Command: "queue", Args: Args{Text: "then run  the tests"}},
		"/排队 然后跑测试":                   {Command: "queue", Args: Args{Text: "然后跑测试"}},
		"/todo site: write the guide": {Command: "todo", Args: Args{Goal: "site", Text: "write the guide"}},
		"/todo write: the guide":      {Command: "todo", Args: Args{Goal: "write", Text: "the guide"}},
		"/todo":                       {Command: "todo", Args: Args{Bad: "text"}},
		"/defer T-4 tomorrow":         {Command: "defer", Args: Args{Todo: "T-4", Until: "tomorrow"}},
		"/推迟 T-4 到12月3日":              {Command: "defer", Args: Args{Todo: "T-4", Until: "12-03"}},
		"/defer T-4":                  {Command: "defer", Args: Args{Bad: "todo_and_time"}},
		"/assign T-4 builder":         {Command: "assign", Args: Args{Todo: "T-4", Agent: "builder"}},
		"/assign T-4 @U0BOB":          {Command: "assign", Args: Args{Todo: "T-4", User: "U0BOB"}},
		"stop":                        {Command: "stop"},
		"停止":                          {Command: "stop"},
		"/stop all":                   {Command: "stop", Args: Args{All: true}},
		"停止全部":                        {Command: "stop", Args: Args{All: true}},
		"/stop site":                  {Command: "stop", Args: Args{Goal: "site"}},
		"/resume site":                {Command: "resume", Args: Args{Goal: "site"}},
		"/resume":                     {Command: "resume", Args: Args{Bad: "goal"}},
		"report":                      {Command: "report"},
		"/report site":                {Command: "report", Args: Args{Goal: "site"}},
		"mute 2h":                     {Command: "mute", Args: Args{For: 2 * hours}},
		"/mute 1h30m site":            {Command: "mute", Args: Args{For: 90 * minute, Goal: "site"}},
		"/mute site":                  {Command: "mute", Args: Args{Goal: "site"}},
		"/mute off":                   {Command: "mute", Args: Args{Off: true}},
		"静音2小时":                       {Command: "mute", Args: Args{For: 2 * hours}},
		"/静音 2 小时":                    {Command: "mute", Args: Args{For: 2 * hours}},
		"静音２小时":                       {Command: "mute", Args: Args{For: 2 * hours}},
		"/mute 99999w":                {Command: "mute", Args: Args{Bad: "time"}},
		"snooze G-7 tomorrow":         {Command: "snooze", Args: Args{Gate: "G-7", Until: "tomorrow"}},
		"/snooze g-7":                 {Command: "snooze", Args: Args{Gate: "G-7"}},
		"/snooze G-7 2 days":          {Command: "snooze", Args: Args{Gate: "G-7", For: 2 * days}},
		"稍后 G-7 明天":                   {Command: "snooze", Args: Args{Gate: "G-7", Until: "tomorrow"}},
		"/snooze":                     {Command: "snooze", Args: Args{Bad: "gate"}},
		"quiet 21-7":                  {Command: "quiet", Args: Args{From: 21, To: 7}},
		"/quiet 22:00-08:00":          {Command: "quiet", Args: Args{From: 22, To: 8}},
		"免打扰21点到7点":                   {Command: "quiet", Args: Args{From: 21, To: 7}},
		"/quiet 7-24":                 {Command: "quiet", Args: Args{From: 7, To: 0}},
		"/quiet 25-7":                 {Command: "quiet", Args: Args{Bad: "hours"}},
		"/quiet 7-7":                  {Command: "quiet", Args: Args{Bad: "hours"}},
		"/quiet off":                  {Command: "quiet", Args: Args{Off: true}},
		"/away until monday":          {Command: "away", Args: Args{Until: "monday"}},
		"/away until 2026-12-3 18:00": {Command: "away", Args: Args{Until: "2026-12-03 18:00"}},
		"/away until 12-03 to @U0BOB": {Command: "away", Args: Args{Until: "12-03", User: "U0BOB"}},
		"/离开 到 周一 交给 @ou_b":           {Command: "away", Args: Args{Until: "monday", User: "ou_b"}},
		"/away until 13-40":           {Command: "away", Args: Args{Bad: "time"}},
		"/away off":                   {Command: "away", Args: Args{Off: true}},
		"/new a faster landing page":  {Command: "new", Args: Args{Text: "a faster landing page"}},
		"/新建Website":                  {Command: "new", Args: Args{Text: "Website"}},
		"/configure":                  {Command: "configure"},
		"/configure site":             {Command: "configure", Args: Args{Goal: "site"}},
		"/configure site cadence 2 h": {Command: "configure", Args: Args{Goal: "site", Key: "cadence", Value: "2 h"}},
		"/configure site cadence":     {Command: "configure", Args: Args{Bad: "value"}},
		"/bind site builder role=goal ingress=queue": {Command: "bind", Args: Args{Goal: "site", Agent: "builder", Words: []string{"role=goal", "ingress=queue"}}},
		"/bind goals=site,blog role=manager":         {Command: "bind", Args: Args{Words: []string{"goals=site,blog", "role=manager"}}},
		"/bind this please to me":                    {Command: "bind", Args: Args{Bad: "goal"}},
		"/role @U0BOB approver site":                 {Command: "role", Args: Args{User: "U0BOB", Role: Approver, Goal: "site"}},
		"/role revoke @U0BOB steerer site":           {Command: "role", Args: Args{User: "U0BOB", Role: Steerer, Goal: "site", Off: true}},
		"/角色 @ou_b 审批人 site":                         {Command: "role", Args: Args{User: "ou_b", Role: Approver, Goal: "site"}},
		"/role Bob approver site":                    {Command: "role", Args: Args{Bad: "person_role_goal"}},
		"/role @U0BOB king site":                     {Command: "role", Args: Args{Bad: "person_role_goal"}},
		"/role list":                                 {Command: "role"},
		"/grants site":                               {Command: "grants", Args: Args{Goal: "site"}},
		"/quota site 20":                             {Command: "quota", Args: Args{Goal: "site", Value: "20"}},
		"/quota site -1":                             {Command: "quota", Args: Args{Bad: "number"}},
		"/link":                                      {Command: "link"},
		"/link list":                                 {Command: "link", Args: Args{Words: []string{"list"}}},
		"/link revoke P-3":                           {Command: "link", Args: Args{Words: []string{"revoke", "P-3"}}},
		"/link me":                                   {Command: "link", Args: Args{Bad: "list_or_revoke"}},
		"/unlink":                                    {Command: "unlink"},
		"/unlink @U0BOB":                             {Command: "unlink", Args: Args{User: "U0BOB"}},
		"ABCDE-fghjk":                                {Code: "abcdefghjk"},
		"/link abcde-fghjk":                          {Code: "abcdefghjk"},
		"/loopx link abcde-fghjk":                    {Code: "abcdefghjk"},
		"关联 ABCDE-FGHJK":                             {Code: "abcdefghjk"},
		"ａｂｃｄｅ－ｆｇｈｊｋ":                                {Code: "abcdefghjk"},
		"/statsu":                                    {Near: []string{"status"}},
		"statsu":                                     {Near: []string{"status"}},
		"/gate":                                      {Command: "gates"},
		"/st":                                        {Near: []string{"status", "stop"}},
		"/xyzzyxyzzy":                                {Near: []string{"help"}},
		"/状态怎么样":                                     {Near: []string{"status"}},
		"> what she said\n/stop":                     {Command: "stop"},

		// Talk.
		"": {}, " ": {}, "/": {}, "/ status": {}, "//": {}, "1/2": {}, "/usr/bin is gone": {}, "https://a.example/status": {},
		"what is the status of it": {}, "status of the build": {}, "find the cause": {}, "new idea": {}, "why": {}, "状态怎么样": {}, "请看一下/状态": {}, "今天天气不错": {},
		"please /stop": {}, "stop it": {}, "help me": {}, "queue": {}, "to site fix it": {}, "停止一下吧": {}, "mute the sound": {}, "quiet please": {}, "report the bug": {},
		"`/stop`": {}, "```\n/stop\n```": {}, "~~~\nstop\n~~~": {}, "> /stop": {}, ">/stop\n> status": {}, "stop\nnow": {}, "hello-world": {}, "/2": {},
	} {
		got := Parse(text)
		slash := got.Slash
		got.Slash = false
		if got.Answer.Word != "" {
			got.Answer = AnswerText{} // the other table's
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		if _, starts := cutSlash(strings.TrimSpace(afterQuotes(text))); slash && !starts {
			t.Errorf("%q has no slash", text)
		}
	}
}

func TestParseAnswers(t *testing.T) {
	for text, want := range map[string]AnswerText{
		"yes": {Word: yes}, "Yes!": {Word: yes}, "ok.": {Word: yes}, "approve": {Word: yes}, "NO": {Word: no}, "reject": {Word: no}, "cancel": {Word: cancel},
		"同意": {Word: yes}, "好的。": {Word: yes}, "不同意": {Word: no}, "拒绝！": {Word: no}, "取消": {Word: cancel}, "Ｙｅｓ": {Word: yes},
		"yes G-7":                         {Code: "G-7", Word: yes},
		"G-7: yes":                        {Code: "G-7", Word: yes},
		"g-12 no":                         {Code: "G-12", Word: no},
		"yes, G-7.":                       {Code: "G-7", Word: yes},
		"同意G-7":                           {Code: "G-7", Word: yes},
		"Ｇ－７ 同意":                          {Code: "G-7", Word: yes},
		"approve G-7 because it is safe":  {Code: "G-7", Word: yes, Reason: "it is safe"},
		"no because: too early":           {Word: no, Reason: "too early"},
		"同意G-7，因为测试过了":                    {Code: "G-7", Word: yes, Reason: "测试过了"},
		"reject G-7 because\nof\nreasons": {Code: "G-7", Word: no, Reason: "of\nreasons"},
		"> shall I?\nyes G-7":             {Code: "G-7", Word: yes},
		"G-7 blue green":                  {Code: "G-7", Word: "blue green"},
		"G-7 looks risky to me":           {Code: "G-7", Word: "looks risky to me"}, // an option or a sentence: the gate says
		"is it yes G-7":                   {Code: "G-7", Word: "is it yes"},
		"G-7 yes?":                        {Code: "G-7", Word: "yes?"},

		"yes please": {}, "yes?": {}, "yes G-7 G-8": {}, "yes G-7 no": {}, "no yes": {}, "G-7": {}, "yes G-7x": {}, "yes AG-7": {}, "yes G-07": {}, "yes G-": {},
		"we said yes to the plan": {}, "yesterday": {}, "好的，我看看": {}, "我同意你的看法": {}, "okay then do it": {}, "`yes`": {}, "> yes": {}, "```\nyes G-7\n```": {},
		"yes\nno": {}, "because": {}, "y\u200bes": {}, "the ok G-7 is a sentence": {}, "👍": {},
	} {
		got := Parse(text)
		if got.Answer != want {
			t.Errorf("%q: %+v, want %+v", text, got.Answer, want)
		}
	}
}

// Every language has its words, and one language's are not the other's.
func TestLanguages(t *testing.T) {
	for _, c := range []struct {
		text, lang string
		want       bool
	}{
		{"status", "en", true}, {"status", "zh", false}, {"状态", "zh-CN", true}, {"状态", "en-GB", false}, {"/状态", "zh", true}, {"状态", "fr", false},
		{"yes", "en", true}, {"yes", "zh", false}, {"同意", "zh", true}, {"同意", "en", false},
	} {
		got := Parse(c.text, c.lang)
		if (got.Command != "" || got.Answer.Word != "") != c.want {
			t.Errorf("%q in %s: %+v", c.text, c.lang, got)
		}
	}
	chineseWords := []string{
		"帮助", "状态", "待决", "待办", "今天", "为什么", "查找", "发给", "排队", "加待办", "推迟", "指派", "停止", "恢复", "报告",
		"静音", "稍后", "免打扰", "离开", "新建", "配置", "绑定", "角色", "授权", "配额", "关联", "取消关联",
	}
	if len(chineseWords) != len(Commands()) {
		t.Fatalf("%d commands, %d words", len(Commands()), len(chineseWords))
	}
	for i, name := range Commands() {
		if english(name) != name || chinese(chineseWords[i]) != name {
			t.Errorf("%s: %q, %q", name, english(name), chinese(chineseWords[i]))
		}
		w := words{true, true}
		if w.decision(name) != "" || w.decision(chineseWords[i]) != "" {
			t.Errorf("%s is also an answer", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"status", "abcde-fghjk", "/to site builder fix", "yes G-7 because x", "静音2小时", "／状态 site", "/away until 12月3日 to @U1", "> q\n同意G-7", "/quiet 21-7", "Ｇ－７ 好", "/statsu", "\xff", "İ because", "/mute 1h30m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := Parse(text)
		set := 0
		for _, is := range []bool{in.Code != "", in.Command != "", len(in.Near) > 0, in.Answer.Word != ""} {
			if is {
				set++
			}
		}
		if set > 1 || in.Code != "" && len(in.Code) != 10 || in.Command != "" && !slices.Contains(Commands(), in.Command) {
			t.Fatalf("%q: %+v", text, in)
		}
		for _, n := range in.Near {
			if !slices.Contains(Commands(), n) {
				t.Fatalf("%q: near %q", text, n)
			}
		}
		a := in.Args
		if a.For < 0 || a.For > MaxFor || a.From < 0 || a.From > 23 || a.To < 0 || a.To > 23 || a.Bad != "" && (a.Goal != "" && a.Text != "") {
			t.Fatalf("%q: %+v", text, a)
		}
		if a.Goal != "" && !isGoal(a.Goal) {
			t.Fatalf("%q: goal %q", text, a.Goal)
		}
		for _, s := range []string{in.Answer.Word, in.Answer.Reason, a.Text} {
			if !utf8.ValidString(s) || len(s) > len(text) && !in.Answer.decides() {
				t.Fatalf("%q: %q", text, s)
			}
		}
		if in.Answer.Code != "" && gateCode(in.Answer.Code) != in.Answer.Code {
			t.Fatalf("%q: %+v", text, in.Answer)
		}
		// Space around it and a quote before it say nothing.
		if utf8.ValidString(text) && len(text) < 1000 && strings.TrimSpace(text) != "" {
			if again := Parse("> earlier\n " + text + " "); !reflect.DeepEqual(again, in) {
				t.Fatalf("%q: %+v, quoted %+v", text, in, again)
			}
		}
	})
}
