// Package view holds the read models people and agents see: status, groups,
// goal page, gates, history. They are pure functions of a kernel snapshot, with
// JSON tags that the CLI, the local API and the page share.
package view

import (
	"context"
	"encoding/json"

	"loopx/kernel"
)

// Service is the one way into a workspace, in this process or over the socket.
// All errors are *kernel.Error.
type Service interface {
	// Do runs a command and returns its receipt once it is durable.
	Do(ctx context.Context, cmd kernel.Command, opt kernel.Options) (kernel.Receipt, error)
	// Query answers a read model as JSON; Ask decodes it.
	Query(ctx context.Context, q Query) (json.RawMessage, error)
}

// Query names a read model and its arguments. The queries there are stand in
// NewQuery.
type Query interface {
	Name() string
}

// inside is a query of this room.
type inside interface {
	Query
	run(r *kernel.Reader) (any, error)
}

// Outside is a query of a room that keeps rows beside the kernel's.
type Outside interface {
	Query
	Answer(r *kernel.Reader) (any, error)
}

// NewQuery returns an empty query to decode into, or nil for an unknown name.
func NewQuery(name string) Query {
	for _, q := range []inside{
		&ShouldRun{}, &Status{}, &Goals{}, &GoalPage{}, &Todos{}, &TodoOne{}, &Gates{}, &GateOne{},
		&History{}, &Log{}, &Sessions{}, &Links{}, &QuotaOf{}, &Head{}, &Settings{}, &Grants{}, &TurnOne{}, &People{}, &Roles{}, &Bindings{}, &Find{}, &Export{}, &Usage{}, &Plan{}, &Review{},
		&Taken{}, &Board{},
		&Handoff{}, &Value{},
	} {
		if q.Name() == name {
			return q
		}
	}
	return nil
}

// DecodeQuery reads a query strictly.
func DecodeQuery(name string, data []byte) (Query, error) {
	q := NewQuery(name)
	if q == nil {
		return nil, kernel.Errorf(kernel.Invalid, "unknown_query", "this version knows no view of that name").Try("loopx version")
	}
	return q, kernel.DecodeStrict(data, q)
}

// Ask runs a query and decodes its answer.
func Ask[T any](ctx context.Context, s Service, q Query) (T, error) {
	var out T
	raw, err := s.Query(ctx, q)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
	}
	return out, nil
}

// Local is the service inside the process that holds the store.
type Local struct{ K *kernel.Kernel }

// Do implements Service.
func (l Local) Do(ctx context.Context, cmd kernel.Command, opt kernel.Options) (kernel.Receipt, error) {
	return l.K.Do(ctx, cmd, opt)
}

// Query implements Service.
func (l Local) Query(ctx context.Context, q Query) (json.RawMessage, error) {
	var raw json.RawMessage
	err := l.K.Read(ctx, func(r *kernel.Reader) error {
		v, err := Run(r, q)
		if err != nil {
			return err
		}
		raw, err = kernel.Marshal(v)
		return err
	})
	return raw, err
}

// Run answers a query on a snapshot the caller holds.
func Run(r *kernel.Reader, q Query) (any, error) {
	var v any
	var err error
	switch q := q.(type) {
	case inside:
		v, err = q.run(r)
	case Outside:
		v, err = q.Answer(r)
	default:
		err = kernel.Errorf(kernel.Invalid, "unknown_query", "this version knows no view of that name").Try("loopx version")
	}
	if err == nil {
		err = r.Err()
	}
	return v, err
}

// ShouldRun is the decision for an agent, without opening a turn.
type ShouldRun struct {
	kernel.Caller
}

// Name implements Query.
func (*ShouldRun) Name() string { return "should-run" }

func (q *ShouldRun) run(r *kernel.Reader) (any, error) { return r.Decide(q.Caller) }

// Head is the journal's head, for backups and for `doctor --journal-head`.
type Head struct{}

// Name implements Query.
func (*Head) Name() string { return "head" }

func (*Head) run(r *kernel.Reader) (any, error) { return r.Head(), nil }

// QuotaOf is a goal's allowance as an agent sees it.
type QuotaOf struct {
	Goal  string `json:"goal"`
	Agent string `json:"agent,omitempty"`
}

// QuotaView is the answer to QuotaOf.
type QuotaView struct {
	GoalID string `json:"goal_id"`
	kernel.Quota
	FreeSlots int `json:"free_slots"`
}

// Name implements Query.
func (*QuotaOf) Name() string { return "quota" }

func (q *QuotaOf) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	n := r.Quota(g, q.Agent)
	return QuotaView{GoalID: g.ID, Quota: n, FreeSlots: n.Free()}, nil
}

func goalOf(r *kernel.Reader, id string) (*kernel.Goal, error) {
	if g := r.Goal(id); g != nil {
		return g, nil
	}
	if id == "" {
		return nil, kernel.Errorf(kernel.Invalid, "missing_goal_id", "no goal was named").Try("pass --goal-id, or set LOOPX_GOAL")
	}
	return nil, kernel.Errorf(kernel.NotFound, "goal_not_found", "there is no goal %q in this workspace", id).Try("loopx goal list")
}

func bound(limit, def, most int) int {
	if limit <= 0 {
		return def
	}
	return min(limit, most)
}
