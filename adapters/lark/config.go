// Package lark joins one Lark or Feishu app to the bot: the long connection in,
// the open platform's REST calls out. decode.go turns events into chat.Event,
// render.go draws a chat.Card as card JSON 2.0, send.go writes, run.go and
// socket.go keep the connection. Nothing here decides anything: a press is
// delivered as the opaque id it carried.
//
// The socket loop is our own, on the SDK's frames: the SDK's client loses
// fragments, keeps no order, bounds nothing and retries a wrong secret for ever.
// Its dispatcher is not used either: it cannot read a mention whose id is a
// plain string and would lose that message (B48).
package lark

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Domain names the two open platforms, which share nothing but their shape.
type Domain string

// The platforms: Feishu for tenants in China, Lark for all others.
const (
	Feishu Domain = "feishu"
	Lark   Domain = "lark"
)

// Config is one connection.
type Config struct {
	// Name of the connection; it becomes Place.Connection.
	Name string
	// AppID ("cli_...") and AppSecret are the self-built app's credentials.
	AppID     string
	AppSecret chat.Secret
	// Domain is Feishu unless told.
	Domain Domain
	// BaseURL replaces the platform's address for a simulator,
	// "http://127.0.0.1:PORT". It is taken only with Sim, and only when it is
	// plain http on a loopback address.
	BaseURL string
	Sim     bool
	// EncryptKey and VerificationToken, both or none, make Lark call us: Run keeps
	// what ServeHTTP takes. The long connection needs neither.
	EncryptKey, VerificationToken chat.Secret
	// Conversations names the chats whose past is read after a start or a gap,
	// beside those that were heard in since: Lark repeats an event for seven
	// hours, and only to an app that had a connection. May be nil.
	Conversations func() []string
	// HTTPClient carries proxies and extra CAs, for the socket too when its
	// transport is an *http.Transport. Redirects are never followed.
	HTTPClient *http.Client
	// Clock is the wall clock for times in Health and for the age of webhook
	// requests; time.Now unless told.
	Clock  func() time.Time
	Logger *slog.Logger
	Timing Timing
}

// Timing are the pauses and deadlines; zero fields get the defaults.
type Timing struct {
	// Accept is the deadline of one Sink.Accept: 2.5 s of Lark's 3 s.
	Accept time.Duration
	// Call is the deadline of one REST call with its token: 10 s.
	Call time.Duration
	// Look is the deadline of what is nice to know before an event is given on: a
	// name, the kind of a chat. 500 ms.
	Look time.Duration
	// RetryMin and RetryMax bound the growing pause between two connections:
	// 500 ms and 30 s. A connection that lived for Stable (1 min) resets it.
	RetryMin, RetryMax, Stable time.Duration
	// Ping overrides the pause between two pings that Lark names (120 s).
	Ping time.Duration
	// Pong is how long after a ping some frame must have come: 10 s.
	Pong time.Duration
	// Settle is how long after the answer to a press its card is left alone: the
	// answer and an update go different ways, and Lark puts back a card whose
	// update overtook the answer (B21). 200 ms.
	Settle time.Duration
	// Parts is how long the parts of one event may take: 10 s.
	Parts time.Duration
	// CatchUp is how far back the past is read: 7 days. Gap is how long nobody
	// must have listened for it: 30 s.
	CatchUp, Gap time.Duration
	// Check is how often the secret of a connection without a socket is tried: 5 min.
	Check time.Duration
}

func (t Timing) withDefaults() Timing {
	def := func(d *time.Duration, v time.Duration) { *d = cmp.Or(*d, v) }
	def(&t.Accept, 2500*time.Millisecond)
	def(&t.Call, 10*time.Second)
	def(&t.Look, 500*time.Millisecond)
	def(&t.RetryMin, 500*time.Millisecond)
	def(&t.RetryMax, 30*time.Second)
	def(&t.Stable, time.Minute)
	def(&t.Pong, 10*time.Second)
	def(&t.Settle, 200*time.Millisecond)
	def(&t.Parts, 10*time.Second)
	def(&t.CatchUp, 7*24*time.Hour)
	def(&t.Gap, 30*time.Second)
	def(&t.Check, 5*time.Minute)
	return t
}

// baseURL is the platform's official address.
func (d Domain) baseURL() string {
	if d == Lark {
		return "https://open.larksuite.com"
	}
	return "https://open.feishu.cn"
}

