// Package slack joins one Slack app in one workspace to the bot: Socket Mode
// in, Web API out. decode.go turns envelopes into chat.Event, render.go draws a
// chat.Card as Block Kit, send.go writes, run.go keeps the connection. Nothing
// here decides anything: a press is delivered as the opaque id it carried.
package slack

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

	api "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Config is one connection.
type Config struct {
	// Name of the connection; it becomes Place.Connection.
	Name string
	// AppToken ("xapp-...", scope connections:write) opens the socket.
	AppToken chat.Secret
	// BotToken ("xoxb-...") is for everything else.
	BotToken chat.Secret
	// BaseURL replaces https://slack.com/api/ for a simulator. It is taken only
	// with Sim, and only when it is plain http on a loopback address.
	BaseURL string
	Sim     bool
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
	return t
}

const officialURL = "https://slack.com/api/"

// check reports the first thing that is wrong, before anything is sent
// anywhere. It never repeats a token.
func (c Config) check() error {
	switch {
	case c.Name == "":
		return errors.New("the connection has no name")
	case !tokenLike(c.AppToken, "xapp-"):
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

// Adapter is one connection. Make it with New.
type Adapter struct {
	cfg    Config
	web    *api.Client
	http   *doer
	pace   *lane.Pacer
	users  *userCache
	health *lane.Health

	running atomic.Bool
	client  atomic.Pointer[socketmode.Client] // the one acknowledgements go to

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
	a.users = newUserCache(cfg.Timing.UserCache, a.lookUpUser)
	return a, nil
}

// Caps says what Slack can do.
func (a *Adapter) Caps() chat.Caps {
	return chat.Caps{
		Platform: chat.Slack, Edit: true, Find: true, Notices: true, Forms: true, Threads: true,
		AckIn: chat.Duration(3 * time.Second), TextMax: maxText, CardMax: maxCard, MaxWrite: 60,
	}
}

// Health is how the connection is now.
func (a *Adapter) Health() chat.Health { return a.health.Get(a.http.lastRead()) }

// Counts returns what was taken, refused and ignored since the start, by
// reason; it names event types and error codes, never content.
func (a *Adapter) Counts() map[string]int { return a.counts.All() }

var _ chat.Adapter = (*Adapter)(nil)
