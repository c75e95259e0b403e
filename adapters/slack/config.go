// Package slack joins one Slack app in one workspace to the bot: Socket Mode or
// signed requests in, Web API out. decode.go turns envelopes into chat.Event,
// render.go draws a chat.Card as Block Kit, send.go writes, run.go keeps the
// connection, webhook.go takes requests. Nothing here decides anything: a press
// is delivered as the opaque id it carried.
package slack

import (
	"cmp"
	"context"
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

	api "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Config is one connection.
type Config struct {
	// Name of the connection; it becomes Place.Connection.
	Name string
	// AppToken ("xapp-...", scope connections:write) opens the socket. Exactly one
	// of it and SigningSecret is given.
	AppToken chat.Secret
	// SigningSecret (32 hex digits) makes Slack call us instead: Run keeps what
	// ServeHTTP takes, and nothing is dialled.
	SigningSecret chat.Secret
	// BotToken ("xoxb-...") is for everything else.
	BotToken chat.Secret
	// BaseURL replaces https://slack.com/api/ for a simulator. It is taken only
	// with Sim, and only when it is plain http on a loopback address.
	BaseURL string
	Sim     bool
	// Conversations names the conversations whose past is read after a start or
	// a gap, beside those that were heard in since: Slack repeats an event for
	// six minutes and no longer. May be nil.
	Conversations func() []string
	// HTTPClient carries proxies and extra CAs, for the socket too when its
	// transport is an *http.Transport. Redirects are never followed.
	HTTPClient *http.Client
	// Clock is the wall clock for times in Health; time.Now unless told.
	Clock  func() time.Time
	Logger *slog.Logger
	Timing Timing
}

// Timing are the pauses and deadlines; zero fields get the defaults.
type Timing struct {
	// Accept is the deadline of one Sink.Accept: 2.5 s of Slack's 3 s.
	Accept time.Duration
	// Call is the deadline of one Web API call: 10 s.
	Call time.Duration
	// RetryMin and RetryMax bound the growing pause between two connections:
	// 500 ms and 30 s. A connection that lived for Stable (1 min) resets it.
	RetryMin, RetryMax, Stable time.Duration
	// Ping is how long the socket may go without a ping from Slack: 30 s.
	Ping time.Duration
	// Recheck is when a hello that counts other connections is asked again, to
	// tell a left-over of our own from somebody else: 20 s.
	Recheck time.Duration
	// UserCache is how long a person's kind is believed: 10 min.
	UserCache time.Duration
	// CatchUp is how far back the past is read: 7 days. Gap is how long nobody
	// must have listened for it: 30 s.
	CatchUp, Gap time.Duration
	// Check is how often the token of a connection without a socket is tried: 5 min.
	Check time.Duration
}

func (t Timing) withDefaults() Timing {
	def := func(d *time.Duration, v time.Duration) { *d = cmp.Or(*d, v) }
	def(&t.Accept, 2500*time.Millisecond)
	def(&t.Call, 10*time.Second)
	def(&t.RetryMin, 500*time.Millisecond)
	def(&t.RetryMax, 30*time.Second)
	def(&t.Stable, time.Minute)
	def(&t.Ping, 30*time.Second)
	def(&t.Recheck, 20*time.Second)
	def(&t.UserCache, 10*time.Minute)
	def(&t.CatchUp, 7*24*time.Hour)
	def(&t.Gap, 30*time.Second)
	def(&t.Check, 5*time.Minute)
	return t
}

const officialURL = "https://slack.com/api/"

// check reports the first thing that is wrong, before anything is sent
// anywhere. It never repeats a token.
func (c Config) check() error {
	switch {
	case c.Name == "":
		return errors.New("the connection has no name")
	case c.AppToken.Empty() == c.SigningSecret.Empty():
		return errors.New("give the app-level token (Socket Mode) or the signing secret (Slack calls us), one of them")
	case !c.SigningSecret.Empty() && !signingSecret(c.SigningSecret):
		return errors.New("the signing secret does not look like one (32 hex digits)")
	case !c.AppToken.Empty() && !tokenLike(c.AppToken, "xapp-"):
		return errors.New(`the app-level token does not look like one ("xapp-...")`)
	case !tokenLike(c.BotToken, "xoxb-"):
		return errors.New(`the bot token does not look like one ("xoxb-...")`)
	case c.BaseURL == "":
		return nil
	case !c.Sim:
		return errors.New("another base URL is taken only with sim")
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return errors.New("the base URL of a simulator is http://127.0.0.1:PORT/api/")
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("the base URL of a simulator must be on loopback")
	}
	return nil
}

func tokenLike(s chat.Secret, prefix string) bool {
	v := s.Reveal()
	return strings.HasPrefix(v, prefix) && len(v) > len(prefix) && len(v) < 400 &&
		strings.IndexFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func signingSecret(s chat.Secret) bool {
	v := s.Reveal()
	return len(v) == 32 && strings.Trim(v, "0123456789abcdef") == ""
}

// Adapter is one connection. Make it with New.
type Adapter struct {
	cfg    Config
	web    *api.Client
	http   *doer
	pace   *lane.Pacer
	users  *userCache
	health *lane.Health
	heard  lane.Heard

	running atomic.Bool
	client  atomic.Pointer[socketmode.Client] // the one acknowledgements go to
	hook    atomic.Pointer[Webhook]           // while Run serves requests

	idMu sync.Mutex
	id   identity

	counts lane.Counts
}

// New checks the configuration and returns a connection that does nothing yet.
// The error is an *chat.Error of kind Invalid.
func New(cfg Config) (*Adapter, error) {
	if err := cfg.check(); err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_config", Err: fmt.Errorf("slack connection %q: %w", cfg.Name, err)}
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, officialURL)
	if !strings.HasSuffix(cfg.BaseURL, "/") {
		cfg.BaseURL += "/"
	}
	cfg.Timing = cfg.Timing.withDefaults()
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("connection", cfg.Name, "platform", string(chat.Slack))
	a := &Adapter{
		cfg:    cfg,
		pace:   lane.NewPacer(cfg.Timing.RetryMin, cfg.Timing.RetryMax, cfg.Timing.Stable),
		health: lane.NewHealth(cfg.Clock),
	}
	a.http = newDoer(cfg, a.pace)
	a.web = api.New(cfg.BotToken.Reveal(),
		api.OptionAppLevelToken(cfg.AppToken.Reveal()),
		api.OptionAPIURL(cfg.BaseURL),
		api.OptionHTTPClient(a.http))
	a.users = newUserCache(cfg.Timing.UserCache, func(ctx context.Context, id string) (person, error) { return lookUpUser(ctx, a, id) })
	return a, nil
}

// Caps says what Slack can do.
func (a *Adapter) Caps() chat.Caps {
	return chat.Caps{
		Platform: chat.Slack, Edit: true, Find: true, Notices: true, Forms: true, Threads: true, CatchUp: true, React: true, Files: true, FileMax: maxFile, Pin: true,
		AckIn: chat.Duration(3 * time.Second), TextMax: maxText, CardMax: maxCard, MaxWrite: 60,
	}
}

// Health is how the connection is now. One that is called and never was says so:
// a wrong address in the app's settings looks like that.
func (a *Adapter) Health() chat.Health {
	h := a.health.Get(a.http.LastRead())
	if h.State == chat.Ready && h.LastEvent == 0 && h.Detail == "" && !a.cfg.SigningSecret.Empty() {
		h.Detail = "waiting to be called; no event has arrived yet"
		h.Fix = "write the bot a message; if nothing arrives, give the address of this connection as the request URL of events, interactivity and slash commands in the app's settings"
	}
	return h
}

// Counts returns what was taken, refused and ignored since the start, by
// reason; it names event types and error codes, never content.
func (a *Adapter) Counts() map[string]int { return a.counts.All() }

var (
	_ chat.Adapter = (*Adapter)(nil)
	_ chat.Marker  = (*Adapter)(nil)
	_ chat.Fetcher = (*Adapter)(nil)
	_ chat.Homed   = (*Adapter)(nil)
)
