package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"loopx/inbox"
	"loopx/kernel"
)

// S2: a mebibyte of text in one message, and ten thousand mentions in another,
// through each platform's socket. The agent gets what fits and is told that it was
// cut, the connection stays, and the next message arrives like any other.
func TestGiantMessageOnEveryPlatform(t *testing.T) {
	giants := map[string]string{
		"text":     strings.Repeat("长文本 and words, ", (1<<20)/22),
		"mentions": strings.Repeat("@everyone <@U0WEI> ", 10_000),
	}
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, make())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			before := d.connectedSince()
			for kind, text := range giants {
				if d.p.config.calls() {
					text = strings.ToValidUTF8(text[:len(text)/5], "")
				}
				d.p.say(text)
				m := d.next()
				if !utf8.ValidString(m.Text) || len(m.Text) > 64<<10 || len(m.Text) < len(text)/64 {
					t.Errorf("%s: the agent got %d bytes of %d", kind, len(m.Text), len(text))
				}
				if len(m.Text) < len(text)/2 && !m.Truncated {
					t.Errorf("%s: nobody says that %d bytes were cut to %d", kind, len(text), len(m.Text))
				}
				d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Session: "s1", Message: m.ID, Outcome: inbox.Deferred}, asBuilder)
			}
			d.p.say("and now?")
			if m := d.next(); m.Text != "and now?" {
				t.Errorf("the next message is %q", m.Text)
			}
			if after := d.connectedSince(); after != before {
				t.Error("the connection did not stay")
			}
		})
	}
}

// connectedSince is when the platform's connection became what it is.
func (d *office) connectedSince() string {
	d.t.Helper()
	info, err := d.c.Info(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	b, err := json.Marshal(info.Connections[1])
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}
