package lark_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"loopx/adapters/adaptertest"
	"loopx/adapters/chat"
	"loopx/adapters/lark"
	sim "loopx/fixtures/sim/lark"
)

func TestSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{New: surface})
}

// TestWebhookSuite is the suite over signed and encrypted requests.
func TestWebhookSuite(t *testing.T) {
	adaptertest.Run(t, adaptertest.Harness{
		New: func(t *testing.T) adaptertest.Surface {
			s, past := newSim(t, sim.Options{Redeliver: []time.Duration{0, 0, 0}}), &recall{}
			a := newAdapter(t, s, func(c *lark.Config) {
				c.Conversations = past.conversations
				c.EncryptKey, c.VerificationToken = chat.NewSecret(encryptKey), chat.NewSecret(s.VerificationToken())
				c.Timing.Call, c.Timing.Check = 2*time.Second, 50*time.Millisecond
			})
			web := httptest.NewServer(a)
			t.Cleanup(web.Close)
			s.CallApp(web.URL, encryptKey)
			return surfaceOf(t, s, a, past)
		},
		Cannot: map[adaptertest.Check]string{adaptertest.Order: "Lark's requests may overtake each other"},
	})
}

// recall is the past that a test wants an adapter to read.
type recall struct{ list []string }

func (r *recall) conversations() []string { return r.list }

func surface(t *testing.T) adaptertest.Surface {
	s, past := newSim(t, sim.Options{Redeliver: []time.Duration{0, 0, 0}}), &recall{}
	a := newAdapter(t, s, func(c *lark.Config) { c.Timing.Call, c.Conversations = 2*time.Second, past.conversations })
	return surfaceOf(t, s, a, past)
}

func surfaceOf(t *testing.T, s *sim.Server, a *lark.Adapter, past *recall) adaptertest.Surface {
	act := func(sent sim.Sent, err error) (adaptertest.Act, error) {
		return adaptertest.Act{ID: sent.ID, Acked: func() bool {
			for _, e := range sent.Envelopes {
				if !s.Acked(e) {
					return false
				}
			}
			return len(sent.Envelopes) > 0
		}}, err
	}
	say := func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
		return act(s.Say(who.ID, where.Conversation, text), nil)
	}
	as := func(user string) func(chat.Place, string) (adaptertest.Act, error) {
		return func(where chat.Place, text string) (adaptertest.Act, error) {
			return act(s.Say(user, where.Conversation, text), nil)
		}
	}
	return adaptertest.Surface{
		Adapter: a,
		Ann:     chat.User{Tenant: s.Tenant(), ID: "ou_ana", Kind: chat.Human},
		Bob:     chat.User{Tenant: s.Tenant(), ID: "ou_wei", Kind: chat.Human},
		Private: place(s.DM("ou_ana")), Group: place("oc_gen"), Side: place("oc_ops"),
		Say: say,
		Mention: func(who chat.User, where chat.Place, text string) (adaptertest.Act, error) {
			return say(who, where, "<@"+s.BotID()+"> "+text)
		},
		Press: func(who chat.User, ref chat.Ref, id string) (adaptertest.Act, error) {
			return act(s.PressButton(who.ID, ref.Message, id))
		},
		Submit: func(who chat.User, ref chat.Ref, id string, values map[string]string) (adaptertest.Act, error) {
			return act(s.SubmitForm(who.ID, ref.Message, id, values))
		},
		Repeat: func() { s.Duplicate(1) },
		SayAs: map[chat.UserKind]func(chat.Place, string) (adaptertest.Act, error){
			chat.External: as("ou_eve"), chat.Bot: as("ou_bty"),
		},
		NoKind: map[chat.UserKind]string{chat.Guest: "people on Lark are of the app's tenant or of another one"},
		Shown: func(ref chat.Ref) (string, []string, bool) {
			m, ok := s.Message(ref.Message)
			var ids []string
			for _, b := range m.Buttons() {
				ids = append(ids, b.ID())
			}
			return m.Shown(), ids, ok
		},
		Count: func(where chat.Place, text string) (n int) {
			for _, m := range s.BotMessages(where.Conversation) {
				if strings.Contains(m.Shown(), text) {
					n++
				}
			}
			return n
		},
		Notices: func(who chat.User) (out []string) {
			for _, t := range s.Toasts(who.ID) {
				if t.Text != "" {
					out = append(out, t.Text)
				}
			}
			return out
		},
		Signs: func(ref chat.Ref) (out []string) {
			m, _ := s.Message(ref.Message)
			for _, r := range m.Reactions {
				out = append(out, r.Emoji)
			}
			return out
		},
		Attach: func(who chat.User, where chat.Place, name string, data []byte) (adaptertest.Act, error) {
			sent, _ := s.Attach(who.ID, where.Conversation, "file", name, data)
			return act(sent, nil)
		},
		RemoveFile: s.DeleteFile,
		Pinned:     func(ref chat.Ref) bool { m, _ := s.Message(ref.Message); return m.Pinned },
		FailPin:    func() { s.Inject(sim.Fault{Method: "im.pin.create", Kind: sim.FaultError, Code: 99991672}) },
		Sent:       func(where chat.Place, name string) ([]byte, string, int) { return s.File(where.Conversation, name) },
		LoseFile:   func() { s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultWriteHang}) },
		FailSigns:  func() { s.Inject(sim.Fault{Method: "im.reaction.list", Kind: sim.FaultWriteHang}) },
		Recall:     func() { past.list = []string{s.DM("ou_ana"), "oc_gen"} },
		LoseAnswer: func() { s.Inject(sim.Fault{Method: "im.message.create", Kind: sim.FaultWriteHang}) },
		BreakAuth:  s.Revoke,
		Secrets:    []string{s.AppSecret(), "simulated-token", "simulated-access-key", "ticket-"},
		Changed:    s.Changed,
	}
}
