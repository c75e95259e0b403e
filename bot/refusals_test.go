package bot

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	larksim "loopx/fixtures/sim/lark"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
)

// refusal is one press that decides nothing.
type refusal struct {
	name string
	// code is what is counted, en and zh are parts of the private notice.
	code, en, zh string
	// not are the platforms that have no such case.
	not []chat.Platform
	// gate is the question; make brings about what is wrong and presses.
	gate kernel.OpenGate
	make func(h *hall, v *venue, gate string, card shown) (who string)
	// over says that the gate cannot be answered any more.
	over bool
	// undo puts things right for the next row.
	undo func(h *hall, v *venue)
}

func refusals() []refusal {
	must := func(h *hall, err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	press := func(h *hall, v *venue, who string, card shown, label string) string {
		h.t.Helper()
		must(h, v.press(who, v.group, card.id, label))
		return who
	}
	role := func(h *hall, role string) {
		h.t.Helper()
		h.do(&kernel.GrantRole{Goal: "site", Role: role, Person: h.ana}, asOwner)
	}
	return []refusal{
		{
			name: "stale", code: "press:stale", en: "This card is out of date.", zh: "这张卡片已过期",
			make: func(h *hall, v *venue, gate string, card shown) string {
				old, before, todo := v.keep(v.group, card.id, "Publish"), v.native(v.group, card.id), ""
				h.read(func(r *kernel.Reader) { todo = r.Gate("site", gate).Blocks.Todos[0] })
				h.do(&kernel.UpdateTodo{Goal: "site", Agent: "builder", Todo: todo, Title: new("something else now " + gate)}, asOwner)
				must(h, within("new buttons", func() bool { return !reflect.DeepEqual(before, v.native(v.group, card.id)) }))
				must(h, old(v.wei, v.group, card.id))
				return v.wei
			},
		},
		{
			name: "wrong person", code: "press:denied", en: " waits for Wei.", zh: " 等待 Wei。",
			make: func(h *hall, v *venue, _ string, card shown) string {
				role(h, kernel.RoleObserver)
				return press(h, v, v.ana, card, "Publish")
			},
			undo: func(h *hall, _ *venue) { role(h, kernel.RoleApprover) },
		},
		{
			name: "removed approver", code: "press:denied", en: "You are linked, but G-", zh: "你已关联，但 G-",
			make: func(h *hall, v *venue, _ string, card shown) string {
				h.do(&kernel.RevokeRole{Goal: "site", Person: h.ana}, asOwner)
				return press(h, v, v.ana, card, "Publish")
			},
			undo: func(h *hall, _ *venue) { role(h, kernel.RoleApprover) },
		},
		{
			name: "suspended", code: "press:not_linked", en: "I don't know you here yet. Ask Wei to add you.", zh: "我还不认识你，请让 Wei 添加你。",
			make: func(h *hall, v *venue, _ string, card shown) string {
				h.do(&kernel.SetPerson{Person: h.ana, State: new("suspended")}, asOwner)
				return press(h, v, v.ana, card, "Publish")
			},
			undo: func(h *hall, _ *venue) { h.do(&kernel.SetPerson{Person: h.ana, State: new("active")}, asOwner) },
		},
		{
			name: "expired", code: "press:expired", en: " has expired. ", zh: " 已超时，没有做出任何决定。", over: true,
			gate: kernel.OpenGate{OnTimeout: "expire", Expires: time.Hour.Milliseconds()},
			make: func(h *hall, v *venue, _ string, card shown) string {
				old := v.keep(v.group, card.id, "Publish")
				h.later(2 * time.Hour)
				must(h, old(v.wei, v.group, card.id))
				return v.wei
			},
		},
		{
			name: "answered elsewhere", code: "press:decided", en: " was already decided by Wei: Hold.", zh: " 已由 Wei 决定：Hold。", over: true,
			make: func(h *hall, v *venue, gate string, card shown) string {
				old := v.keep(v.group, card.id, "Publish")
				h.do(&kernel.AnswerGate{Goal: "site", Gate: gate, Option: "hold"}, asOwner)
				must(h, old(v.ana, v.group, card.id))
				return v.ana
			},
		},
		{
			name: "decided already by the same person", code: "press:already", en: "Nothing was done twice.", zh: "没有重复执行。", over: true,
			make: func(h *hall, v *venue, gate string, card shown) string {
				old := v.keep(v.group, card.id, "Publish")
				h.do(&kernel.AnswerGate{Goal: "site", Gate: gate, Option: "go"}, asOwner)
				must(h, old(v.wei, v.group, card.id))
				return v.wei
			},
		},
		{
			name: "forwarded card", code: "press:other_place", en: "This is a copy of a card. Press on the original.", zh: "这是卡片的副本，请在原卡片上操作。",
			make: func(h *hall, v *venue, _ string, card shown) string {
				other, _ := h.ask(kernel.OpenGate{Question: "Another than " + questionOf(card)})
				h.hang(v, other, v.other)
				there := h.card(v, v.other, "waits for you", nil)
				must(h, v.keep(v.group, card.id, "Publish")(v.wei, v.other, there.id))
				return v.wei
			},
		},
		{
			name: "unknown action", code: "press:unknown_action", en: "This button is not supported any more.", zh: "此按钮已不再支持。",
			make: func(h *hall, v *venue, _ string, card shown) string {
				must(h, v.nonsense(v.wei, v.group, card.id))
				return v.wei
			},
		},
		{
			name: "somebody else's second press", code: "press:wrong_person", en: "Somebody else pressed first.", zh: "另一个人先按了。", gate: kernel.OpenGate{Kind: "publish"},
			make: func(h *hall, v *venue, _ string, card shown) string {
				must(h, v.press(v.wei, v.group, card.id, "Publish…"))
				second := h.card(v, v.group, questionOf(card), func(m shown) bool { return slices.Contains(m.buttons, "Confirm: Publish") })
				return press(h, v, v.ana, second, "Confirm: Publish")
			},
		},
		{
			name: "a second press too late", code: "press:confirm_expired", en: "The first press is more than a minute old.", zh: "第一次按键已超过一分钟", gate: kernel.OpenGate{Kind: "publish"},
			make: func(h *hall, v *venue, _ string, card shown) string {
				must(h, v.press(v.wei, v.group, card.id, "Publish…"))
				second := h.card(v, v.group, questionOf(card), func(m shown) bool { return slices.Contains(m.buttons, "Confirm: Publish") })
				h.ahead.Add(61_000)
				return press(h, v, v.wei, second, "Confirm: Publish")
			},
		},
		{
			name: "guest", code: "press:not_linked", en: "I don't know you here yet.", zh: "我还不认识你", not: []chat.Platform{chat.Lark}, // Lark has no guests
			make: func(h *hall, v *venue, _ string, card shown) string {
				h.once(v, "Gus", v.gus)
				return press(h, v, v.gus, card, "Publish")
			},
		},
		{
			name: "other tenant", code: "press:not_linked", en: "I don't know you here yet.", zh: "我还不认识你", not: []chat.Platform{chat.Discord}, // Discord has no tenants
			make: func(h *hall, v *venue, _ string, card shown) string {
				h.once(v, "Eve", v.eve)
				return press(h, v, v.eve, card, "Publish")
			},
		},
	}
}

func questionOf(card shown) string {
	for line := range strings.Lines(card.text) {
		if strings.HasSuffix(strings.TrimSpace(line), "?") {
			return strings.TrimSpace(line)
		}
	}
	return "?"
}

// once makes an account that should not count an approver's, the first time.
func (h *hall) once(v *venue, name, user string) {
	h.t.Helper()
	known := false
	h.read(func(r *kernel.Reader) {
		known = r.Principal(string(v.platform), string(v.platform), v.tenant, user) != nil
	})
	if !known {
		h.invite(v, kernel.RoleApprover, user, name)
	}
}

// Every refusal of a press, on every platform, through its SDK and simulator, in
// both languages: only who pressed is told, in their language; the gate is as it
// was, and who may answer still can; it is counted.
func TestRefusals(t *testing.T) {
	for p := range venues() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			h := newHall(t, p)
			v := h.at[0]
			for i, x := range refusals() {
				if slices.Contains(x.not, p) {
					continue
				}
				for _, lang := range []string{"en", "zh"} {
					t.Run(x.name+" "+lang, func(t *testing.T) {
						h.t = t
						h.refused(v, x, lang, fmt.Sprintf("Publish page %d in %s?", i, lang))
					})
				}
			}
		})
	}
}

