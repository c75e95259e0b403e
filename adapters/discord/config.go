// Package discord joins one Discord app to the bot: gateway in, REST out.
// decode.go turns dispatches into chat.Event, render.go draws a chat.Card as
// components, send.go writes, run.go keeps the session. Types and constants are
// discordgo's; its own gateway and REST loops are not used, because they cannot
// resume where we stopped storing, lose whole events over one component they do
// not know, and sleep and retry without asking the context (docs/guides/discord.md
// and gateway.go say more). Nothing here decides anything: a press is delivered
// as the opaque id it carried.
package discord

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Config is one connection.
type Config struct {
	// Name of the connection; it becomes Place.Connection.
	Name string
	// BotToken is the token of the app's bot user, without "Bot ".
	BotToken chat.Secret
	// BaseURL replaces https://discord.com/api/ for a simulator. It is taken
	// only with Sim, and only when it is plain http on a loopback address.
	BaseURL string
	Sim     bool
	// HTTPClient carries proxies and extra CAs, for the gateway too when its
	// transport is an *http.Transport. Redirects are never followed.
	HTTPClient *http.Client
	// Conversations names channels and private conversations whose history is
	// read after a session that could not be resumed, and after a start: Discord
	// keeps no events for an app that is away. Nil means those that were heard
	// from in this Run. What was stored before comes again with its old ids.
	Conversations func() []string
	// Clock is the wall clock for times in Health; time.Now unless told.
	Clock  func() time.Time
	Logger *slog.Logger
	Timing Timing
}

// Timing are the pauses and deadlines; zero fields get the defaults.
type Timing struct {
	// Accept is the deadline of one Sink.Accept: 2 s, so that the answer to a
	// press still leaves within Discord's 3 s.
	Accept time.Duration
	// Call is the deadline of one REST call: 10 s.
	Call time.Duration
	// Wait is how long a call waits for its rate limit before it is refused with
	// the time that is left: 1 s.
	Wait time.Duration
	// RetryMin and RetryMax bound the growing pause between two connections, and
	// between two tries to store an event: 500 ms and 30 s. A connection that
	// lived for Stable (1 min) resets it.
	RetryMin, RetryMax, Stable time.Duration
	// Identify is the least time between two identifies: 5 s, as Discord asks.
	Identify time.Duration
	// Invalid is the longest pause after op 9; it is drawn between a fifth of it
	// and all of it: 5 s, as Discord asks.
	Invalid time.Duration
	// Hello is how long a new socket may take to say hello and to be ready: 20 s.
	Hello time.Duration
	// GiveUp is how long one event is tried to be stored before it is counted as
	// lost: 1 h.
	GiveUp time.Duration
	// AuthHold is how long no call is made after a 401: 1 min.
	AuthHold time.Duration
	// CatchUp is how far back history is read where nothing is known: 7 days.
	CatchUp time.Duration
}

func (t Timing) withDefaults() Timing {
	def := func(d *time.Duration, v time.Duration) { *d = cmp.Or(*d, v) }
	def(&t.Accept, 2*time.Second)
	def(&t.Call, 10*time.Second)
	def(&t.Wait, time.Second)
	def(&t.RetryMin, 500*time.Millisecond)
	def(&t.RetryMax, 30*time.Second)
	def(&t.Stable, time.Minute)
	def(&t.Identify, 5*time.Second)
	def(&t.Invalid, 5*time.Second)
	def(&t.Hello, 20*time.Second)
	def(&t.GiveUp, time.Hour)
	def(&t.AuthHold, time.Minute)
	def(&t.CatchUp, 7*24*time.Hour)
	return t
}

const officialURL = "https://discord.com/api/"

// check reports the first thing that is wrong, before anything is sent
// anywhere. It never repeats a token.
func (c Config) check() error {
	switch {
	case c.Name == "":
		return errors.New("the connection has no name")
	case !tokenLike(c.BotToken.Reveal()):
		return errors.New("the bot token does not look like one (three parts with dots between, no \"Bot \" before it)")
	case c.BaseURL == "":
		return nil
	case !c.Sim:
		return errors.New("another base URL is taken only with sim")
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || !loopback(u) {
		return errors.New("the base URL of a simulator is http://127.0.0.1:PORT/api/")
	}
	return nil
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func tokenLike(v string) bool {
	return strings.Count(v, ".") == 2 && len(v) >= 20 && len(v) < 400 &&
		strings.IndexFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// Adapter is one connection. Make it with New.
type Adapter struct {
	cfg    Config
	rest   *rest
	pace   *lane.Pacer
	health *lane.Health
	places *places
	self   *self
	rights *rights
	heard  lane.Heard

	running atomic.Bool
	frameAt atomic.Int64 // UTC ms of the last frame of the gateway

	counts lane.Counts
}

// New checks the configuration and returns a connection that does nothing yet.
// The error is an *chat.Error of kind Invalid.
func New(cfg Config) (*Adapter, error) {
	if err := cfg.check(); err != nil {
		return nil, &chat.Error{Kind: chat.Invalid, Code: "bad_config", Err: fmt.Errorf("discord connection %q: %w", cfg.Name, err)}
	}
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, officialURL), "/") + "/"
	cfg.Timing = cfg.Timing.withDefaults()
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("connection", cfg.Name, "platform", string(chat.Discord))
	t := cfg.Timing
	r := newREST(cfg)
	places := newPlaces(r, t.Call)
	a := &Adapter{
		cfg: cfg, rest: r, places: places, self: &self{connection: cfg.Name, rest: r, call: t.Call}, rights: newRights(places),
		pace:   lane.NewPacer(t.RetryMin, t.RetryMax, t.Stable),
		health: lane.NewHealth(cfg.Clock),
	}
	return a, nil
}

// Caps says what Discord can do.
func (a *Adapter) Caps() chat.Caps {
	return chat.Caps{
		Platform: chat.Discord, Edit: true, Find: true, Notices: true, AckCard: true, Forms: true, Threads: true, CatchUp: true, React: true, Files: true, FileMax: maxFile, Pin: true,
		AckIn: chat.Duration(3 * time.Second), TextMax: maxContent, CardMax: maxAllText, MaxWrite: 60,
	}
}

// Health is how the connection is now.
func (a *Adapter) Health() chat.Health { return a.health.Get(a.frameAt.Load()) }

// Counts returns what was taken, refused and ignored since the start, by
// reason; it names event types and error codes, never content.
func (a *Adapter) Counts() map[string]int { return a.counts.All() }

var (
	_ chat.Adapter = (*Adapter)(nil)
	_ chat.Marker  = (*Adapter)(nil)
	_ chat.Fetcher = (*Adapter)(nil)
	_ chat.Homed   = (*Adapter)(nil)
)
