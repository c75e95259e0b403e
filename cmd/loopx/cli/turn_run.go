package cli

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loopx/kernel"
	"loopx/kernel/store/failpoint"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	hostTime     = 20 * time.Minute
	hostTimeMost = 12 * time.Hour
	turnSlack    = 5 * time.Minute // of the lease, beyond what host and validator may take
	turnsMost    = 1000
)

// drive is one `loopx turn run`: a host, a validator, and the turn they are for.
type drive struct {
	*app
	t         turnArgs
	host      []string
	validator []string
	hostTime  time.Duration
	checkTime time.Duration
}

// turnEnd is what became of one turn.
type turnEnd struct {
	Turn    string      `json:"turn_instance_id"`
	Status  string      `json:"status"`  // answered, committed, stopped
	Outcome string      `json:"outcome"` // run_now, wait, user_action, repair, replan, terminal
	Rule    string      `json:"rule"`
	Todo    string      `json:"todo_id,omitempty"`
	Result  string      `json:"result_kind,omitempty"`
	Summary string      `json:"summary,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Effects turnEffects `json:"effects"`
	Replay  bool        `json:"idempotent_replay,omitempty"`
}

type turnEffects struct {
	Host  bool `json:"host_invoked"`
	State bool `json:"state_written"`
	Spent bool `json:"quota_spent"`
}

func turnRun(a *app) *cobra.Command {
	d := &drive{app: a}
	var host, validator string
	most := 1
	return a.argVerb("run [flags] [-- PROGRAM ARG...]", "carry a turn through: ask, claim, run a host, check its answer, commit and pay", func(f *pflag.FlagSet) {
		a.scopeFlags(f, &d.t.scope)
		name, session := a.hostSession()
		f.StringVar(&d.t.turn, "turn-instance-id", "", "names the turn; the same id again never runs the host twice")
		a.envFlag(f, &d.t.session, "session", "LOOPX_SESSION", "session of the host (else LOOPX_SESSION)")
		f.StringVar(&d.t.host, "host", name, "what runs the agent")
		f.StringVar(&d.t.hostSession, "host-session", session, "the host's own id of the session")
		f.StringArrayVar(&d.t.caps, "available-capability", nil, "what the agent can do now; may be repeated")
		f.StringVar(&host, "host-command", "", "host, a JSON array (else what stands after --)")
		f.StringVar(&validator, "validator", "", "independent check of the host's answer, a JSON array (else what stands after --)")
		f.DurationVar(&d.hostTime, "timeout", hostTime, "how long the host may take, at most 12h")
		f.DurationVar(&d.checkTime, "validator-timeout", 2*time.Minute, "how long the validator may take, at most 12h")
		f.IntVar(&most, "max-turns", 1, "go on with further turns (ID.2, ID.3, ...) while there is work")
	}, cobra.ArbitraryArgs, func(args []string) error {
		if err := d.take(host, validator, args, most); err != nil {
			return err
		}
		ends, err := d.turns(most)
		if err != nil {
			if e := kernel.AsError(err); len(ends) > 0 {
				return e.With("turns_done", fmt.Sprint(len(ends)))
			}
			return err
		}
		last := ends[len(ends)-1]
		raw, err := kernel.Marshal(last)
		if err != nil {
			return err
		}
		return a.out(newFields().add(raw).set("turns", ends), func() string {
			var b strings.Builder
			for _, e := range ends {
				b.WriteString(e.line())
			}
			return b.String()
		})
	})
}

// line is a turn's end for people.
func (e turnEnd) line() string {
	s := fmt.Sprintf("%s  %s, next: %s", show(e.Turn, 60), e.Status, strings.ReplaceAll(e.Outcome, "_", " "))
	if e.Todo != "" {
		s += "  " + e.Todo
	}
	if e.Summary != "" {
		s += "\n  " + show(e.Summary, 200)
	} else if e.Reason != "" {
		s += "\n  " + show(e.Reason, 200)
	}
	if e.Effects.Spent {
		s += "\n  paid"
	}
	if e.Replay {
		s += "\n  (answered before, nothing was run now)"
	}
	return s + "\n"
}

// take reads the programs and bounds.
func (d *drive) take(host, validator string, rest []string, most int) error {
	var err error
	switch {
	case d.t.turn == "":
		return kernel.Errorf(kernel.Invalid, "missing_turn_id", "no turn was named").Try("pass --turn-instance-id")
	case host != "" && validator != "" && len(rest) > 0:
		return kernel.Errorf(kernel.Invalid, "usage", "both programs are given, and a third one stands after --")
	case host == "" && (validator == "" || len(rest) == 0):
		return kernel.Errorf(kernel.Invalid, "missing_host_command", "a turn is run by a host and checked by a validator; one of them may stand after --").Try(`--host-command '["my-agent"]' --validator '["go","test","./..."]'`)
	case validator == "" && len(rest) == 0:
		return kernel.Errorf(kernel.Invalid, "missing_validator", "nobody would check the host's answer").Try(`--validator '["go","test","./..."]'`)
	case most < 1 || most > turnsMost:
		return kernel.Errorf(kernel.Invalid, "bad_max_turns", "--max-turns is 1 to %d", turnsMost)
	case d.hostTime <= 0 || d.hostTime > hostTimeMost || d.checkTime <= 0 || d.checkTime > hostTimeMost:
		return kernel.Errorf(kernel.Invalid, "bad_timeout", "a host and a validator have more than no time and at most 12h")
	}
	hostRest, checkRest := rest, rest
	if host != "" {
		hostRest = nil
	} else {
		checkRest = nil
	}
	if d.host, err = argv("--host-command", host, hostRest); err != nil {
		return err
	}
	if validator != "" {
		checkRest = nil
	}
	d.validator, err = argv("--validator", validator, checkRest)
	return err
}

// turns runs turns one after another while each was paid and work may be left.
func (d *drive) turns(most int) ([]turnEnd, error) {
	if _, err := d.workspace(); err != nil {
		return nil, err
	}
	var ends []turnEnd
	first := d.t.turn
	for n := 1; n <= most; n++ {
		if n > 1 {
			d.t.turn = fmt.Sprintf("%s.%d", first, n)
		}
		end, err := d.turn()
		if err != nil {
			return ends, err
		}
		ends = append(ends, *end)
		if end.Outcome != kernel.OutcomeRun {
			break
		}
	}
	return ends, nil
}

// turn carries one turn through from wherever it is.
func (d *drive) turn() (*turnEnd, error) {
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	lease := max(d.hostTime+d.checkTime+turnSlack, 45*time.Minute)
	rec, err := d.do(&kernel.OpenTurn{
		Goal: d.t.goal, Agent: d.t.agent, Turn: d.t.turn, Session: d.t.sessionID(), Host: d.t.host, HostSession: d.t.hostSession,
		Capabilities: d.t.caps, Claim: true, LeaseMS: min(lease, 24*time.Hour).Milliseconds(), Workspace: whereAmI(),
	}, d.t.agent, d.t.turn)
	if err != nil {
		return nil, err
	}
	var dec kernel.Decision
	if err := json.Unmarshal(rec.Result, &dec); err != nil {
		return nil, kernel.Errorf(kernel.Unavailable, "version_mismatch", "the answer does not fit this version of loopx").Try("loopx doctor")
	}
	d.t.agent = dec.Agent
	end := &turnEnd{Turn: d.t.turn, Rule: dec.Rule, Todo: todoOf(&dec), Reason: dec.Reason}
	if !dec.ShouldRun {
		end.Status, end.Outcome, end.Replay = "answered", idle(&dec), rec.Replay
		return end, nil
	}
	failpoint.Hit(failpoint.TurnOpened)
	v, err := d.row()
	if err != nil {
		return nil, err
	}
	if end, err, over := d.over(v, end); over {
		return end, err
	}
	res, err := d.answer(v, &dec, rec.Result)
	if err != nil {
		return nil, err
	}
	end.Effects.Host, end.Result, end.Summary = true, res.Kind, res.Summary
	return end, d.finish(v, &dec, res, end)
}

// idle is what a decision not to run asks the caller to do.
func idle(d *kernel.Decision) string {
	switch d.Kind {
	case "stop":
		return kernel.OutcomeTerminal
	case "ask":
		return kernel.OutcomeUser
	}
	return kernel.OutcomeWait
}

func (d *drive) row() (*view.Turn, error) {
	v, err := ask[view.Turn](d.app, &view.TurnOne{Goal: d.t.goal, Agent: d.t.agent, Turn: d.t.turn})
	return &v, err
}

// over answers for a turn that has ended before.
func (d *drive) over(v *view.Turn, end *turnEnd) (*turnEnd, error, bool) {
	dr := v.Drive
	if dr != nil && dr.Result != nil {
		end.Result, end.Summary = dr.Result.Kind, dr.Result.Summary
	}
	end.Replay = true
	switch {
	case dr != nil && dr.Phase == kernel.PhaseFailed:
		e := d.refusal(kernel.Conflict, dr.Failure.Code, "%s", dr.Failure.Message)
		return nil, e.With("idempotent_replay", "true"), true
	case dr != nil && dr.Phase == kernel.PhaseStopped:
		end.Status, end.Outcome = "stopped", dr.Outcome
	case v.Spent, v.Outcome == "quiet":
		end.Status, end.Outcome = "committed", kernel.OutcomeRun
		end.Effects.Spent = v.Spent
	default:
		end.Replay = false
		return nil, nil, false
	}
	return end, nil, true
}

// answer gives the host's answer: the one that was recorded, or that of the host,
// which is started once.
func (d *drive) answer(v *view.Turn, dec *kernel.Decision, envelope json.RawMessage) (*kernel.HostResult, error) {
	if v.Drive != nil {
		if v.Drive.Phase == kernel.PhaseStarted {
			return nil, d.failed("turn_interrupted", kernel.Unavailable, "this turn ended while its host may have been at work; the host is not started again")
		}
		return v.Drive.Result, nil
	}
	deadline := d.now().Add(d.hostTime)
	request, err := d.request(v, dec, envelope, deadline)
	if err != nil {
		return nil, err
	}
	if err := d.mark(&kernel.MarkTurn{Phase: kernel.PhaseStarted, Host: kernel.ValidationDigest(d.host), Deadline: deadline.UnixMilli()}); err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.TurnMarked)
	p := &program{argv: d.host, env: d.hostEnv(v, dec, true), stdin: request, limit: d.hostTime, most: hostResultMost}
	if err := p.run(d.ctx); err != nil {
		return nil, p.said(d.failed(hostCode(err), kernel.Unavailable, "the host %s", p.how(err)).With("program", show(strings.Join(d.host, " "), 200)))
	}
	failpoint.Hit(failpoint.TurnAnswered)
	res, err := readAnswer(p.out.Bytes(), turnKey(d.t.goal, d.t.agent, d.t.turn), dec)
	if err != nil {
		e := kernel.AsError(err)
		return nil, p.said(d.failed(e.Code, e.Class, "%s", e.Message))
	}
	err = d.mark(&kernel.MarkTurn{Phase: kernel.PhaseAnswered, Result: res})
	if e := kernel.AsError(err); e != nil && e.Class == kernel.Invalid {
		return nil, d.failed("host_bad_result", kernel.Conflict, "the host's answer does not fit its contract: %s", e.Message)
	} else if err != nil {
		return nil, err
	}
	failpoint.Hit(failpoint.TurnRecorded)
	v.Drive = &kernel.Drive{Phase: kernel.PhaseAnswered, Result: res}
	return res, nil
}

// hostCode names how a host went wrong.
func hostCode(err error) string {
	switch {
	case errors.Is(err, errFlood):
		return "host_flood"
	case errors.Is(err, errLate):
		return "host_timeout"
	case errors.Is(err, errInterrupted):
		return "turn_interrupted"
	}
	return "host_failed"
}

// finish checks and commits what the host said, or ends the turn unpaid.
func (d *drive) finish(v *view.Turn, dec *kernel.Decision, res *kernel.HostResult, end *turnEnd) error {
	quiet := dec.Kind == "monitor" && res.Kind == kernel.HostWait
	if stop, ok := map[string]string{kernel.HostRepair: kernel.OutcomeRepair, kernel.HostReplan: kernel.OutcomeReplan, kernel.HostAsk: kernel.OutcomeUser, kernel.HostWait: kernel.OutcomeWait}[res.Kind]; ok && !quiet {
		end.Status, end.Outcome = "stopped", stop
		return d.mark(&kernel.MarkTurn{Phase: kernel.PhaseStopped, Outcome: stop})
	}
	if v.Drive.Phase == kernel.PhaseAnswered {
		if err := d.check(v, dec, res); err != nil {
			return err
		}
	}
	if dec.Kind == "repair" || dec.Kind == "settle" && !inherits(dec) {
		// Nothing of it is paid; what it mended shows in the next decision.
		end.Status, end.Outcome = "stopped", kernel.OutcomeRun
		return d.mark(&kernel.MarkTurn{Phase: kernel.PhaseStopped, Outcome: kernel.OutcomeRun})
	}
	if err := d.commit(dec, res); err != nil {
		return err
	}
	failpoint.Hit(failpoint.TurnCommitted)
	end.Status, end.Outcome = "committed", kernel.OutcomeRun
	end.Effects.State, end.Effects.Spent = true, !quiet
	return nil
}

// check runs the independent validator on the answer and notes that it passed.
func (d *drive) check(v *view.Turn, dec *kernel.Decision, res *kernel.HostResult) error {
	said, err := kernel.Marshal(struct {
		Schema  string `json:"schema_version"`
		TurnKey string `json:"turn_key"`
		Todo    string `json:"todo_id,omitempty"`
		*kernel.HostResult
	}{hostResultSchema, turnKey(d.t.goal, d.t.agent, d.t.turn), todoOf(dec), res})
	if err != nil {
		return err
	}
	p := &program{argv: d.validator, env: d.hostEnv(v, dec, false), stdin: append(said, '\n'), limit: d.checkTime}
	if err := p.run(d.ctx); errors.Is(err, errInterrupted) {
		return kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted").Try("run the same command again; the host is not started again")
	} else if err != nil {
		return p.said(d.failed("validator_failed", kernel.Conflict, "the validator %s", p.how(err)).With("program", show(strings.Join(d.validator, " "), 200)))
	}
	failpoint.Hit(failpoint.TurnChecked)
	if err := d.mark(&kernel.MarkTurn{Phase: kernel.PhaseValidated}); err != nil {
		return err
	}
	failpoint.Hit(failpoint.TurnValidated)
	return nil
}

// commit writes the outcome back and pays for it, in one transaction. A refusal
// fails the turn; where nobody could answer it stays as it is.
func (d *drive) commit(dec *kernel.Decision, res *kernel.HostResult) error {
	proof := append(res.Evidence[:len(res.Evidence):len(res.Evidence)], kernel.EvidenceArg{
		Kind: "check", Summary: "the validator passed", Ref: cutBytes(strings.Join(d.validator, " "), 200), Digest: kernel.ValidationDigest(d.validator),
	})
	c := &kernel.CommitTurn{Goal: d.t.goal, Agent: d.t.agent, Turn: d.t.turn, Slots: 1, Tokens: res.Tokens}
	lease := ""
	if dec.Lease != nil {
		lease = dec.Lease.Token
	}
	switch {
	case dec.Kind == "monitor":
		c.Poll = &kernel.PollMonitor{Todo: todoOf(dec), Material: res.Kind == kernel.HostProgress, Hash: res.Hash, Note: res.Summary, Evidence: proof, Next: res.NextTodo}
	case res.Kind == kernel.HostComplete:
		c.Complete = &kernel.CompleteTodo{Todo: todoOf(dec), Lease: lease, Evidence: proof, Note: res.Summary, NoFollowup: res.NoFollowup, Next: res.NextTodo}
	default:
		c.Refresh = &kernel.Refresh{Todo: todoOf(dec), Lease: lease, Classification: res.Classification, Outcome: res.Outcome, Note: res.Summary, Next: res.Next, Evidence: proof}
	}
	_, err := commitTurn(d.app, c, dec.Agent)
	e := kernel.AsError(err)
	if e == nil {
		return nil
	}
	switch e.Class {
	case kernel.Conflict, kernel.Invalid, kernel.Denied, kernel.Exhausted, kernel.NotFound, kernel.Stale:
		f := d.failed(e.Code, e.Class, "the turn could not be committed: %s", e.Message)
		f.Details = merged(f.Details, e.Details)
		return f
	}
	return e
}

// mark moves the turn to a phase.
func (d *drive) mark(c *kernel.MarkTurn) error {
	c.Goal, c.Agent, c.Turn = d.t.goal, d.t.agent, d.t.turn
	_, err := d.do(c, d.t.agent, "")
	return err
}

// failed ends the turn without a payment and says why, now and to whoever asks again.
func (d *drive) failed(code string, class kernel.Class, format string, args ...any) *kernel.Error {
	e := d.refusal(class, code, format, args...)
	if err := d.mark(&kernel.MarkTurn{Phase: kernel.PhaseFailed, Failure: &kernel.Failure{Code: code, Message: e.Message}}); err != nil {
		e.With("not_recorded", kernel.AsError(err).Code)
	}
	return e
}

// refusal is the error of a failed turn.
func (d *drive) refusal(class kernel.Class, code, format string, args ...any) *kernel.Error {
	e := kernel.Errorf(class, code, format, args...).With("turn_instance_id", d.t.turn).
		Try("mend its cause, then run it under a new --turn-instance-id")
	e.Kept = "nothing was paid, and the todo was given back"
	return e
}

// request is what the host is asked.
func (d *drive) request(v *view.Turn, dec *kernel.Decision, envelope json.RawMessage, deadline time.Time) ([]byte, error) {
	key := turnKey(d.t.goal, d.t.agent, d.t.turn)
	r := hostRequest{Schema: hostRequestSchema, TurnKey: key, Turn: d.t.turn, Goal: dec.Goal, Agent: dec.Agent, Session: v.Session,
		Deadline: deadline.UTC().Format(time.RFC3339), Route: hostRoute{Kind: dec.Kind, Rule: dec.Rule, Reason: dec.Reason}, Decision: envelope, Contract: contractOf(key, dec)}
	if id := todoOf(dec); id != "" {
		raw, err := d.query(&view.TodoOne{Goal: dec.Goal, Todo: id})
		if err != nil {
			return nil, err
		}
		r.Todo = raw
	}
	b, err := kernel.Marshal(r)
	return append(b, '\n'), err
}

// hostEnv is this environment with the turn's identity in it. Only the host gets
// the lease: the validator judges and writes nothing.
func (d *drive) hostEnv(v *view.Turn, dec *kernel.Decision, lease bool) []string {
	set := [][2]string{
		{"LOOPX_HOME", d.access.home.Dir}, {"LOOPX_GOAL", dec.Goal}, {"LOOPX_AGENT", dec.Agent}, {"LOOPX_TURN", d.t.turn}, {"LOOPX_SESSION", v.Session},
		{"LOOPX_TODO", todoOf(dec)}, {"LOOPX_LEASE", ""},
	}
	if lease && dec.Lease != nil {
		set[len(set)-1][1] = dec.Lease.Token
	}
	var out []string
	for _, kv := range d.opt.Env {
		mine := false
		for _, s := range set {
			mine = mine || strings.HasPrefix(kv, s[0]+"=")
		}
		if !mine {
			out = append(out, kv)
		}
	}
	for _, s := range set {
		if s[1] != "" {
			out = append(out, s[0]+"="+s[1])
		}
	}
	return out
}

// lock keeps a second process away from this turn for as long as this one lives.
// All turns share one file and each has a byte of it, so nothing is left to clean.
func (d *drive) lock() (func(), error) {
	home := d.access.home
	if !home.Exists() {
		return func() {}, nil // the command itself says what is missing
	}
	if err := home.Check(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(home.Dir, "turns.lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fileError(home.Dir, err)
	}
	sum, _ := hex.DecodeString(turnKey(d.t.goal, "", d.t.turn)) // the agent may go unnamed
	at := int64(binary.BigEndian.Uint64(sum) >> 2)
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: at, Len: 1})
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return nil, kernel.Errorf(kernel.Conflict, "turn_running", "another process carries the turn %s through", show(d.t.turn, 60)).Try("loopx turn show --goal-id %s --turn-instance-id %s", d.t.goal, show(d.t.turn, 120))
	}
	return nil, fileError(home.Dir, err)
}

// cutBytes cuts text at a byte bound, between characters.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

func merged(a, b map[string]string) map[string]string {
	for k, v := range b {
		if _, there := a[k]; !there {
			a[k] = v
		}
	}
	return a
}
