package bot

import (
	"fmt"
	"strings"
	"testing"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// told are the texts newly owed to a place since the last call.
type told map[string]bool

func (l *lobby) told(seen told, where string) string {
	l.t.Helper()
	var out []string
	err := l.st.View(l.t.Context(), func(tx store.ReadTx) error {
		due, _, err := inbox.Next(tx, "work", l.now, 1000)
		for _, it := range due {
			if it.Kind == inbox.Text && it.Place.Conversation == where && !seen[it.ID] {
				seen[it.ID] = true
				out = append(out, it.Text)
			}
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(out, "\n---\n")
}

func (l *lobby) bind(goal, conversation, visibility string) {
	l.t.Helper()
	l.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: conversation, Goals: []string{goal}, Visibility: visibility}, asOwner)
}

// What is answered where others read along: goals bound there or at least as
// visible as the place is wide. The rest only the asker reads, whether it exists
// or not.
func TestAudience(t *testing.T) {
	l, dm := newLobby(t), "D-"+wei
	l.do(&kernel.CreateGoal{Goal: "secret", Title: "Acquisition", Objective: "Buy the bakery"}, asCLI)
	l.do(&kernel.CreateGoal{Goal: "shared", Title: "Team wiki", Objective: "Tidy up", Visibility: "group"}, asCLI)
	l.do(&kernel.CreateGoal{Goal: "open", Title: "Open source", Objective: "Publish", Visibility: "public"}, asCLI)
	l.bind("site", "CSITE", "group")
	seen := told{}
	l.told(seen, dm)
	for _, c := range []struct {
		where, text   string
		here, private string // a part of what stands there; "" is nothing
		notHere       string
	}{
		{"CSITE", "/status", "Homepage release", "", "Acquisition"},
		{"CSITE", "/status secret", "I answer you privately.", "Acquisition", "Acquisition"},
		{"CSITE", "/status nothing", "I answer you privately.", "There is no goal nothing here", "nothing"},
		{"CSITE", "/status shared", "Team wiki", "", ""},
		{"CSITE", "/todos", "No todo is open", "", ""},
		{"CSITE", "/find bakery", "The rest I tell you privately.", "Buy the bakery", "Buy the"},
		{"CSITE", "/why secret", "I answer you privately.", "Acquisition", "Acquisition"},
		{"CSITE", "/why site", "Homepage release", "", ""},
		{"CSITE", "/today", "Done today (0)", "", ""},
		{"CSITE", "/gates", "Nothing waits for you", "", ""},
		{"CSITE", "/report", "Reports come later", "", ""},
		{"CSITE", "/help", "I belong to Wei", "", ""},
		{"CSITE", "/stauts", "/status", "", ""},
		{"CSITE", "/mute 2h", "I answer you privately.", "muted until", ""},
		{"CSITE", "/link list", "I answer you privately.", "slack, work", "slack, work"},
		{"CSITE", "/grants secret", "I answer you privately.", "No approval stands", "approval"},
		// Nobody said how wide this place is: only what everybody may see.
		{"CELSE", "/status", "Open source", "Acquisition", "Team wiki"},
		{dm, "/status", "Acquisition", "", ""},
		{dm, "/status site", "Homepage release", "", ""},
		{dm, "/todos", "No todo is open", "", ""},
		{dm, "/queue", "builder  0 waiting", "", ""},
		{dm, "/help away", "/away until DATE", "", ""},
	} {
		text := c.text
		if c.where != dm {
			text = "@U0SELF " + text
		} else if c.text == "/queue" {
			l.do(&kernel.SetPerson{Person: "owner", Target: &kernel.Target{Goal: "site"}}, asOwner)
		}
		l.say(wei, c.where, c.where == dm, text)
		here := l.told(seen, c.where)
		private := ""
		if c.where != dm {
			private = l.told(seen, dm)
		}
		if here == "" || !strings.Contains(here, c.here) || c.notHere != "" && strings.Contains(here, c.notHere) {
			t.Errorf("%s in %s says there: %q", c.text, c.where, here)
		}
		if (private != "") != (c.private != "") || !strings.Contains(private, c.private) {
			t.Errorf("%s in %s says privately: %q", c.text, c.where, private)
		}
		for _, line := range strings.Split(here+"\n"+private, "\n") {
			if len([]rune(line)) > 280 {
				t.Errorf("%s does not fit a phone: %q", c.text, line)
			}
		}
	}
}

// Somebody who never wrote to the bot privately is not written to: the same line
// stands in the open, whatever was asked for, and nothing was done.
func TestNeverWritesFirst(t *testing.T) {
	l := newLobby(t)
	l.bind("site", "CSITE", "group")
	l.do(&kernel.CreateGoal{Goal: "secret", Objective: "Buy"}, asCLI)
	l.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: wei}, asOwner)
	err := l.st.Update(t.Context(), func(tx store.Tx) error {
		var key, row []byte
		err := tx.Scan(store.Under(10, "pp"), func(k, v []byte) bool { key, row = append(key, k...), append(row, v...); return false })
		if err != nil {
			return err
		}
		return tx.Put(key, []byte(strings.Replace(string(row), `"private":"D-U0WEI"`, `"private":""`, 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := told{}
	l.told(seen, "D-"+wei)
	want := ""
	for _, text := range []string{"/status secret", "/status none", "/mute 2h", "/grants secret", "/why G-9"} {
		l.say(wei, "CSITE", false, "@U0SELF "+text)
		got := l.told(seen, "CSITE")
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "Write to me privately") {
			t.Errorf("%s is answered in the open with %q", text, got)
		}
	}
	if got := l.told(seen, "D-"+wei); got != "" {
		t.Errorf("privately was written %q", got)
	}
	l.read(func(r *kernel.Reader) {
		if a := r.Person("owner").AttentionOf(); len(a.Mutes) != 0 {
			t.Error("a mute was done whose answer reached nobody")
		}
	})
}

// An approver reads and answers what is theirs, in their language, and is offered
// no more.
func TestHelpByRoleAndLanguage(t *testing.T) {
	l := newLobby(t)
	id := l.invite("site", kernel.RoleApprover, bob)
	l.do(&kernel.SetPerson{Person: id, Language: new("zh")}, asOwner)
	seen, dm := told{}, "D-"+bob
	l.say(bob, dm, true, "/帮助")
	got := l.told(seen, dm)
	for _, want := range []string{"/away  由别人代答", "/status  各目标的状态", "所有者是 Wei", "90 天"} {
		if !strings.Contains(got, want) {
			t.Errorf("help lacks %q: %s", want, got)
		}
	}
	for _, not := range []string{"/new", "/bind", "/stop", "/to "} {
		if strings.Contains(got, not) {
			t.Errorf("an approver is offered %s", not)
		}
	}
	l.say(bob, dm, true, "/状态")
	if got := l.told(seen, dm); !strings.Contains(got, "待你处理") || strings.Contains(got, "Needs you") {
		t.Errorf("the status is %q", got)
	}
	// Every command has words in both languages.
	q := &request{}
	for _, c := range []bool{false, true} {
		q.zh = c
		for _, name := range []string{"help", "status", "gates", "todos", "today", "why", "find", "to", "queue", "todo", "defer", "assign", "stop", "resume", "report", "mute", "snooze", "quiet", "away", "new", "configure", "bind", "role", "grants", "quota", "link", "unlink"} {
			if q.does(name) == "" {
				t.Errorf("%s has no words, zh %v", name, c)
			}
		}
	}
}

func (l *lobby) invite(goal, role, user string) string {
	l.t.Helper()
	l.do(&kernel.GrantRole{Goal: goal, Role: role, Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user}, asOwner)
	l.do(&kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user, Private: "D-" + user}, asBot)
	id := ""
	l.read(func(r *kernel.Reader) { id = r.Principal("slack", "work", "T1", user).Person })
	return id
}

// /away hands decisions to somebody who may answer them, by mention.
func TestAwayByChat(t *testing.T) {
	l, dm := newLobby(t), "D-"+wei
	id := l.invite("site", kernel.RoleApprover, bob)
	seen := told{}
	l.told(seen, dm)
	for _, c := range []struct{ text, want string }{
		{"/away", "You are here"},
		{"/away until tomorrow to @U0EVE", "I don't know them"},
		{"/away until tomorrow to @U0BOB", "is asked what they may answer"},
		{"/away", "You are away until"},
	} {
		l.say(wei, dm, true, c.text)
		if got := l.told(seen, dm); !strings.Contains(got, c.want) {
			t.Errorf("%s is answered with %q", c.text, got)
		}
	}
	l.read(func(r *kernel.Reader) {
		if v := r.Away("owner"); v == nil || v.To != id {
			t.Errorf("away is %+v", v)
		}
	})
	l.say(wei, dm, true, "/away off")
	l.read(func(r *kernel.Reader) {
		if r.Away("owner") != nil {
			t.Error("still away")
		}
	})
}

// When it comes to a conversation the bot says once whose it is and what it keeps.
func TestAddedSaysOnceWhoOwnsIt(t *testing.T) {
	l, seen := newLobby(t), told{}
	for i := range 2 {
		_, err := l.s.Accept(t.Context(), chat.Event{Kind: chat.BotAdded, ID: fmt.Sprint("added", i), At: l.now, Place: chat.Place{Connection: "work", Conversation: "CNEW"}, Sender: chat.User{Tenant: "T1", ID: "U0EVE", Kind: chat.Human}})
		if err != nil {
			t.Fatal(err)
		}
		got := l.told(seen, "CNEW")
		if (i == 0) != strings.Contains(got, "I belong to Wei") || i == 1 && got != "" {
			t.Errorf("the %d. time it says %q", i+1, got)
		}
	}
}

// A code is burned wherever others can read it: inside a sentence, in CJK text,
// also by somebody who tried five wrong ones.
func TestCodeInASentence(t *testing.T) {
	for _, text := range []string{"my code is vwxyz-23456, thanks", "我的验证码是vwxyz-23456，谢谢", "vwxyz-23456"} {
		l, seen := newLobby(t), told{}
		l.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("vwxyz-23456")}, asOwner)
		for i := range 6 {
			l.say("U0EVE", "C1", false, fmt.Sprintf("aaaaa-aaaa%d", i))
		}
		l.told(seen, "C1")
		l.say("U0EVE", "C1", false, text)
		if got := l.told(seen, "C1"); !strings.Contains(got, "no longer works") {
			t.Errorf("%q is answered with %q", text, got)
		}
		l.say("U0NEW", "D-U0NEW", true, "vwxyz-23456")
		if got := l.told(seen, "D-U0NEW"); !strings.Contains(got, "don't know this code") {
			t.Errorf("after %q the code: %q", text, got)
		}
	}
	l, seen := newLobby(t), told{}
	l.say("U0EVE", "C1", false, "see build abcde-12345 of today")
	if got := l.told(seen, "C1"); got != "" {
		t.Errorf("a word that is no code: %q", got)
	}
}

// Strangers get at most twenty notices an hour on a connection, all together.
func TestStrayNoticesAreBounded(t *testing.T) {
	l, n := newLobby(t), 0
	hear := func(from int) (n int) {
		for i := range 30 {
			who := fmt.Sprintf("U0X%d", from+i)
			l.say(who, "D-"+who, true, "hello")
			if l.lastText("D-"+who) != "" {
				n++
			}
		}
		return n
	}
	if n = hear(0); n != 20 {
		t.Errorf("%d notices in an hour", n)
	}
	l.now += 3600*1000 + 1
	if n = hear(100); n != 20 {
		t.Errorf("%d notices in the next", n)
	}
}
