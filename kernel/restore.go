package kernel

import (
	"strings"

	"loopx/kernel/store"
)

// restoreMost bounds the rows of a kind that one RestoreState changes; it is run
// again until nothing is left. restoreScan bounds those it looks at.
const (
	restoreMost = 200
	restoreScan = 10_000
)

// RestoreState takes out of a copy of the state what the world has moved on
// from: leases and reserved slots end, because their holders may have gone on
// elsewhere; standing approvals end and linked chat accounts wait for the owner's
// confirmation again, because one of them may have been revoked since.
//
// It is run on a copy before the copy becomes the state, so it has no name on
// the wire and stands in no list.
type RestoreState struct {
	// From is the journal head of the copy as it was.
	From Head `json:"from"`
}

// Name implements Command.
func (*RestoreState) Name() string { return "state.restore" }

func (c *RestoreState) decide(r *reader, e *env) (*decided, error) {
	if err := e.owner("restoring a backup"); err != nil {
		return nil, err
	}
	var events []Event
	leases, slots, links, grants := 0, 0, 0, 0
	for _, v := range r.heldClaims(restoreMost) {
		// The next generation, so that whoever held the old one is fenced.
		n := Claim{Goal: v.Goal, Todo: v.Todo, Generation: v.Generation + 1}
		events = append(events, Event{Type: ClaimReleased, Goal: n.Goal, Subject: n.Todo, Claim: &n})
		leases++
	}
	for _, v := range rows[Reservation](r, store.Under(restoreMost, tblReserve)) {
		events = append(events, releaseSlot(v))
		slots++
	}
	for _, v := range rows[Grant](r, store.Under(restoreScan, tblGrant)) {
		if v.Live(e.now) && grants < restoreMost {
			n := *v
			n.Revoked = e.now
			events = append(events, Event{Type: GrantRevoked, Goal: n.Goal, Subject: n.ID, Grant: &n})
			grants++
		}
	}
	for _, p := range rows[Principal](r, store.Under(restoreScan, tblPrincipal)) {
		if p.Status == Linked && links < restoreMost {
			n := *p
			n.Status, n.Since = LinkPending, e.now
			events = append(events, Event{Type: PrincipalChanged, Subject: n.Person, Principal: &n})
			links++
		}
	}
	roles := 0
	for _, v := range rows[Role](r, store.Under(restoreScan, tblRole)) {
		if v.State != RoleSuspended && roles < restoreMost {
			n := *v
			n.State, n.Revision, n.Updated = RoleSuspended, v.Revision+1, e.now
			events = append(events, Event{Type: RoleSuspendedEvent, Goal: n.Goal, Subject: n.Person, Role: &n})
			roles++
		}
	}
	return &decided{changed: len(events) > 0, events: events, result: map[string]any{
		"leases_ended": leases, "slots_freed": slots, "links_suspended": links, "grants_revoked": grants, "roles_suspended": roles,
	}}, nil
}

// heldClaims are the claims with a holder, of any goal, those that have run out
// included.
func (r *Reader) heldClaims(limit int) []*Claim {
	var keys [][]string
	r.scan(store.Under(limit, tblClaimEnd), func(k, _ []byte) bool {
		keys = append(keys, strings.Split(string(k), "\x00"))
		return true
	})
	out := make([]*Claim, 0, len(keys))
	for _, k := range keys {
		if len(k) != 4 {
			continue
		}
		if v := r.Claim(k[1], k[3]); v != nil && v.Agent != "" {
			out = append(out, v)
		}
	}
	return out
}

// Rebuilt says whether the row under a key follows from the journal, so that
// Replay writes it. The time of the last commit, refusals and a snapshot do not, nor do the
// rows of other rooms: their tables start with an i, as none of the kernel's does
// but the index.
func Rebuilt(key []byte) bool {
	table, _, _ := strings.Cut(string(key), "\x00")
	return table != tblClock && table != tblAudit && table != tblSnap && (table == tblIndex || !strings.HasPrefix(table, "i"))
}