func (h *hall) refused(v *venue, x refusal, lang, question string) {
	h.t.Helper()
	for _, id := range []string{"owner", h.ana} {
		h.do(&kernel.SetPerson{Person: id, Language: new(lang)}, asOwner)
	}
	g := x.gate
	g.Question = question
	if g.Expires > 0 {
		g.Expires += h.now().UnixMilli() + time.Hour.Milliseconds()
	}
	gate, _ := h.ask(g)
	h.hang(v, gate, v.group)
	card := h.card(v, v.group, question, func(m shown) bool { return len(m.buttons) > 0 })
	told := map[string]int{v.wei: len(v.told(v.wei)), v.ana: len(v.told(v.ana)), v.gus: len(v.told(v.gus)), v.eve: len(v.told(v.eve))}
	counted := h.counted(x.code)
	who := x.make(h, v, gate, card)
	want := x.en
	if lang == "zh" {
		want = x.zh
	}
	if got := h.notice(v, who, told[who]); !strings.Contains(got, want) {
		h.t.Errorf("told %q, want %q", got, want)
	}
	for other, n := range told {
		if other != who && len(v.told(other)) != n {
			h.t.Errorf("%s is told %q", other, v.told(other)[n:])
		}
	}
	if n := h.counted(x.code); n != counted+1 {
		h.t.Errorf("%s was counted %d times", x.code, n-counted)
	}
	if x.undo != nil {
		x.undo(h, v)
	}
	if x.over {
		return
	}
	if a := h.decision(gate); a != nil {
		h.t.Fatalf("it decided: %+v", a)
	}
	// Who may answer is not held up by it.
	label := "Publish"
	if g.Kind == "publish" {
		label = "Hold…"
	}
	if x.code == "press:wrong_person" {
		label = "Confirm: Publish"
	}
	now := h.card(v, v.group, question, func(m shown) bool { return slices.Contains(m.buttons, label) })
	var err error
	if strings.HasSuffix(label, "…") {
		err = v.submit(v.wei, v.group, now.id, label, "not today")
	} else {
		err = v.press(v.wei, v.group, now.id, label)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.card(v, v.group, question, func(m shown) bool {
		return strings.Contains(m.text, "decided by Wei") || strings.Contains(m.text, "由 Wei 决定")
	})
	if a := h.decision(gate); a == nil || a.Name != "Wei" {
		h.t.Errorf("afterwards Wei decided %+v", a)
	}
}

// A press that somebody kept and delivers an hour later, and again after the goal
// has moved on, decides nothing, answers nothing and tells nobody anything.
func TestPressAnHourLater(t *testing.T) {
	for p := range venues() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			h := newHall(t, p)
			v := h.at[0]
			gate, _ := h.ask(kernel.OpenGate{Question: "Publish it?"})
			card := h.card(v, v.dm(v.wei), "Publish it?", nil)
			if err := v.press(v.wei, v.dm(v.wei), card.id, "Publish"); err != nil {
				t.Fatal(err)
			}
			h.card(v, v.dm(v.wei), "Publish it?", func(m shown) bool { return strings.Contains(m.text, "decided by Wei") })
			h.do(&kernel.ChangeGate{Goal: "site", Gate: gate, Option: "hold"}, asOwner)
			before, told := h.gate(gate), len(v.told(v.wei))
			for n := range uint64(2) {
				h.later(time.Hour)
				v.again()
				if err := within("the copy is counted", func() bool { return h.counted("duplicate") == n+1 }); err != nil {
					t.Fatal(err)
				}
			}
			if after := h.gate(gate); after != before {
				t.Errorf("the gate was %s and is %s", before, after)
			}
			if h.counted("press:answered") != 1 || h.counted("conflict") != 0 || len(v.told(v.wei)) != told {
				t.Errorf("%d answered, %d conflicts, told %q", h.counted("press:answered"), h.counted("conflict"), v.told(v.wei)[told:])
			}
		})
	}
}

