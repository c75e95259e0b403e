package main_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What people and agents do in a journey. Every act is done until it has worked,
// as people and agents do it: who sees nothing happen presses again.

// opens sets the stage: Wei is linked, or the page is his, and may be asked at any hour.
func (p *stage) opens() {
	p.what = "the setup"
	if p.open != nil {
		p.until("the page opens", func() bool {
			return p.open(p.home.Dir, func(code string) error {
				_, err := p.try("link", "page", code, "--owner-token-file", p.owner)
				return err
			}) == nil
		}, nil)
	} else {
		p.until("the bot is connected", p.online, nil)
		code := p.asOwner("link", "--name", "Wei").at("link_code")
		_ = p.say("Wei", weiDM, code)
		p.until("the code is answered", func() bool { _, ok := p.find(weiDM); return ok }, func() {
			if !p.queues {
				_ = p.say("Wei", weiDM, code)
			}
		})
		p.asOwner("link", "confirm", "--platform", p.name, "--connection", "work", "--tenant", p.tenant, "--user", p.users["Wei"])
	}
	if p.open == nil {
		p.asOwner("attention", "set", "--quiet", "off", "--budget", "1000")
	}
	p.skip[weiDM] = len(p.present(weiDM))
}

// addressed is a text as it reaches the bot from a place.
func (p *stage) addressed(place, text string) string {
	if place == weiDM || place == anaDM {
		return text
	}
	return p.mention + text
}

// says is one message of a person to the bot.
func (p *stage) says(who, place, text string) {
	p.next(who + " says " + text)
	say := func() { p.talks(who, place, p.addressed(place, text)) }
	if strings.HasPrefix(text, "/") {
		p.typed[text] = say
	}
	say()
}

func (p *stage) talks(who, place, text string) {
	p.until("it is said", func() bool { return p.say(who, place, text) == nil }, nil)
}

// shows waits for a message of the bot with all of the words.
func (p *stage) shows(place string, words ...string) line {
	p.next("the bot shows " + strings.Join(words, ", "))
	return p.sees(place, words...)
}

func (p *stage) sees(place string, words ...string) (l line) {
	p.until("the bot shows "+strings.Join(words, ", "), func() (ok bool) {
		l, ok = p.find(place, words...)
		return ok
	}, p.admits)
	return l
}

// admits lets messages go on that are only known from the history, because
// nobody listened when they were said. Such a platform keeps them for nobody. A
// command that was missed is not done later: it is typed again.
func (p *stage) admits() {
	if p.queues {
		return
	}
	list, _ := p.loopx("inbox", "dead")["messages"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		id := object(m).at("message_id")
		switch again, ok := p.typed[object(m).at("text")]; {
		case m["reason"] != "missed":
		case !ok:
			p.asOwner("inbox", "admit", "--goal-id", goal, "--message-id", id)
		case !p.missed[id]:
			p.missed[id] = true
			again()
		}
	}
}

// presses presses a button of the message with these words, again until it is
// gone from it.
func (p *stage) presses(who, place, label string, words ...string) {
	p.next(who + " presses " + label)
	l := p.sees(place, words...)
	press := func() { _ = p.press(who, place, l.id, label) } // offline, or pressed already
	p.until("the button "+label, func() bool { return p.has(place, l.id, label) }, p.admits)
	press()
	p.until(label+" is taken", func() bool { return !p.has(place, l.id, label) }, press)
}

func (p *stage) has(place, id, label string) bool {
	return slices.ContainsFunc(p.read(place), func(l line) bool { return l.id == id && slices.Contains(l.Buttons, label) })
}

// outcome is what a run has to show when it is over.
type outcome struct {
	Places map[string][]line
	Agents []string
	State  []string
}

