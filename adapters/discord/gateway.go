package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	dg "github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// discordgo's gateway loop is not used: it resumes after the last event it read,
// not after the last one that was stored; a component it does not know empties
// the whole event; after Close it may come back; and it neither reads the budget
// of identifies nor the address to resume at.

// Gateway opcodes (docs, "Gateway Opcodes").
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// intents are what is asked for: the guilds' channels, messages in guilds and in
// private, and their content, which is privileged. Presses need none.
const intents = dg.IntentGuilds | dg.IntentGuildMessages | dg.IntentDirectMessages | dg.IntentMessageContent

// mark says how far one session's events are stored. Its low is what we let
// Discord know, in heartbeats and when resuming: everything up to it is stored.
type mark struct {
	mu    sync.Mutex
	taken int64 // the greatest number that was taken in
	low   int64
	open  []step // taken and not yet below low, in order
}

type step struct {
	seq  int64
	done bool
}

// take reports whether a number is new; what is sent again after a resume is not.
func (m *mark) take(seq int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq <= m.taken {
		return false
	}
	m.taken = seq
	m.open = append(m.open, step{seq: seq})
	return true
}

// drop takes the newest number back: it could not be kept and must come again.
func (m *mark) drop(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.open); n > 0 && m.open[n-1].seq == seq {
		m.open = m.open[:n-1]
		m.taken = seq - 1
	}
}

// done notes that an event is stored, or needs no storing.
func (m *mark) done(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.open {
		if m.open[i].seq == seq {
			m.open[i].done = true
			break
		}
	}
	for len(m.open) > 0 && m.open[0].done {
		m.low = m.open[0].seq
		m.open = m.open[1:]
	}
}

func (m *mark) stored() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.low
}

// session is what a resume needs; the zero value is none.
type session struct {
	id   string
	url  string // where to resume
	mark *mark
}

// socket is one connection to the gateway.
type socket struct {
	ws     *websocket.Conn
	mu     sync.Mutex // of writes
	mark   atomic.Pointer[mark]
	acked  atomic.Bool
	beaten atomic.Bool // a beat is on its way
	zombie atomic.Bool
	closed sync.Once
}

// send writes one payload.
func (s *socket) send(op int, d any) error {
	raw, err := json.Marshal(map[string]any{"op": op, "d": d})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return s.ws.WriteMessage(websocket.TextMessage, raw)
}

// close ends the connection with a code: 1000 ends the session too.
func (s *socket) close(code int) {
	s.closed.Do(func() {
		_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
		_ = s.ws.Close()
	})
}

// beat sends a heartbeat: how far we have stored.
func (s *socket) beat() error {
	var seq any
	if m := s.mark.Load(); m != nil && m.stored() > 0 {
		seq = m.stored()
	}
	s.beaten.Store(true)
	return s.send(opHeartbeat, seq)
}

// heart beats until ctx ends. An interval without an answer means that the link
// is dead although it is open: it is closed so that the session can be resumed
// ("zombied connections", docs).
func (s *socket) heart(ctx context.Context, every time.Duration) {
	wait := time.Duration(float64(every) * rand.Float64())
	for lane.Pause(ctx, wait) == nil {
		wait = every
		if s.beaten.Load() && !s.acked.Swap(false) {
			s.zombie.Store(true)
			s.close(4000)
			return
		}
		if s.beat() != nil {
			s.close(4000)
			return
		}
	}
}

// errZombie is a link that no longer answers.
var errZombie = errors.New("the gateway no longer answers")

// ending is how a connection ended.
type ending struct {
	err   error
	fatal bool
	// over: the session cannot be resumed. wait: op 9 asks for a pause.
	over, wait bool
}

