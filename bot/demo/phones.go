package demo

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed phones
var phoneFiles embed.FS

// screen serves the three phones on loopback, under an address that nobody can
// guess. It shows what the simulators hold and acts as the person who holds the
// phone; it knows nothing of the daemon.
type screen struct {
	phones []phone
	ln     net.Listener
	server *http.Server
	key    string
	wg     sync.WaitGroup
	stop   context.CancelFunc

	mu      sync.Mutex
	version int
	more    chan struct{} // closed at the next change
}

func newScreen(ctx context.Context, phones []phone) (*screen, error) {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &screen{phones: phones, ln: ln, key: hex.EncodeToString(b), stop: stop, more: make(chan struct{})}
	files, err := fs.Sub(phoneFiles, "phones")
	if err != nil {
		stop()
		return nil, errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	base := "/" + s.key + "/"
	mux.HandleFunc("GET "+base+"{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "phones.html") })
	for _, name := range []string{"phones.css", "phones.js"} {
		mux.HandleFunc("GET "+base+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
	mux.HandleFunc("GET "+base+"state", s.state)
	mux.HandleFunc("POST "+base+"act", s.act)
	s.server = &http.Server{
		Handler: s.guard(mux), ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.wg.Go(func() { _ = s.server.Serve(ln) })
	for _, p := range phones {
		s.wg.Go(func() { s.follow(ctx, p) })
	}
	return s, nil
}

// guard refuses what does not come from the page itself.
func (s *screen) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := "http://" + s.ln.Addr().String()
		if origin := r.Header.Get("Origin"); r.Host != s.ln.Addr().String() || origin != "" && origin != own {
			http.Error(w, "not from here", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// follow counts the changes of one simulator.
func (s *screen) follow(ctx context.Context, p phone) {
	for {
		change := p.changed()
		s.mu.Lock()
		s.version++
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}

// state answers what the phones show, at once when the page has not seen it yet,
// else at the next change.
func (s *screen) state(w http.ResponseWriter, r *http.Request) {
	seen, err := strconv.Atoi(r.URL.Query().Get("seen"))
	if err != nil {
		seen = -1
	}
	wait := time.NewTimer(20 * time.Second)
	defer wait.Stop()
	s.mu.Lock()
	version, more := s.version, s.more
	s.mu.Unlock()
	if version == seen {
		select {
		case <-more:
		case <-wait.C:
		case <-r.Context().Done():
			return
		}
		s.mu.Lock()
		version = s.version
		s.mu.Unlock()
	}
	out := struct {
		Version int    `json:"version"`
		Phones  []pane `json:"phones"`
	}{Version: version}
	for _, p := range s.phones {
		out.Phones = append(out.Phones, p.look())
	}
	answer200(w, out)
}

func answer200(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) // a page that has gone asks again
}

// act is one thing Wei does.
func (s *screen) act(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Platform string            `json:"platform"`
		Act      string            `json:"act"`
		Message  string            `json:"message"`
		Button   string            `json:"button"`
		Text     string            `json:"text"`
		Values   map[string]string `json:"values"`
	}
	err := errors.New("a JSON object is wanted")
	if r.Header.Get("Content-Type") == "application/json" {
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
		d.DisallowUnknownFields()
		err = d.Decode(&in)
	}
	if err == nil {
		err = fmt.Errorf("there is no phone %q", in.Platform)
		for _, p := range s.phones {
			if p.config.Platform != in.Platform {
				continue
			}
			switch in.Act {
			case "press":
				err = p.press(in.Message, in.Button)
			case "submit":
				err = p.submit(in.Message, in.Button, in.Values)
			case "say":
				err = nil
				p.say(in.Text)
			default:
				err = errors.New("a phone can press, submit and say")
			}
		}
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
		return
	}
	answer200(w, map[string]bool{"ok": true})
}

// address is where the phones are.
func (s *screen) address() string { return "http://" + s.ln.Addr().String() + "/" + s.key + "/" }

// openFile writes a private file that leads to the phones.
func (s *screen) openFile(dir string) (string, error) {
	path := filepath.Join(dir, "phones-open.html")
	page := strings.ReplaceAll(`<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=ADDRESS">`, "ADDRESS", s.address())
	return path, os.WriteFile(path, []byte(page), 0o600)
}

func (s *screen) close() {
	s.stop()
	_ = s.server.Close()
	s.wg.Wait()
}
