package bot

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// face is one state of a gate's card as one person sees it on one surface.
type face struct {
	state string
	// en and zh are parts of what stands there, notice parts of what only who
	// pressed is told.
	en, zh             []string
	noticeEn, noticeZh string
	// not must not stand there in either language.
	not []string
	// make brings it about and returns the card.
	make func(g *gallery) shown
}

// gallery is a hall with one surface that is looked at, and another on which
// things happen elsewhere.
type gallery struct {
	*hall
	v, elsewhere *venue
	zh           bool
	who          string

	whole    *testing.T // all faces of one surface
	pictures []picture
	browser  context.Context
}

// words of agents, which stay as they were written.
type asked struct{ question, why, goes, stays, goesNote, staysNote string }

func (g *gallery) asked() asked {
	if g.zh {
		return asked{"发布新的价格页面？", "检查全部通过，Ana 已审阅文案，旧页面仍显示去年的价格。", "发布", "暂缓", "立即在 www.example.com 上线", "保留为草稿"}
	}
	return asked{"Publish the new pricing page?", "Checks pass, the copy was reviewed by Ana, and the old page still shows last year's prices.", "Publish", "Hold", "goes live at once on www.example.com", "stays in draft"}
}

// ask opens the gate of a face and returns it with its card.
func (g *gallery) open(kind string, expires time.Duration) (id string, card shown) {
	g.t.Helper()
	a := g.asked()
	q := kernel.OpenGate{
		Question: a.question, Why: a.why, Kind: kind,
		Options: []kernel.Option{{ID: "go", Label: a.goes, Consequence: a.goesNote, Outcome: kernel.Approve}, {ID: "hold", Label: a.stays, Consequence: a.staysNote, Outcome: kernel.Reject}},
	}
	if expires > 0 {
		q.OnTimeout, q.Expires = "expire", g.now().Add(expires+time.Hour).UnixMilli()
	}
	id, code := g.ask(q)
	return id, g.card(g.v, g.v.dm(g.who), " "+code+" ", func(m shown) bool { return len(m.buttons) > 1 })
}

// now waits until a card reads as it should.
func (g *gallery) reads(card shown, fits func(shown) bool) shown {
	g.t.Helper()
	var last shown
	if within("", func() bool {
		for _, m := range g.v.see(g.v.dm(g.who)) {
			if m.id == card.id {
				last = m
			}
		}
		return fits(last)
	}) != nil {
		g.t.Fatalf("the card never became what it should; it reads\n%s\n%q", last.text, last.buttons)
	}
	return last
}

func (g *gallery) settled(card shown) shown {
	g.t.Helper()
	return g.reads(card, func(m shown) bool { return strings.Contains(m.text, "●") && !strings.Contains(m.text, "○") })
}

func (g *gallery) press(v *venue, card shown, label string) {
	g.t.Helper()
	if err := v.press(v.wei, v.dm(v.wei), card.id, label); err != nil {
		g.t.Fatal(err)
	}
}

