package bot

import (
	"testing"

	"loopx/adapters/chat"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
	"loopx/kernel/store"
)

// A conversation that is open to members knows them by the connection's own
// tenant, as the platform names it, also while no owner is linked there.
func TestTenantIsTheConnections(t *testing.T) {
	s := slacksim.New(slacksim.Options{})
	t.Cleanup(s.Close)
	home := testHome(t)
	b := startBot(t, Options{Home: home, Sim: true, Getenv: func(k string) string { return map[string]string{"A": s.AppToken(), "B": s.BotToken()}[k] },
		Config: Config{Page: PageConfig{Off: true}, Connections: []ConnectionConfig{{Name: "work", Platform: "slack", AppTokenEnv: "A", BotTokenEnv: "B", BaseURL: s.APIURL()}}}})
	sink := b.engine.conns[1].sink
	eventually(t, "Slack has named the workspace", func() bool { return homeOf(sink) != "" })
	e := chat.Event{Kind: chat.MessageSent, ID: "x", Place: chat.Place{Connection: "work", Conversation: "C0GEN"}, Sender: chat.User{Tenant: s.Team(), ID: "U0ANA", Kind: chat.Human}, Message: &chat.Message{ID: "1", Text: "x"}}
	err := b.held.Store.View(t.Context(), func(tx store.ReadTx) error {
		r, err := b.held.Kernel.ReaderOf(tx)
		if err != nil {
			return err
		}
		f, err := factsOf(r, e, kernel.Actor{}, false, homeOf(sink))
		if f.Tenant != s.Team() {
			t.Errorf("the tenant is %q, want %q", f.Tenant, s.Team())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stopBot(t, b)
}
