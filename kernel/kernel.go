package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"loopx/kernel/store"
)

// Kernel runs commands against a store. It keeps no state of its own; any
// number may share a store, and all methods may be called at the same time.
type Kernel struct {
	st        store.Store
	clock     Clock
	companion Companion
}

// Open checks the layout of the store, creates it in an empty one, and refuses
// a newer one.
func Open(ctx context.Context, st store.Store, clock Clock) (*Kernel, error) {
	k := &Kernel{st: st, clock: clock}
	var version []byte
	err := st.View(ctx, func(tx store.ReadTx) error {
		v, err := tx.Get(store.Key(tblSchema))
		version = append([]byte(nil), v...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(version) == 0 {
		if err := initSchema(ctx, st); err != nil && !errors.Is(err, store.ErrReadOnly) {
			return nil, err
		}
		return k, nil
	}
	n, err := strconv.Atoi(string(version))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the schema row reads %q", store.ErrCorrupt, version)
	case n > Schema:
		return nil, newerSchema(n)
	case n < Schema:
		return nil, Errorf(Unavailable, "migration_needed", "the state has the older layout %d", n).Try("loopx migrate")
	}
	return k, nil
}

func initSchema(ctx context.Context, st store.Store) error {
	return st.Update(ctx, func(tx store.Tx) error {
		if v, err := tx.Get(store.Key(tblSchema)); err != nil || v != nil {
			return err
		}
		return tx.Put(store.Key(tblSchema), []byte(strconv.Itoa(Schema)))
	})
}

// Store is the store underneath, for rooms that keep rows beside the kernel's.
func (k *Kernel) Store() store.Store { return k.st }

// errPreview rolls a preview back.
var errPreview = errors.New("kernel: preview")

// Do runs one command and returns its receipt once it is durable. Every error
// is an *Error; except for class unknown it means that nothing was written.
func (k *Kernel) Do(ctx context.Context, cmd Command, opt Options) (Receipt, error) {
	var rec Receipt
	err := k.st.Update(ctx, func(tx store.Tx) error {
		var err error
		rec, err = k.DoTx(tx, cmd, opt)
		if err == nil && opt.Preview {
			return errPreview
		}
		if err == nil {
			err = k.after(tx, cmd, &rec)
		}
		return err
	})
	if errors.Is(err, errPreview) {
		return rec, nil
	}
	if err != nil {
		e := AsError(err)
		if e.Class == Denied {
			k.audit(ctx, cmd, opt, e)
		}
		return Receipt{}, e
	}
	return rec, nil
}

// audit notes a refused act without its content. A full disk must not turn a
// refusal into something else, so a failure here is dropped.
func (k *Kernel) audit(ctx context.Context, cmd Command, opt Options, e *Error) {
	_ = k.st.Update(ctx, func(tx store.Tx) error {
		var last []byte
		if err := tx.Scan(store.Under(1, tblAudit).Last(), func(key, _ []byte) bool { last = append(last, key...); return true }); err != nil {
			return err
		}
		n := uint64(0)
		if last != nil {
			n, _ = strconv.ParseUint(store.LastPart(last), 16, 64)
		}
		row, err := json.Marshal(Denial{At: tx.Now(), Command: cmd.Name(), Code: e.Code, By: opt.By})
		if err != nil {
			return err
		}
		return tx.Put(store.Key(tblAudit, store.U64(n+1)), row)
	})
}

// Denial is one audited refusal.
type Denial struct {
	At      int64  `json:"at"`
	Command string `json:"command"`
	Code    string `json:"code"`
	By      Actor  `json:"by"`
}

// Denials lists the newest audited refusals, newest first.
func (r *Reader) Denials(limit int) []*Denial {
	return rows[Denial](r, store.Under(limit, tblAudit).Last())
}

// DoTx is Do inside a transaction of the caller, who must roll back on an error
// and after a preview.
func (k *Kernel) DoTx(tx store.Tx, cmd Command, opt Options) (_ Receipt, err error) {
	if c, ok := cmd.(*CommitTurn); ok {
		return k.commitTurn(tx, c, opt)
	}
	if c, ok := cmd.(OutsideCommand); ok {
		return c.Run(k, tx, opt)
	}
	if c, ok := cmd.(*StartGoal); ok {
		return k.startGoal(tx, c, opt)
	}
	t, now, stepped, err := k.begin(tx)
	if err != nil {
		return Receipt{}, err
	}
	defer t.guard(&err)
	t.seen = map[string]any{}
	key, payload, err := keyOf(cmd, opt)
	if err != nil {
		return Receipt{}, err
	}
	if key != "" && !opt.Preview {
		old := get[keyRow](&t.reader, tblReceipt, key)
		switch {
		case t.err != nil:
			return Receipt{}, t.err
		case old != nil && old.Payload != payload:
			return Receipt{}, Errorf(Conflict, "key_reused", "the idempotency key was used for another request").Try("use a new --idempotency-key, or none")
		case old != nil && old.Receipt != nil:
			first := *old.Receipt
			first.Replay = true
			return first, nil
		case old != nil:
			first := t.Record(old.Seq)
			if first == nil {
				t.fail(fmt.Errorf("%w: the receipt of record %d is gone", store.ErrCorrupt, old.Seq))
				return Receipt{}, t.err
			}
			first.Receipt.Replay = true
			return first.Receipt, nil
		}
	}
	if k.companion != nil {
		if cmd, err = k.companion.Before(&t.reader, cmd); err != nil {
			return Receipt{}, err
		}
	}
	plan := ""
	if opt.Preview || opt.Plan != "" {
		d, err := t.decide(cmd, &env{now: t.now, steady: t.steady, id: placeholderIDs(), by: opt.By})
		if err != nil {
			return Receipt{}, err
		}
		plan = planRev(cmd, d.events)
		if opt.Plan != "" && opt.Plan != plan {
			return Receipt{}, Errorf(Stale, "plan_stale", "what the command would do has changed since it was shown").Try("preview it again")
		}
	}
	d, err := t.decide(cmd, &env{now: t.now, steady: t.steady, id: randomIDs(), by: opt.By})
	if err != nil {
		return Receipt{}, err
	}
	if stepped != 0 {
		d.events = append([]Event{{Type: ClockStepped, Subject: strconv.FormatInt(stepped, 10)}}, d.events...)
	}
	head := t.Head()
	rec := &Record{
		Seq: head.Seq + 1, Prev: head.Hash, At: t.now, Steady: t.steady,
		Command: cmd.Name(), Key: key, Payload: payload, By: opt.By, Events: d.events,
	}
	result, err := Marshal(d.result)
	t.fail(err)
	rec.Receipt = Receipt{ID: "r" + strconv.FormatUint(rec.Seq, 10), Command: rec.Command, Seq: rec.Seq, At: rec.At, Changed: d.changed, Result: result}
	if opt.Preview {
		return t.preview(rec, plan), t.err
	}
	if len(d.events) == 0 && key == "" {
		// Found as wanted, and nobody will ask again by key: nothing to keep.
		rec.Receipt.ID, rec.Receipt.Seq = "", 0
		return rec.Receipt, t.err
	}
	t.commit(rec, nil)
	t.putRaw(now.text(), store.Key(tblClock))
	return rec.Receipt, t.err
}

// begin opens the tables of a transaction at its time.
func (k *Kernel) begin(tx store.ReadTx) (*tables, clockRow, int64, error) {
	last, err := loadClock(tx)
	if err != nil {
		return nil, clockRow{}, 0, err
	}
	boot, ms := "", int64(0)
	if k.clock != nil {
		boot, ms = k.clock.Boot()
	}
	now, stepped := steady(last, boot, ms, tx.Now())
	t := &tables{reader: Reader{tx: tx, now: now.Wall, steady: now.Steady}}
	t.w, _ = tx.(store.Tx)
	return t, now, stepped, nil
}

// decide runs a command's decide and prefers a failed read over what it made of it.
func (t *tables) decide(cmd Command, e *env) (*decided, error) {
	d, err := cmd.decide(&t.reader, e)
	if t.err != nil {
		return nil, t.err
	}
	return d, err
}

// preview applies the record to the caller's transaction to show the rows
// before and after; the caller rolls back.
func (t *tables) preview(rec *Record, plan string) Receipt {
	out := rec.Receipt
	out.ID, out.Seq, out.Preview, out.Plan = "", 0, true, plan
	for i := range rec.Events {
		ev := &rec.Events[i]
		key := ev.row()
		c := Change{Event: ev.Type}
		if key != nil {
			c.Before = append(json.RawMessage(nil), t.raw(key)...)
		}
		t.apply(ev)
		if key != nil {
			c.After = append(json.RawMessage(nil), t.raw(key)...)
		}
		out.Changes = append(out.Changes, c)
	}
	return out
}

// row is the key of the main row an event changes.
func (e *Event) row() []byte {
	switch {
	case e.GoalRow != nil:
		return store.Key(tblGoal, e.GoalRow.ID)
	case e.Todo != nil:
		return store.Key(tblTodo, e.Todo.Goal, e.Todo.ID)
	case e.Gate != nil:
		return store.Key(tblGate, e.Gate.Goal, e.Gate.ID)
	case e.Agent != nil:
		return store.Key(tblAgent, e.Agent.Goal, e.Agent.ID)
	case e.Role != nil:
		return store.Key(tblRole, e.Role.Goal, e.Role.Person)
	case e.Binding != nil:
		return store.Key(tblBinding, e.Binding.ID)
	case e.Principal != nil:
		return store.Key(tblPrincipal, e.Principal.Platform, e.Principal.Connection, e.Principal.Tenant, e.Principal.User)
	case e.Person != nil:
		return store.Key(tblPerson, e.Person.ID)
	}
	return nil
}

// Read runs fn on a snapshot.
func (k *Kernel) Read(ctx context.Context, fn func(*Reader) error) error {
	err := k.st.View(ctx, func(tx store.ReadTx) (err error) {
		r, err := k.ReaderOf(tx)
		if err != nil {
			return err
		}
		defer r.guard(&err)
		return fn(r)
	})
	if err != nil {
		return AsError(err)
	}
	return nil
}

// ReaderOf reads the kernel's rows through a transaction of the caller.
func (k *Kernel) ReaderOf(tx store.ReadTx) (*Reader, error) {
	t, _, _, err := k.begin(tx)
	if err != nil {
		return nil, err
	}
	return &t.reader, nil
}

// keyOf gives the idempotency key a command runs under and the digest of what
// was asked.
func keyOf(cmd Command, opt Options) (key, payload string, err error) {
	key = opt.Key
	if key != "" {
		if err := checkToken("idempotency_key", key, 200); err != nil {
			return "", "", err
		}
		key = store.U64(0)[:1] + key // explicit keys and turn keys never meet
	} else if c, ok := cmd.(turnCommand); ok {
		if goal, agent, turn, subject := c.turnKey(); turn != "" {
			key = string(store.Key("turn", goal, agent, turn, cmd.Name(), subject))
		}
	}
	if key == "" {
		return "", "", nil
	}
	asked := any(cmd)
	if c, ok := cmd.(*OpenTurn); ok && opt.Key == "" {
		// A turn is asked about again with whatever the session has by then.
		asked = []any{c.Goal, c.Agent, c.Turn, c.Claim}
	}
	return key, digest(struct {
		Name string
		Cmd  any
		By   string
	}{cmd.Name(), asked, opt.By.Kind + ":" + opt.By.ID}), nil
}

func randomIDs() func(string) string { return func(p string) string { return NewID(p, 8) } }

// placeholderIDs makes the ids of a preview the same each time.
func placeholderIDs() func(string) string {
	n := 0
	return func(p string) string { n++; return p + "new" + strconv.Itoa(n) }
}

// planRev digests a command and its events without times and without the
// numbers that the next row of its kind gets: an unrelated command in between
// does not make a plan stale.
func planRev(cmd Command, events []Event) string {
	plain := slices.Clone(events)
	for i := range plain {
		if e := &plain[i]; e.Run != nil || e.Spend != nil || e.Evidence != nil {
			e.Subject = ""
		}
	}
	b, err := json.Marshal(plain)
	if err != nil {
		panic("kernel: events do not marshal: " + err.Error())
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		panic("kernel: events do not unmarshal: " + err.Error())
	}
	dropVolatile(v)
	return "plan_" + digest([]any{cmd.Name(), cmd, v})[:12]
}

func dropVolatile(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"at", "at_steady", "created", "updated", "since", "until_steady", "opened", "closed", "seen", "observed_at", "next_due", "last_checked", "unchanged_since", "step", "step",
			"seq", "order", "code", "writeback"} {
			delete(v, k)
		}
		switch e := v["evidence"].(type) {
		case []any: // ids
			delete(v, "evidence")
		case map[string]any:
			delete(e, "id")
		}
		for _, x := range v {
			dropVolatile(x)
		}
	case []any:
		for _, x := range v {
			dropVolatile(x)
		}
	}
}
