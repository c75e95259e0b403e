package workspace

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	codeFor     = 10 * time.Minute
	ticketFor   = 2 * time.Minute
	ticketsMost = 8
	// codeAlphabet has no letters or digits that are read for one another.
	codeAlphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
)

// freshCode gives a session that is no owner a code that is good for a while.
func (v *session) freshCode(now time.Time) {
	if v.Role == Owner {
		v.code = ""
		return
	}
	if v.code != "" && now.Add(time.Minute).Before(v.codeUntil) {
		return
	}
	v.code, v.codeUntil = code(), now.Add(codeFor)
}

func code() string {
	var b strings.Builder
	buf := make([]byte, 1)
	for b.Len() < 7 {
		if b.Len() == 3 {
			b.WriteByte('-')
		}
		if _, err := rand.Read(buf); err != nil {
			continue // never happens: crypto/rand ends the process instead
		}
		if int(buf[0]) < len(codeAlphabet)*(256/len(codeAlphabet)) { // no letter is more likely
			b.WriteByte(codeAlphabet[int(buf[0])%len(codeAlphabet)])
		}
	}
	return b.String()
}

// plainCode forgives case, blanks and the dash.
func plainCode(code string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(codeAlphabet, r) {
			return r
		}
		return -1
	}, strings.ToUpper(code))
}

// tickets are the one-time secrets of redirect files; only hashes are held.
type tickets struct {
	now func() time.Time

	mu   sync.Mutex
	ends map[string]time.Time
}

// issue makes a ticket. Few are out at a time: a new one takes the place of all
// before it when there are too many.
func (t *tickets) issue() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for h, end := range t.ends {
		if now.After(end) || len(t.ends) >= ticketsMost {
			delete(t.ends, h)
		}
	}
	secret := rand.Text()
	t.ends[hash(secret)] = now.Add(ticketFor)
	return secret
}

// spend uses a ticket up and reports whether it was good.
func (t *tickets) spend(secret string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := hash(secret)
	end, ok := t.ends[h]
	delete(t.ends, h)
	return ok && !t.now().After(end)
}

func (t *tickets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.ends)
}

// writesMinute is how much a session may write in a minute.
const writesMinute = 30

// pace counts the writes of each session.
type pace struct {
	now func() time.Time

	mu sync.Mutex
	by map[string][]time.Time
}

// ok counts one write and reports whether it is within bounds.
func (p *pace) ok(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for who, list := range p.by {
		if list = slices.DeleteFunc(list, func(t time.Time) bool { return now.Sub(t) >= time.Minute }); len(list) == 0 {
			delete(p.by, who)
		} else {
			p.by[who] = list
		}
	}
	if len(p.by[id]) >= writesMinute {
		return false
	}
	p.by[id] = append(p.by[id], now)
	return true
}