func faces() []face {
	code := func(m shown) string {
		for w := range strings.FieldsSeq(m.text) {
			if strings.HasPrefix(w, "G-") {
				return w
			}
		}
		return "G-"
	}
	return []face{
		{
			state: "open", en: []string{"waits for you", "○ open", "Blocks the only open todo", "Wei or Ana can answer", "expires never"}, zh: []string{"等你决定", "○ 待处理", "阻塞唯一未完成的任务", "可由 Wei 或 Ana 决定", "不会超时"},
			make: func(g *gallery) shown { _, c := g.open("direction", 0); return c },
		},
		{
			state: "confirming", en: []string{"press once more to confirm", "◐ confirming", "Confirm: Publish"}, zh: []string{"请再次确认", "◐ 确认中", "确认：发布"},
			make: func(g *gallery) shown {
				_, c := g.open("publish", 0)
				g.press(g.v, c, g.asked().goes+"…")
				return g.reads(c, func(m shown) bool { return strings.Contains(m.text, "◐") })
			},
		},
		{
			state: "answered by me", en: []string{"decided by Wei: Hold", "● decided", "Hold · Wei (owner", "recorded", "Reason: the FAQ is missing"}, zh: []string{"由 Wei 决定：暂缓", "● 已决定", "暂缓 · Wei（所有者", "已记录", "理由：还缺常见问题"}, not: []string{"○"},
			make: func(g *gallery) shown {
				_, c := g.open("direction", 0)
				reason := "the FAQ is missing"
				if g.zh {
					reason = "还缺常见问题"
				}
				if err := g.v.submit(g.who, g.v.dm(g.who), c.id, g.asked().stays+"…", reason); err != nil {
					g.t.Fatal(err)
				}
				return g.settled(c)
			},
		},
		{
			state: "answered elsewhere", en: []string{"decided by Wei: Hold", "● decided"}, zh: []string{"由 Wei 决定：暂缓", "● 已决定"}, not: []string{"○"},
			noticeEn: "was already decided by Wei: Hold.", noticeZh: "已由 Wei 决定：暂缓。",
			make: func(g *gallery) shown {
				_, c := g.open("direction", 0)
				old := g.v.keep(g.v.dm(g.who), c.id, g.asked().goes)
				there := g.card(g.elsewhere, g.elsewhere.dm(g.elsewhere.wei), " "+code(c)+" ", func(m shown) bool { return len(m.buttons) > 1 })
				if err := g.elsewhere.submit(g.elsewhere.wei, g.elsewhere.dm(g.elsewhere.wei), there.id, g.asked().stays+"…", ""); err != nil {
					g.t.Fatal(err)
				}
				c = g.settled(c)
				if err := old(g.who, g.v.dm(g.who), c.id); err != nil {
					g.t.Fatal(err)
				}
				return c
			},
		},
		{
			state: "nobody running", en: []string{"decided by Wei: Publish", "nobody is running, taken at the next tick"}, zh: []string{"由 Wei 决定：发布", "当前无人运行，下次唤醒时执行"}, not: []string{"○"},
			make: func(g *gallery) shown {
				_, c := g.open("direction", 0)
				g.press(g.v, c, g.asked().goes)
				return g.settled(c)
			},
		},
		{
			state: "taken", en: []string{"decided by Wei: Publish", "taken by builder"}, zh: []string{"由 Wei 决定：发布", "由 builder 于"}, not: []string{"○", "nobody is running", "当前无人运行"},
			make: func(g *gallery) shown {
				id, c := g.open("direction", 0)
				g.press(g.v, c, g.asked().goes)
				g.settled(c)
				todo := ""
				g.read(func(r *kernel.Reader) { todo = r.Gate("site", id).Blocks.Todos[0] })
				g.do(&kernel.ClaimTodo{Goal: "site", Agent: "builder", Todo: todo}, asCLI)
				return g.reads(c, func(m shown) bool {
					return strings.Contains(m.text, "builder") && !strings.Contains(m.text, "nobody") && !strings.Contains(m.text, "无人")
				})
			},
		},
		{
			state: "stale", en: []string{"○ open", "waits for you"}, zh: []string{"○ 待处理", "等你决定"},
			noticeEn: "This card is out of date. The new one stands in its place.", noticeZh: "这张卡片已过期，已换成新的卡片。",
			make: func(g *gallery) shown {
				id, c := g.open("direction", 0)
				old, before, todo := g.v.keep(g.v.dm(g.who), c.id, g.asked().goes), g.v.native(g.v.dm(g.who), c.id), ""
				g.read(func(r *kernel.Reader) { todo = r.Gate("site", id).Blocks.Todos[0] })
				g.do(&kernel.UpdateTodo{Goal: "site", Agent: "builder", Todo: todo, Title: new("publish and write the FAQ " + id)}, asOwner)
				if err := within("new buttons", func() bool { return !reflect.DeepEqual(before, g.v.native(g.v.dm(g.who), c.id)) }); err != nil {
					g.t.Fatal(err)
				}
				if err := old(g.who, g.v.dm(g.who), c.id); err != nil {
					g.t.Fatal(err)
				}
				return g.reads(c, func(m shown) bool { return strings.Contains(m.text, "○") })
			},
		},
		{
			state: "expired", en: []string{"✕ expired", "Nobody answered in time. That is neither a yes nor a no.", "could be answered until"}, zh: []string{"✕ 已超时", "没有人在截止前回答。这既不是同意，也不是拒绝。", "可回答至"}, not: []string{"○", "expires "},
			noticeEn: "has expired. Nothing was decided.", noticeZh: "已超时，没有做出任何决定。",
			make: func(g *gallery) shown {
				_, c := g.open("direction", time.Hour)
				old := g.v.keep(g.v.dm(g.who), c.id, g.asked().goes)
				g.later(2 * time.Hour)
				c = g.reads(c, func(m shown) bool { return strings.Contains(m.text, "✕") })
				if err := old(g.who, g.v.dm(g.who), c.id); err != nil {
					g.t.Fatal(err)
				}
				return c
			},
		},
		{
			state: "wrong person", en: []string{"○ open", "waits for Wei", "Wei can answer"}, zh: []string{"○ 待处理", "等待 Wei", "可由 Wei 决定"}, not: []string{"waits for you", "等你决定"},
			noticeEn: " waits for Wei.", noticeZh: " 等待 Wei。",
			make: func(g *gallery) shown {
				g.who = g.v.ana
				_, c := g.open("direction", 0)
				old := g.v.keep(g.v.dm(g.who), c.id, g.asked().goes)
				g.do(&kernel.GrantRole{Goal: "site", Role: kernel.RoleObserver, Person: g.ana}, asOwner)
				c = g.reads(c, func(m shown) bool { return len(m.buttons) == 0 })
				if err := old(g.who, g.v.dm(g.who), c.id); err != nil {
					g.t.Fatal(err)
				}
				return c
			},
		},
	}
}