// A press in a request that is forged, or was caught and is sent an hour later
// with its old signature, never comes in: it is refused at the door with an
// answer that tells the two apart from each other, and nothing is counted as a
// press.
func TestForgedRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		p    phone
		// sign signs a request of then, with a key that may be wrong.
		sign func(key string, body []byte, at time.Time) http.Header
		key  string
		body func(action string) []byte
	}{
		{"slack", phones()["slack by request"](), slacksim.Signed, "5111e000000000000000000000000001", func(action string) []byte {
			return []byte(url.Values{"payload": {`{"type":"block_actions","team":{"id":"T0SIM"},"user":{"id":"U0WEI","team_id":"T0SIM"},"api_app_id":"A0SIM","trigger_id":"1.2.3","container":{"type":"message","message_ts":"1.2","channel_id":"D0WEI"},"channel":{"id":"D0WEI"},"actions":[{"action_id":"b0","block_id":"actions.0","type":"button","value":"` + action + `"}]}`}}.Encode())
		}},
		{"lark", phones()["lark by request"](), func(key string, body []byte, at time.Time) http.Header { return larksim.Signed(key, body, at, "nonce") }, "an-encrypt-key", func(action string) []byte {
			return larksim.Sealed("an-encrypt-key", []byte(`{"schema":"2.0","header":{"event_id":"ev-kept","token":"simulated-verification-token","create_time":"1","event_type":"card.action.trigger","tenant_key":"tenant_own","app_id":"cli_00000000000b0701"},"event":{"operator":{"open_id":"ou_wei","tenant_key":"tenant_own"},"token":"c-1","action":{"tag":"button","value":{"a":"`+action+`"}},"context":{"open_message_id":"om_1","open_chat_id":"oc_1"}}}`))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer c.p.close()
			b := startBot(t, Options{
				Home: testHome(t), Sim: true, Getenv: func(k string) string { return c.p.secrets[k] },
				Config: Config{Page: PageConfig{Off: true}, Webhook: WebhookConfig{Listen: "127.0.0.1:0"}, Connections: []ConnectionConfig{c.p.config}},
			})
			defer stopBot(t, b)
			web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
			ask := func(body []byte, head http.Header) (int, string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.HookAddr()+hookPath("work"), bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = head
				if c.name == "slack" {
					req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				resp, err := web.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				raw, _ := io.ReadAll(resp.Body) // its code says enough
				return resp.StatusCode, string(raw)
			}
			body := c.body("kept")
			eventually(t, "the connection serves", func() bool { code, _ := ask(body, c.sign(c.key, body, time.Now())); return code == http.StatusOK })
			presses := func() (n uint64) {
				err := b.held.Store.View(t.Context(), func(tx store.ReadTx) error {
					all, err := inbox.Counters(tx)
					for name, v := range all {
						if strings.HasPrefix(name, "press:") {
							n += v
						}
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := presses()
			if before == 0 {
				t.Fatal("a good request is no press: the others would prove nothing")
			}
			said := map[string]string{}
			for name, head := range map[string]http.Header{
				"forged":          c.sign("another key", body, time.Now()),
				"unsigned":        {},
				"an hour later":   c.sign(c.key, body, time.Now().Add(-time.Hour)),
				"from the future": c.sign(c.key, body, time.Now().Add(10*time.Minute)),
			} {
				code, text := ask(body, head)
				said[name] = text
				if code != http.StatusUnauthorized {
					t.Errorf("%s: %d %s", name, code, text)
				}
			}
			if said["forged"] == said["an hour later"] || said["an hour later"] != said["from the future"] {
				t.Errorf("a bad key and a bad clock are told the same: %q", said)
			}
			if n := presses(); n != before {
				t.Errorf("%d presses came in", n-before)
			}
		})
	}
}