// seen is all that people see now, in words that do not depend on the run.
func (p *stage) seen() map[string][]line {
	out := map[string][]line{}
	places := []string{weiDM}
	if p.topic != nil {
		places = append(places, atThread, atGroup, anaDM)
	}
	// Receipts are numbered with what asked in vain in between.
	clock, receipt := regexp.MustCompile(`\d\d:\d\d`), regexp.MustCompile(`receipt r\d+`)
	for _, place := range places {
		list := p.present(place)
		if !p.queues { // what was missed and typed again counts once
			last := map[string]int{}
			for i, l := range list {
				last[l.From+l.Text] = i
			}
			i := -1
			list = slices.DeleteFunc(list, func(l line) bool { i++; return l.From != "loopx" && last[l.From+l.Text] != i })
		}
		for i := range list {
			list[i].id = ""
			list[i].Text = receipt.ReplaceAllString(clock.ReplaceAllString(list[i].Text, "hh:mm"), "receipt rN")
			slices.Sort(list[i].Signs)
		}
		out[place] = list[min(p.skip[place], len(list)):]
	}
	return out
}

// state is what the kernel holds, without times and with ids in order.
func (p *stage) state() []string {
	ids := map[string]string{}
	name := regexp.MustCompile(`\b[a-z]+_[0-9a-z]{8,}\b`)
	digest := regexp.MustCompile(`digest:[0-9a-f]{32}\b`) // it covers ids
	when := regexp.MustCompile(`\b1[0-9]{12}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	var out []string
	for _, args := range [][]string{{"todo", "list", "--all"}, {"gate", "list", "--all"}, {"quota", "status"}, {"inbox", "list", "--all"}, {"inbox", "dead"}} {
		o := p.loopx(append(args, "--goal-id", goal)...)
		for _, key := range []string{"todos", "gates", "messages", "spent_slots"} {
			list, ok := o[key].([]any)
			if !ok {
				list = []any{o[key]}
			}
			for _, v := range list {
				if v == nil {
					continue
				}
				text := fmt.Sprint(v)
				text = name.ReplaceAllStringFunc(text, func(id string) string {
					if ids[id] == "" {
						kind, _, _ := strings.Cut(id, "_")
						ids[id] = fmt.Sprintf("%s#%d", kind, len(ids))
					}
					return ids[id]
				})
				out = append(out, key+" "+digest.ReplaceAllString(when.ReplaceAllString(text, "T"), "digest:D"))
			}
		}
	}
	return out
}

// everywhere is what people see, as a failure prints it.
func (p *stage) everywhere() string {
	var b strings.Builder
	seen := p.seen()
	for _, place := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(&b, "%s:\n", place)
		for _, l := range seen[place] {
			fmt.Fprintf(&b, "  %-6s %s %q %q\n", l.From, strings.ReplaceAll(l.Text, "\n", "\n         "), l.Buttons, l.Signs)
		}
	}
	return b.String()
}

// calm waits until all looks as it did without kills, or, where there is nothing
// to compare with, until nothing has changed for a while: what was answered last
// is still being drawn.
func (p *stage) calm(want *outcome) {
	was, since := "", time.Now()
	deadline := time.Now().Add(20 * time.Second)
	p.next("the end")
	p.until("every death that was drawn", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.left) == 0
	}, p.admits)
	p.until("it is calm", func() bool {
		now := p.everywhere()
		if now != was {
			was, since = now, time.Now()
		}
		if want != nil {
			return same(want.Places, p.seen()) || time.Now().After(deadline)
		}
		return time.Since(since) > 2500*time.Millisecond
	}, p.admits)
}

// same says whether two runs show the same. Reactions are a courtesy that is
// tried once: one whose answer the kill cut off may stay beside the last one.
func same(want, got map[string][]line) bool {
	for place, list := range got {
		for i, l := range list {
			if i < len(want[place]) {
				list[i].Signs = slices.DeleteFunc(l.Signs, func(s string) bool { return !slices.Contains(want[place][i].Signs, s) })
			}
		}
	}
	return reflect.DeepEqual(want, got)
}
