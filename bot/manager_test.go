package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/storetest"
)

// group is a channel with people, decided by the sink without a platform.
type group struct {
	t   *testing.T
	st  store.Store
	k   *kernel.Kernel
	s   *sink
	now int64
	n   int
}

func (g *group) Boot() (string, int64) { return "boot", g.now }

const channel = "C0GROUP"

// newGroup is a workspace with the goal site, whose agent chief has one open
// session, and with Wei (owner), Ana (steerer) and Bob (observer) linked.
func newGroup(t *testing.T) *group {
	t.Helper()
	g := &group{t: t, now: 1_800_000_000_000}
	g.st = storetest.NewModel(func() int64 { return g.now })
	t.Cleanup(func() { _ = g.st.Close() })
	g.open()
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "slack"}}
	g.do(&kernel.CreateGoal{Goal: "site", Title: "Homepage release", Objective: "Ship it", Agents: []string{"chief"}}, asCLI)
	g.do(&kernel.OpenSession{Goal: "site", Agent: "chief", Session: "s1"}, asCLI)
	g.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, asOwner)
	g.do(&kernel.RedeemLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Platform: "slack", Connection: "work", Tenant: "T1", User: "UWEI", Private: "DWEI"}, bot)
	g.do(&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: "T1", User: "UWEI"}, asOwner)
	for user, role := range map[string]string{"UANA": kernel.RoleSteerer, "UBOB": kernel.RoleObserver} {
		g.do(&kernel.GrantRole{Goal: "site", Role: role, Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user[1:]}, asOwner)
		g.do(&kernel.AcceptRole{Platform: "slack", Connection: "work", Tenant: "T1", User: user, UserName: user[1:], Private: "D" + user}, bot)
	}
	return g
}

// open is a start of the daemon as far as messages go.
func (g *group) open() {
	var err error
	if g.k, err = kernel.Open(g.t.Context(), g.st, g); err != nil {
		g.t.Fatal(err)
	}
	inbox.Attach(g.k)
	g.s = &sink{k: g.k, platform: chat.Slack, log: slog.New(slog.DiscardHandler)}
}

func (g *group) do(cmd kernel.Command, opt kernel.Options) kernel.Receipt {
	g.t.Helper()
	rec, err := g.k.Do(g.t.Context(), cmd, opt)
	if err != nil {
		g.t.Fatalf("%s: %v", cmd.Name(), err)
	}
	return rec
}

func (g *group) event(user string, kind chat.UserKind, text string, addressed bool) chat.Event {
	g.n++
	g.now += 1000
	m := &chat.Message{ID: fmt.Sprintf("m%05d", g.n), Text: text}
	if addressed {
		m.Text, m.Mentions = "@UBOT "+text, []chat.Mention{{ID: "UBOT", Self: true}}
	}
	tenant := "T1"
	if kind == chat.External {
		tenant = "T2"
	}
	return chat.Event{Kind: chat.MessageSent, ID: "e" + m.ID, Place: chat.Place{Connection: "work", Conversation: channel}, At: g.now,
		Sender: chat.User{Tenant: tenant, ID: user, Kind: kind, Name: user[1:]}, Message: m}
}

func (g *group) accept(e chat.Event) {
	g.t.Helper()
	if _, err := g.s.Accept(g.t.Context(), e); err != nil {
		g.t.Fatal(err)
	}
}

// take leases what the session may have next, or returns nil.
func (g *group) take() *inbox.Leasing {
	g.t.Helper()
	rec := g.do(&inbox.NextMessage{Goal: "site", Agent: "chief", Session: "s1"}, asCLI)
	out := &inbox.Leasing{}
	if err := json.Unmarshal(rec.Result, out); err != nil {
		g.t.Fatal(err)
	}
	if out.Message == nil {
		return nil
	}
	return out
}

// A recorded conversation of a group: 200 messages, three mentions by people who
// may start a turn there and five by others. Exactly three turns, and what each
// was given stands in a golden file.
func TestManagerTurnsOfAGroup(t *testing.T) {
	g := newGroup(t)
	g.do(&kernel.SetBinding{Platform: "slack", Connection: "work", Conversation: channel, Role: kernel.BindManager, Goals: []string{"site"}, Agent: "chief", Session: "s1",
		Capture: kernel.CaptureAll, Ingress: kernel.IngressQueue}, asOwner)
	talkers := []string{"UWEI", "UANA", "UBOB", "UMAX", "UGUS", "UEVE", "UBOTTY"}
	kinds := map[string]chat.UserKind{"UGUS": chat.Guest, "UEVE": chat.External, "UBOTTY": chat.Bot}
	mentions := map[int]string{40: "UWEI", 60: "UBOB", 80: "UMAX", 90: "UANA", 110: "UGUS", 130: "UEVE", 150: "UBOTTY", 170: "UWEI"}
	var turns []*inbox.Leasing
	for i := range 200 {
		who, text, addressed := talkers[i%len(talkers)], fmt.Sprintf("message %d about the page", i), false
		if m := mentions[i]; m != "" {
			who, text, addressed = m, fmt.Sprintf("question %d: publish it now", i), true
		}
		if i%6 == 0 && !addressed { // longer ones: fewer fit
			text += ". " + string(bytes.Repeat([]byte("so it goes "), 120))
		}
		kind := kinds[who]
		if kind == "" {
			kind = chat.Human
		}
		e := g.event(who, kind, text, addressed)
		g.accept(e)
		g.accept(e) // delivered twice
		turn := g.take()
		if turn == nil {
			continue
		}
		turns = append(turns, turn)
		// A retry gets the identical set.
		g.now += inbox.LeaseMS + 1000
		again := g.take()
		if a, b := asJSON(t, turn.Context), asJSON(t, again.Context); !bytes.Equal(a, b) || again.Message.Attempt != 2 {
			t.Fatalf("the retry was given\n%s\nwas\n%s", b, a)
		}
		g.do(&inbox.SettleMessage{Goal: "site", Agent: "chief", Session: "s1", Message: turn.Message.ID, Outcome: inbox.Adopted, Reply: "noted"}, asCLI)
	}
	if len(turns) != 3 {
		t.Fatalf("%d turns", len(turns))
	}
	for _, turn := range turns {
		chars := 0
		for _, c := range turn.Context {
			chars += len([]rune(c.Text))
		}
		if len(turn.Context) > 8 || chars > 4000 {
			t.Errorf("a turn was given %d messages of %d characters", len(turn.Context), chars)
		}
	}
	got := asJSON(t, turns)
	path := filepath.Join("testdata", "manager_turns.json")
	if os.Getenv("LOOPX_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("what the turns were given changed (%v); look at it with LOOPX_UPDATE=1\n%s", err, got)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
