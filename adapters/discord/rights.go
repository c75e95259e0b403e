package discord

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"

	"loopx/adapters/chat"
)

// right is one of Discord's permission bits (docs, "Bitwise Permission Flags").
type right uint64

const (
	administrator   right = 1 << 3
	addReactions    right = 1 << 6
	viewChannel     right = 1 << 10
	sendMessages    right = 1 << 11
	readHistory     right = 1 << 16
	sendInThreads   right = 1 << 38
	neededInChannel       = viewChannel | sendMessages | readHistory | sendInThreads
)

// rightNames are the switches of a channel's settings, in their order there.
func rightNames(r right) []string {
	var out []string
	for _, x := range []struct {
		bit  right
		name string
	}{
		{viewChannel, "View Channel"},
		{sendMessages, "Send Messages"},
		{sendInThreads, "Send Messages in Threads"},
		{readHistory, "Read Message History"},
		{addReactions, "Add Reactions"},
	} {
		if r&x.bit != 0 {
			out = append(out, x.name)
		}
	}
	return out
}

// grantFix says which switches mend it.
func grantFix(r right) string {
	return "switch on " + strings.Join(rightNames(r), ", ") + " for the bot there (channel settings, Permissions)"
}

// UnmarshalJSON reads a permission set, which Discord writes as a string.
func (r *right) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return errors.New("a permission set is no number")
	}
	*r = right(n)
	return nil
}

// role and overwrite are what rights are made of (docs, "Permission Overwrites").
type role struct {
	ID    string `json:"id"`
	Right right  `json:"permissions"`
}

type overwrite struct {
	ID    string `json:"id"`
	Allow right  `json:"allow"`
	Deny  right  `json:"deny"`
}

type ruled struct {
	ID         string      `json:"id"`
	Guild      string      `json:"guild_id"`
	Parent     string      `json:"parent_id"`
	Overwrites []overwrite `json:"permission_overwrites"`
}

// guild is what one server says of our rights.
type guild struct {
	roles    map[string]right
	mine     []string // our roles, without the one everybody has
	channels map[string]ruled
}

// rights knows what the bot may do where. A right that is missing is not always
// refused: a history that may not be read is simply empty, and a message that
// was looked for there in vain would be sent twice. What is not known, private
// conversations among it, counts as allowed: the platform will say no itself.
type rights struct {
	places *places

	mu     sync.Mutex // guards all that follows
	me     string     // our id as a user
	guilds map[string]*guild
}

func newRights(p *places) *rights { return &rights{places: p, guilds: map[string]*guild{}} }

// see learns from a dispatch; it reports whether anything may be different now.
// What cannot be read changes nothing.
func (r *rights) see(typ string, raw json.RawMessage, me string) bool {
	var d struct {
		ruled
		Unavailable bool    `json:"unavailable"`
		Roles       []role  `json:"roles"`
		Role        role    `json:"role"`
		RoleID      string  `json:"role_id"`
		Channels    []ruled `json:"channels"`
		Members     []struct {
			User  person   `json:"user"`
			Roles []string `json:"roles"`
		} `json:"members"`
	}
	switch typ {
	case "GUILD_MEMBER_UPDATE":
		return r.member(raw, me)
	case "GUILD_CREATE", "GUILD_DELETE", "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE", "CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_DELETE":
		if json.Unmarshal(raw, &d) != nil {
			return false
		}
	default:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.me = me
	switch typ {
	case "GUILD_DELETE":
		if !d.Unavailable {
			delete(r.guilds, d.ID)
		}
		return true
	case "GUILD_CREATE":
		g := &guild{roles: map[string]right{}, channels: map[string]ruled{}}
		for _, x := range d.Roles {
			g.roles[x.ID] = x.Right
		}
		for _, x := range d.Channels[:min(len(d.Channels), maxPlaces)] {
			g.channels[x.ID] = x
		}
		known := false
		for _, m := range d.Members {
			if m.User.ID == me {
				g.mine, known = m.Roles, true
			}
		}
		if known && !d.Unavailable {
			r.guilds[d.ID] = g
		}
		return known
	}
	g := r.guilds[d.Guild]
	if g == nil {
		return false
	}
	switch typ {
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		g.roles[d.Role.ID] = d.Role.Right
	case "GUILD_ROLE_DELETE":
		delete(g.roles, d.RoleID)
	case "CHANNEL_DELETE":
		delete(g.channels, d.ID)
	default:
		g.channels[d.ID] = d.ruled
	}
	return true
}

// member is a change of somebody's roles; ours is sent without any intent (docs,
// "Guild Member Update").
func (r *rights) member(raw json.RawMessage, me string) bool {
	var m struct {
		Guild string   `json:"guild_id"`
		User  person   `json:"user"`
		Roles []string `json:"roles"`
	}
	if json.Unmarshal(raw, &m) != nil || m.User.ID != me {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guilds[m.Guild]
	if g != nil {
		g.mine = m.Roles
	}
	return g != nil
}

// missing is what of need the bot has not got in a channel, 0 for nothing and
// for a channel that nothing is known of. Threads have the rights of their channel.
func (r *rights) missing(channel string, need right) right {
	if c, ok := r.places.get(channel); ok && c.thread() && c.Parent != "" {
		channel = c.Parent
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, g := range r.guilds {
		if c, ok := g.channels[channel]; ok {
			return need &^ g.in(c, id, r.me)
		}
	}
	return 0
}

// in computes the rights in a channel (docs, "Permission Hierarchy"): what the
// roles hold, then the channel's exceptions for everybody, for the roles
// together, and for the member.
func (g *guild) in(c ruled, everyone, me string) right {
	have := g.roles[everyone]
	for _, id := range g.mine {
		have |= g.roles[id]
	}
	if have&administrator != 0 {
		return ^right(0)
	}
	var allow, deny [3]right
	mine := map[string]bool{}
	for _, id := range g.mine {
		mine[id] = true
	}
	for _, o := range c.Overwrites {
		at := -1
		switch {
		case o.ID == everyone:
			at = 0
		case mine[o.ID]:
			at = 1
		case o.ID == me:
			at = 2
		}
		if at >= 0 {
			allow[at] |= o.Allow
			deny[at] |= o.Deny
		}
	}
	for i := range allow {
		have = have&^deny[i] | allow[i]
	}
	if have&viewChannel == 0 {
		return 0 // who cannot see it can do nothing in it
	}
	return have
}

// blind is the error of a history that only looks empty.
func (r *rights) blind(target string) error {
	if miss := r.missing(target, viewChannel|readHistory); miss != 0 {
		return &chat.Error{Kind: chat.Gone, Code: "history_closed", Fix: grantFix(miss), Err: errors.New("the messages of the channel may not be read")}
	}
	return nil
}

// checkRights says in the health which of the channels that matter here is
// closed to the bot, and what opens it.
func (r *runner) checkRights() {
	if r.cfg.Conversations == nil || r.health.State() != chat.Ready {
		return
	}
	var miss right
	closed := 0
	for _, c := range r.cfg.Conversations() {
		if m := r.rights.missing(c, neededInChannel); m != 0 {
			miss |= m
			closed++
		}
	}
	if closed == 0 {
		r.health.Set(chat.Ready, "", "")
		return
	}
	r.counts.Add("rights:missing")
	r.health.Set(chat.Ready, "in "+strconv.Itoa(closed)+" of the channels it serves the bot lacks rights", grantFix(miss))
}
