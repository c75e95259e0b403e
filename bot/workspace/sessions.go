package workspace

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"loopx/kernel"
)

// Role is what a session may do.
type Role string

// The roles, each with the rights of the ones before it.
const (
	Stranger Role = "stranger" // sees a code to approve
	Viewer   Role = "viewer"   // sees everything
	Owner    Role = "owner"    // acts
)

func (r Role) atLeast(o Role) bool {
	rank := []Role{Stranger, Viewer, Owner}
	return slices.Index(rank, r) >= slices.Index(rank, o)
}

const (
	sessionsMost = 64
	idleFor      = 30 * 24 * time.Hour
	seenEvery    = 24 * time.Hour // how often the last use is written down
	opensMinute  = 100
)

// Pending is a session that waits for the owner proof.
type Pending struct {
	Code    string `json:"code"`
	Role    Role   `json:"role"`
	Browser string `json:"browser"`
	Since   int64  `json:"since"`
	Until   int64  `json:"until"` // the code's end
}

// session is one browser. Only hashes of its secrets are kept.
type session struct {
	ID      string `json:"id"`
	Cookie  string `json:"cookie_hash"`
	Key     string `json:"key_hash"`
	Role    Role   `json:"role"`
	Browser string `json:"browser"`
	Created int64  `json:"created"`
	Seen    int64  `json:"seen"`

	code      string
	codeUntil time.Time
}

// sessions is the table of sessions, in a 0600 file.
type sessions struct {
	path    string
	now     func() time.Time
	asOwner bool
	tickets *tickets

	mu      sync.Mutex // guards what follows
	list    []*session
	opens   []time.Time   // of strangers, within a minute
	changed chan struct{} // closed and replaced at every change of a role
}

type sessionFile struct {
	Sessions []*session `json:"sessions"`
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func byID(list []*session, id string) *session {
	for _, v := range list {
		if v.ID == id {
			return v
		}
	}
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *sessions) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed, s.list = make(chan struct{}), nil
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others: chmod 600 it, or delete it to sign every browser out", s.path)
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	var f sessionFile
	if err := kernel.DecodeStrict(b, &f); err != nil {
		return fmt.Errorf("%s is damaged; delete it to sign every browser out: %w", s.path, err)
	}
	s.list = f.Sessions
	s.prune()
	return nil
}

func (s *sessions) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write()
}

// write keeps the table. The caller holds mu.
func (s *sessions) write() error {
	b, err := json.Marshal(sessionFile{Sessions: s.list})
	if err != nil {
		return err
	}
	return writePrivate(s.path, b)
}

// prune drops idle sessions, and the oldest strangers beyond the bound, so that
// whoever can reach the port cannot push the owner out. The caller holds mu.
func (s *sessions) prune() {
	old := s.now().Add(-idleFor).UnixMilli()
	s.list = slices.DeleteFunc(s.list, func(v *session) bool { return v.Seen < old })
	for len(s.list) > sessionsMost {
		worst := slices.MinFunc(s.list, func(a, b *session) int {
			if a.Role != b.Role {
				if b.Role.atLeast(a.Role) {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.Seen, b.Seen)
		})
		s.list = slices.DeleteFunc(s.list, func(v *session) bool { return v == worst })
	}
}

// open makes a session and returns its two secrets. A good ticket makes it a
// viewer; a used or late one is as good as none.
func (s *sessions) open(ticket, browser string) (v session, cookie, key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	role := Stranger
	if s.tickets.spend(ticket) {
		role = Viewer
	}
	if s.asOwner {
		role = Owner
	}
	if role == Stranger {
		s.opens = slices.DeleteFunc(s.opens, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
		if len(s.opens) >= opensMinute {
			return session{}, "", "", kernel.Errorf(kernel.Exhausted, "too_many", "too many browsers came at once; wait a minute")
		}
		s.opens = append(s.opens, now)
	}
	cookie, key = rand.Text(), rand.Text()
	n := &session{ID: rand.Text()[:12], Cookie: hash(cookie), Key: hash(key), Role: role, Browser: browser, Created: now.UnixMilli(), Seen: now.UnixMilli()}
	s.list = append(s.list, n)
	s.prune()
	n.freshCode(now)
	return *n, cookie, key, s.write()
}

// raise makes a stranger a viewer when its browser comes with a good ticket.
func (s *sessions) raise(id, ticket string) (session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := byID(s.list, id)
	if v == nil {
		return session{}, kernel.Errorf(kernel.Denied, "no_session", "this browser's session has ended")
	}
	was := v.Role
	if ticket != "" && s.tickets.spend(ticket) && v.Role == Stranger {
		v.Role = Viewer
	}
	if s.asOwner {
		v.Role = Owner
	}
	if v.Role != was {
		v.freshCode(s.now())
		s.tell()
		return *v, s.write()
	}
	v.freshCode(s.now())
	return *v, nil
}

// check finds the session of two secrets. Both have to fit the same one.
func (s *sessions) check(cookie, key string) (session, bool) {
	if cookie == "" || key == "" {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hc, hk := hash(cookie), hash(key)
	for _, v := range s.list {
		if same(v.Cookie, hc) && same(v.Key, hk) {
			if v.Seen < s.now().Add(-idleFor).UnixMilli() {
				return session{}, false
			}
			old := s.now().UnixMilli() - v.Seen
			v.Seen += max(old, 0)
			if old > seenEvery.Milliseconds() {
				_ = s.write() // a failure costs a sign-in after a crash, at most
			}
			return *v, true
		}
	}
	return session{}, false
}

// state gives a session as it is now, with a code that is good for a while
// where it has something to gain, and what to wait on for a change.
func (s *sessions) state(id string) (session, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := byID(s.list, id)
	if v == nil {
		return session{}, s.changed, false
	}
	v.freshCode(s.now())
	return *v, s.changed, true
}

func (s *sessions) pending() []Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var out []Pending
	for _, v := range s.list {
		if v.code != "" && now.Before(v.codeUntil) {
			out = append(out, Pending{Code: v.code, Role: v.Role, Browser: v.Browser, Since: v.Created, Until: v.codeUntil.UnixMilli()})
		}
	}
	slices.SortFunc(out, func(a, b Pending) int { return cmp.Compare(b.Since, a.Since) })
	return out
}

func (s *sessions) approve(code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := plainCode(code)
	for _, v := range s.list {
		if v.code == "" || plainCode(v.code) != want || !s.now().Before(v.codeUntil) {
			continue
		}
		v.Role, v.code = Owner, ""
		s.tell()
		return s.write()
	}
	return kernel.Errorf(kernel.NotFound, "code_not_found", "no page shows the code %q now", code).Try("reload the page and use the code it shows")
}

func (s *sessions) forget() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	s.tickets.forget()
	s.tell()
	return s.write()
}

// tell wakes the streams. The caller holds mu.
func (s *sessions) tell() {
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}