// dial opens a socket and reads the hello; it returns the heartbeat's interval.
func (r *runner) dial(ctx context.Context, address string) (*socket, time.Duration, error) {
	address, err := r.rest.gatewayURL(address)
	if err != nil {
		return nil, 0, &chat.Error{Kind: chat.Temporary, Code: "bad_gateway_address", Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Hello)
	defer cancel()
	ws, resp, err := r.rest.Dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, 0, &chat.Error{Kind: chat.Temporary, Code: "not_connected", Err: r.rest.clean.Error(err)}
	}
	ws.SetReadLimit(maxBody)
	s := &socket{ws: ws}
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	defer stop()
	_, raw, err := ws.ReadMessage()
	var hello struct {
		Op int `json:"op"`
		D  struct {
			Every int64 `json:"heartbeat_interval"`
		} `json:"d"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &hello)
	}
	if err == nil && (hello.Op != opHello || hello.D.Every <= 0) {
		err = fmt.Errorf("the gateway began with op %d", hello.Op)
	}
	if err != nil {
		s.close(4000)
		if ce, ok := errors.AsType[*websocket.CloseError](err); ok {
			out, _, _ := closed(ce.Code)
			return nil, 0, out
		}
		return nil, 0, &chat.Error{Kind: chat.Temporary, Code: "no_hello", Err: r.rest.clean.Error(err)}
	}
	return s, time.Duration(hello.D.Every) * time.Millisecond, nil
}

// begin identifies, or resumes after what is stored.
func (r *runner) begin(s *socket) error {
	token := r.cfg.BotToken.Reveal()
	if r.session.id != "" {
		s.mark.Store(r.session.mark)
		return s.send(opResume, map[string]any{"token": token, "session_id": r.session.id, "seq": r.session.mark.stored()})
	}
	r.identified = time.Now()
	return s.send(opIdentify, map[string]any{
		"token": token, "intents": int(intents), "compress": false, "large_threshold": 50,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "loopx", "device": "loopx"},
	})
}

// listen runs one connection until it ends.
func (r *runner) listen(ctx context.Context, s *socket, every time.Duration) ending {
	hctx, cancel := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { s.heart(hctx, every) })
	stop := context.AfterFunc(ctx, func() { s.close(websocket.CloseNormalClosure) })
	// A session that is neither ready nor resumed in time is no session.
	late := time.AfterFunc(r.cfg.Timing.Hello, func() { s.close(4000) })
	defer func() {
		late.Stop()
		stop()
		cancel()
		s.close(4000)
		heart.Wait()
	}()
	if err := r.begin(s); err != nil {
		return ending{err: &chat.Error{Kind: chat.Temporary, Code: "not_connected", Err: r.rest.clean.Error(err)}}
	}
	for {
		_, raw, err := s.ws.ReadMessage()
		if err != nil {
			return r.ended(s, err)
		}
		r.frameAt.Store(r.cfg.Clock().UnixMilli())
		var f dg.Event
		if json.Unmarshal(raw, &f) != nil {
			r.counts.Add("frame:unreadable")
			continue
		}
		switch f.Operation {
		case opDispatch:
			if f.Type == "READY" || f.Type == "RESUMED" {
				late.Stop()
			}
			if err := r.dispatch(ctx, s, f); err != nil {
				return ending{err: err}
			}
		case opHeartbeat:
			if s.beat() != nil {
				return r.ended(s, errors.New("a heartbeat could not be sent"))
			}
		case opHeartbeatAck:
			s.acked.Store(true)
		case opReconnect:
			return ending{err: &chat.Error{Kind: chat.Temporary, Code: "reconnect"}}
		case opInvalidSession:
			var resumable bool
			_ = json.Unmarshal(f.RawData, &resumable)
			return ending{err: &chat.Error{Kind: chat.Temporary, Code: "invalid_session"}, over: !resumable, wait: true}
		default:
			r.counts.Add("frame:op")
		}
	}
}

func (r *runner) ended(s *socket, err error) ending {
	if s.zombie.Load() {
		return ending{err: &chat.Error{Kind: chat.Temporary, Code: "zombie", Err: errZombie}}
	}
	if ce, ok := errors.AsType[*websocket.CloseError](err); ok {
		out, fatal, resumable := closed(ce.Code)
		return ending{err: out, fatal: fatal, over: !resumable}
	}
	return ending{err: &chat.Error{Kind: chat.Temporary, Code: "disconnected", Err: r.rest.clean.Error(err)}}
}
