package lark

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

// Bounds of the long connection.
const (
	maxFrame   = 4 << 20           // one websocket message
	maxParts   = 256               // parts of one event
	maxJoining = 8 << 20           // bytes of all events that still lack parts
	maxPartial = 128               // such events
	defPing    = 120 * time.Second // Lark's own pause between pings
)

// link is one open connection.
type link struct {
	ws      *websocket.Conn
	service int32
	timing  Timing
	counts  *lane.Counts
	writeMu sync.Mutex
	joiner  joiner

	mu   sync.Mutex
	ping time.Duration
}

// dial opens the websocket.
func (r *rest) dial(ctx context.Context, ep larkws.Endpoint) (*link, error) {
	u, err := r.http.socketURL(ep.Url)
	if err != nil {
		return nil, err
	}
	ws, resp, err := r.http.Dialer.DialContext(ctx, u.String(), nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // gorilla keeps at most a kilobyte of it
	}
	if err != nil {
		if resp != nil {
			return nil, handshake(resp.Header)
		}
		return nil, &chat.Error{Kind: chat.Temporary, Code: "not_connected", Err: r.http.clean.Error(err)}
	}
	ws.SetReadLimit(maxFrame)
	service, _ := strconv.ParseInt(u.Query().Get(larkws.ServiceID), 10, 32)
	l := &link{ws: ws, service: int32(service), timing: r.cfg.Timing, counts: r.counts, ping: defPing, joiner: joiner{keep: r.cfg.Timing.Parts}}
	l.configure(ep.ClientConfig)
	return l, nil
}

// handshake reads why an upgrade was refused.
func handshake(h http.Header) error {
	status, code := lane.Word(h.Get(larkws.HeaderHandshakeStatus)), lane.Word(h.Get(larkws.HeaderHandshakeAuthErrCode))
	switch {
	case status == strconv.Itoa(larkws.Forbidden):
		return &chat.Error{Kind: chat.Auth, Code: "handshake_403", Fix: "Lark bars this app from the long connection: look at the app's state in the developer console"}
	case code == strconv.Itoa(larkws.ExceedConnLimit):
		return &chat.Error{Kind: chat.Auth, Code: "handshake_" + code, Fix: "this app has its 50 connections already: stop the other processes that use it"}
	}
	return &chat.Error{Kind: chat.Temporary, Code: "handshake_" + status}
}

// configure takes the pause between pings from a whole ClientConfig. A partial
// one would set it to nothing and cause a storm.
func (l *link) configure(c *larkws.ClientConfig) {
	if c == nil || c.PingInterval < 1 || c.ReconnectInterval < 1 || c.ReconnectCount == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ping = min(time.Duration(c.PingInterval)*time.Second, 10*time.Minute)
}

