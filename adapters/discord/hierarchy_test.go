package discord

import "testing"

// The order of Discord's permission hierarchy: roles, then the exceptions of the
// channel for everybody, for roles together, for the member.
func TestPermissionHierarchy(t *testing.T) {
	const (
		everyone, bots, quiet, me = "1", "2", "3", "9"
		all                       = neededInChannel
	)
	deny := func(id string, r right) overwrite { return overwrite{ID: id, Deny: r} }
	allow := func(id string, r right) overwrite { return overwrite{ID: id, Allow: r} }
	for name, tc := range map[string]struct {
		roles map[string]right
		over  []overwrite
		lacks right
	}{
		"the roles together":               {map[string]right{everyone: viewChannel | readHistory, bots: sendMessages | sendInThreads}, nil, 0},
		"no role holds it":                 {map[string]right{everyone: viewChannel | readHistory, bots: sendMessages}, nil, sendInThreads},
		"a role of others is none of ours": {map[string]right{everyone: all &^ readHistory, "7": readHistory}, nil, readHistory},
		"everybody denied":                 {map[string]right{everyone: all}, []overwrite{deny(everyone, readHistory)}, readHistory},
		"denied to all, allowed to a role": {map[string]right{everyone: all}, []overwrite{allow(bots, readHistory), deny(everyone, readHistory)}, 0},
		"one role denies, another allows":  {map[string]right{everyone: all}, []overwrite{allow(bots, readHistory), deny(quiet, readHistory)}, 0},
		"the member last":                  {map[string]right{everyone: all}, []overwrite{deny(me, readHistory), allow(bots, readHistory)}, readHistory},
		"an exception about another":       {map[string]right{everyone: all}, []overwrite{deny("8", all)}, 0},
		"who cannot see it":                {map[string]right{everyone: all}, []overwrite{deny(bots, viewChannel)}, all},
		"an administrator":                 {map[string]right{bots: administrator}, []overwrite{deny(everyone, all), deny(me, all)}, 0},
	} {
		g := &guild{roles: tc.roles, mine: []string{bots, quiet}}
		if got := all &^ g.in(ruled{Overwrites: tc.over}, everyone, me); got != tc.lacks {
			t.Errorf("%s: lacks %v, want %v", name, rightNames(got), rightNames(tc.lacks))
		}
	}
}

// What cannot be read, or is about another, changes nothing; nothing known means
// nothing is said to be missing.
func TestRightsOfTheUnknown(t *testing.T) {
	r := newRights(newPlaces(nil, 0))
	for _, raw := range []string{`{`, `[]`, `{"id":7}`, `{"guild_id":"4","user":{"id":"8"},"roles":[]}`} {
		for _, typ := range []string{"GUILD_CREATE", "GUILD_ROLE_UPDATE", "CHANNEL_UPDATE", "GUILD_MEMBER_UPDATE", "MESSAGE_CREATE"} {
			if r.see(typ, []byte(raw), "9") {
				t.Errorf("%s %s was taken", typ, raw)
			}
		}
	}
	if m := r.missing("5", neededInChannel); m != 0 {
		t.Errorf("missing %v where nothing is known", rightNames(m))
	}
	see := func(typ, raw string) {
		t.Helper()
		if !r.see(typ, []byte(raw), "9") {
			t.Errorf("%s %s was not taken", typ, raw)
		}
	}
	see("GUILD_CREATE", `{"id":"4","roles":[{"id":"4","permissions":"1024"},{"id":"2","permissions":"274877910016"}],"channels":[{"id":"5"}],"members":[{"user":{"id":"9"},"roles":["2"]}]}`)
	if m := r.missing("5", neededInChannel); m != readHistory {
		t.Errorf("missing %v", rightNames(m))
	}
	see("GUILD_MEMBER_UPDATE", `{"guild_id":"4","user":{"id":"9"},"roles":[]}`)
	if m := r.missing("5", viewChannel|sendMessages); m != sendMessages {
		t.Errorf("missing %v without the role", rightNames(m))
	}
	see("GUILD_ROLE_CREATE", `{"guild_id":"4","role":{"id":"6","permissions":"2048"}}`)
	see("GUILD_MEMBER_UPDATE", `{"guild_id":"4","user":{"id":"9"},"roles":["6"]}`)
	if m := r.missing("5", viewChannel|sendMessages); m != 0 {
		t.Errorf("missing %v with a new role", rightNames(m))
	}
	see("GUILD_ROLE_DELETE", `{"guild_id":"4","role_id":"6"}`)
	see("CHANNEL_DELETE", `{"guild_id":"4","id":"5"}`)
	if m := r.missing("5", neededInChannel); m != 0 {
		t.Errorf("missing %v in a channel that is gone", rightNames(m))
	}
	see("GUILD_DELETE", `{"id":"4"}`)
}