// Each state of a card, brought about as it really comes about, reads as it
// should on each surface and in both languages. With LOOPX_SHOTS the pictures
// are taken at the width of a phone.
func TestFaces(t *testing.T) {
	for _, surface := range []chat.Platform{chat.Slack, chat.Discord, chat.Lark, chat.Console} {
		for _, lang := range []string{"en", "zh"} {
			t.Run(string(surface)+" "+lang, func(t *testing.T) {
				t.Parallel()
				g := newGallery(t, surface, lang)
				for _, f := range faces() {
					if f.state == "wrong person" && surface == chat.Console {
						continue // the page is the owner's; who only looks on is tested in the browser
					}
					t.Run(f.state, func(t *testing.T) { g.t = t; g.look(f) })
				}
				g.t = t
				g.shots(string(surface), lang)
			})
		}
	}
}

func newGallery(t *testing.T, surface chat.Platform, lang string) *gallery {
	t.Helper()
	g := &gallery{zh: lang == "zh", whole: t}
	other := surface
	if surface == chat.Console {
		other = chat.Slack
	}
	g.hall = newHall(t, other)
	page := pageVenue(t, g.console)
	g.v, g.elsewhere = g.at[0], page
	if surface == chat.Console {
		g.v, g.elsewhere = page, g.at[0]
	}
	title := "Homepage release"
	if g.zh {
		title = "主页发布"
	}
	g.do(&kernel.ConfigureGoal{Goal: "site", Language: lang, Title: new(title)}, asOwner)
	for _, id := range []string{"owner", g.ana} {
		g.do(&kernel.SetPerson{Person: id, Language: new(lang)}, asOwner)
	}
	return g
}

func (g *gallery) look(f face) {
	g.t.Helper()
	g.who = g.v.wei
	told := map[string]int{g.v.wei: len(g.v.told(g.v.wei)), g.v.ana: len(g.v.told(g.v.ana))}
	c := f.make(g)
	want, notice := f.en, f.noticeEn
	if g.zh {
		want, notice = f.zh, f.noticeZh
	}
	all := c.text + "\n" + strings.Join(c.buttons, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			g.t.Errorf("%s lacks %q:\n%s", f.state, w, all)
		}
	}
	for _, w := range f.not {
		if strings.Contains(all, w) {
			g.t.Errorf("%s says %q:\n%s", f.state, w, all)
		}
	}
	text := ""
	if notice != "" {
		if text = g.notice(g.v, g.who, told[g.who]); !strings.Contains(text, notice) {
			g.t.Errorf("%s: told %q, want %q", f.state, text, notice)
		}
	}
	live := slices.ContainsFunc(c.buttons, func(b string) bool { return b == g.asked().goes })
	if live != (strings.Contains(c.text, "○") && f.state != "wrong person") {
		g.t.Errorf("%s has the buttons %q", f.state, c.buttons)
	}
	g.keepShot(f.state, c, text)
}