func (l *link) pingEvery() time.Duration {
	if l.timing.Ping > 0 {
		return l.timing.Ping
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ping
}

// write sends one frame; the connection is closed on an error, which the reader
// notices.
func (l *link) write(f *larkws.Frame) error {
	raw, err := f.Marshal()
	if err != nil {
		return err
	}
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err = l.ws.SetWriteDeadline(time.Now().Add(5 * time.Second)); err == nil {
		err = l.ws.WriteMessage(websocket.BinaryMessage, raw)
	}
	if err != nil {
		_ = l.ws.Close()
	}
	return err
}

// pings keeps the connection alive until ctx ends.
func (l *link) pings(ctx context.Context) {
	for {
		if err := l.write(larkws.NewPingFrame(l.service)); err != nil {
			return
		}
		if lane.Pause(ctx, l.pingEvery()) != nil {
			return
		}
	}
}

// read takes frames until the connection ends or says nothing for a ping and a
// pong: a half-open link is closed by that deadline (B10).
func (l *link) read(ctx context.Context, take func(larkws.Frame, []byte)) error {
	for ctx.Err() == nil {
		if err := l.ws.SetReadDeadline(time.Now().Add(l.pingEvery() + l.timing.Pong)); err != nil {
			return err
		}
		if ctx.Err() != nil { // the deadline that stops us was set in between
			return nil
		}
		typ, raw, err := l.ws.ReadMessage()
		if err != nil {
			return err
		}
		var f larkws.Frame
		if typ != websocket.BinaryMessage || f.Unmarshal(raw) != nil {
			l.counts.Add("frame:unreadable")
			continue
		}
		switch larkws.FrameType(f.Method) {
		case larkws.FrameTypeControl:
			l.control(f)
		case larkws.FrameTypeData:
			payload, ok, why := l.joiner.join(f, time.Now())
			if why != "" {
				l.counts.Add("frame:" + why)
			}
			if ok {
				take(f, payload)
			}
		default:
			l.counts.Add("frame:unknown_method")
		}
	}
	return nil
}

func (l *link) control(f larkws.Frame) {
	if larkws.Headers(f.Headers).GetString(larkws.HeaderType) != string(larkws.MessageTypePong) || len(f.Payload) == 0 {
		return
	}
	var c larkws.ClientConfig
	if json.Unmarshal(f.Payload, &c) != nil {
		l.counts.Add("frame:odd_pong")
		return
	}
	l.configure(&c)
}

// joiner puts the parts of events together. Only the reader uses it.
type joiner struct {
	keep    time.Duration
	waiting map[string]*partial
	bytes   int
}

type partial struct {
	parts [][]byte
	have  int
	bytes int
	until time.Time
}

// join returns the whole payload once it is there. why names what was refused.
// Both numbers come from the wire and are bounded before anything is made of
// them.
func (j *joiner) join(f larkws.Frame, now time.Time) (payload []byte, ok bool, why string) {
	h := larkws.Headers(f.Headers)
	sum, seq, id := h.GetInt(larkws.HeaderSum), h.GetInt(larkws.HeaderSeq), h.GetString(larkws.HeaderMessageID)
	if sum <= 1 {
		return f.Payload, true, ""
	}
	if sum > maxParts || seq < 0 || seq >= sum || id == "" || len(id) > 200 {
		return nil, false, "bad_part"
	}
	j.expire(now)
	p := j.waiting[id]
	switch {
	case p == nil && len(j.waiting) >= maxPartial, j.bytes+len(f.Payload) > maxJoining:
		return nil, false, "too_many_parts"
	case p == nil:
		p = &partial{parts: make([][]byte, sum)}
		if j.waiting == nil {
			j.waiting = map[string]*partial{}
		}
		j.waiting[id] = p
	case len(p.parts) != sum:
		return nil, false, "bad_part"
	}
	p.until = now.Add(j.keep)
	if p.parts[seq] != nil { // the same part again
		return nil, false, ""
	}
	p.parts[seq] = append([]byte{}, f.Payload...)
	p.have++
	p.bytes += len(f.Payload)
	j.bytes += len(f.Payload)
	if p.have < sum {
		return nil, false, ""
	}
	j.drop(id)
	return slices.Concat(p.parts...), true, ""
}

func (j *joiner) drop(id string) {
	j.bytes -= j.waiting[id].bytes
	delete(j.waiting, id)
}

func (j *joiner) expire(now time.Time) {
	for id, p := range j.waiting {
		if now.After(p.until) {
			j.drop(id)
		}
	}
}

// answerFrame is the frame that came, with our answer in it: the same headers,
// how long it took, and the answer as a response whose data is base64.
func answerFrame(f larkws.Frame, code int, data []byte, took time.Duration) (*larkws.Frame, error) {
	resp := larkws.NewResponseByCode(code)
	resp.Data = data
	payload, err := json.Marshal(resp)
	if err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	out := f
	h := larkws.Headers(slices.Clone(f.Headers))
	h.Add(larkws.HeaderBizRt, strconv.FormatInt(took.Milliseconds(), 10))
	out.Headers, out.Payload = h, payload
	return &out, nil
}
