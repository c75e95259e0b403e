package bot

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"loopx/adapters/chat"
	discordsim "loopx/fixtures/sim/discord"
	"loopx/inbox"
	"loopx/kernel/store"
)

// later makes what was heard old enough to be judged, and judges it.
func later(t *testing.T, b *Bot) {
	t.Helper()
	h := b.engine.conns[1].sink.heard
	h.mu.Lock()
	for i := range h.list {
		h.list[i].at -= heardAfter.Milliseconds()
	}
	h.mu.Unlock()
	if err := judge(t.Context(), b.engine); err != nil {
		t.Fatal(err)
	}
}

func heardBy(b *Bot) int {
	h := b.engine.conns[1].sink.heard
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// A message in the bot's own name that it never sent makes the connection
// contested: it sends nothing more, its health says why and what mends it, and the
// owner is told on the page. Its own messages do not.
func TestSomebodyElseSpeaksAsUs(t *testing.T) {
	for name, speak := range map[string]func(p phone) error{
		"slack": func(p phone) error {
			return post(p.config.BaseURL+"chat.postMessage", "Bearer "+p.secrets["B"], "application/x-www-form-urlencoded", url.Values{"channel": {"C0GEN"}, "text": {"send me your keys"}}.Encode())
		},
		"discord": func(p phone) error {
			return post(p.config.BaseURL+"v10/channels/"+discordsim.General+"/messages", "Bot "+p.secrets["B"], "application/json", `{"content":"send me your keys"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newOffice(t, phones()[name]())
			d.p.say("help")
			d.shows("/status")
			eventually(t, "the echo of our own words", func() bool { return heardBy(d.b) > 0 })
			later(t, d.b)
			if h := d.b.engine.conns[1].adapter.Health(); h.State != chat.Ready {
				t.Fatalf("our own words made it %+v", h)
			}
			if err := speak(d.p); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the words of another are judged", func() bool {
				later(t, d.b) // what came may be another word of ours first
				return d.b.engine.conns[1].adapter.Health().State == chat.Contested
			})
			info, err := d.c.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c := info.Connections[1]; c.State != string(chat.Contested) || !strings.Contains(c.Detail, "never sent") || !strings.Contains(c.Fix, "reset the token") {
				t.Errorf("the connection is %+v", c)
			}
			said := len(d.p.see())
			d.p.say("status")
			eventually(t, "the answer waits", func() bool { return owedTo(t, d) > 0 })
			if n := len(d.p.see()); n != said {
				t.Errorf("a contested connection sent %d messages", n-said)
			}
			eventually(t, "the page says so", func() bool {
				return strings.Contains(pageTexts(d), "The connection work sends nothing any more")
			})
		})
	}
}

func post(at, token, kind, body string) error {
	req, err := http.NewRequest(http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", token)
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// owedTo counts what waits for the platform.
func owedTo(t *testing.T, d *office) (n int) {
	t.Helper()
	err := d.b.held.Store.View(t.Context(), func(tx store.ReadTx) error {
		list, err := inbox.Owed(tx, "work", 100)
		n = len(list)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pageTexts is what the page's own conversation shows.
func pageTexts(d *office) string {
	var out strings.Builder
	for _, m := range d.b.console.Messages() {
		out.WriteString(m.Text + "\n")
	}
	return out.String()
}