// check reports the first thing that is wrong, before anything is sent
// anywhere. It never repeats a secret.
func (c Config) check() error {
	secret := c.AppSecret.Reveal()
	switch {
	case c.Name == "":
		return errors.New("the connection has no name")
	case !strings.HasPrefix(c.AppID, "cli_") || !plain(c.AppID):
		return errors.New(`the app id does not look like one ("cli_...")`)
	case secret == "" || !plain(secret):
		return errors.New("the app secret is missing or does not look like one")
	case c.Domain != Feishu && c.Domain != Lark:
		return errors.New(`the domain is "feishu" or "lark"`)
	case c.EncryptKey.Empty() != c.VerificationToken.Empty():
		return errors.New("give the encrypt key and the verification token, or neither")
	case c.BaseURL == "":
		return nil
	case !c.Sim:
		return errors.New("another base URL is taken only with sim")
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Path != "" && u.Path != "/" {
		return errors.New("the base URL of a simulator is http://127.0.0.1:PORT")
	}
	if !loopback(u.Hostname()) {
		return errors.New("the base URL of a simulator must be on loopback")
	}
	return nil
}

func plain(s string) bool {
	return len(s) < 200 && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Adapter is one connection. Make it with New.
type Adapter struct {
	cfg    Config
	rest   *rest
	pace   *lane.Pacer
	health *lane.Health
	counts lane.Counts
	chats  *directory
	sent   *ledger
	busy   *pressing
	heard  lane.Heard

	running atomic.Bool
	hook    atomic.Pointer[Webhook] // while Run serves requests
	warned  sync.Map                // what was already said once, by reason

	idMu sync.Mutex
	id   identity
}

// New checks the configuration and returns a connection that does nothing yet.
// The error is an *chat.Error of kind Invalid.
func New(cfg Config) (*Adapter, error) {
	cfg.Domain = cmp.Or(cfg.Domain, Feishu)
	if err := cfg.check(); err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_config", Err: fmt.Errorf("lark connection %q: %w", cfg.Name, err)}
	}
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, cfg.Domain.baseURL()), "/")
	cfg.Timing = cfg.Timing.withDefaults()
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("connection", cfg.Name, "platform", string(chat.Lark))
	a := &Adapter{
		cfg: cfg, health: lane.NewHealth(cfg.Clock), chats: newDirectory(), sent: newLedger(), busy: newPressing(),
		pace: lane.NewPacer(cfg.Timing.RetryMin, cfg.Timing.RetryMax, cfg.Timing.Stable),
	}
	a.rest = newREST(cfg, &a.counts)
	return a, nil
}

// Caps says what Lark can do.
func (a *Adapter) Caps() chat.Caps {
	return chat.Caps{
		Platform: chat.Lark, Edit: true, Find: true, Notices: true, AckCard: true, Forms: true, Threads: true, CatchUp: true, React: true, Files: true, FileMax: maxFile, Pin: true,
		AckIn: chat.Duration(3 * time.Second), TextMax: maxText, CardMax: maxContent, MaxWrite: maxWrite,
	}
}

// Health is how the connection is now. A connection that never brought an event
// says so: that is what a subscription set to a server address looks like (B12).
func (a *Adapter) Health() chat.Health {
	h := a.health.Get(a.rest.http.LastRead())
	if h.State == chat.Ready && h.LastEvent == 0 && h.Detail == "" {
		if !a.cfg.EncryptKey.Empty() {
			h.Detail = "waiting to be called; no event has arrived yet"
			h.Fix = "write the bot a message; if nothing arrives, give the address of this connection for events and callbacks in the developer console, subscribe to im.message.receive_v1 and card.action.trigger, and publish a version"
			return h
		}
		h.Detail = "connected; no event has arrived yet"
		h.Fix = "write the bot a message; if nothing arrives, choose the persistent connection for events and callbacks in the developer console, subscribe to im.message.receive_v1 and card.action.trigger, and publish a version"
	}
	return h
}

// Counts returns what was taken, refused and ignored since the start, by
// reason; it names event types and error codes, never content.
func (a *Adapter) Counts() map[string]int { return a.counts.All() }

// once reports whether a reason comes up for the first time.
func (a *Adapter) once(reason string) bool {
	_, seen := a.warned.LoadOrStore(reason, true)
	return !seen
}

// String keeps the secret out of every way to print an adapter.
func (a *Adapter) String() string { return "lark connection " + a.cfg.Name }

// GoString is String for %#v.
func (a *Adapter) GoString() string { return a.String() }

var (
	_ chat.Adapter = (*Adapter)(nil)
	_ chat.Marker  = (*Adapter)(nil)
	_ chat.Fetcher = (*Adapter)(nil)
	_ chat.Homed   = (*Adapter)(nil)
)
