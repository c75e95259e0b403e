package cli

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"loopx/kernel"

	"github.com/spf13/pflag"
)

// The flags that runners written for the reference pass, by group. Those that a
// verb has no use for are accepted, so that such a runner works unchanged, and
// listed in ignored_flags. A trailing ! marks a switch.
const (
	todoFlags = "action-kind agent-id authority-reason blocks-agent bound-agent cadence capability-binding-ref capability-gap-status claimed-by clear-blocks-agent! clear-claim! clear-excluded-agents! clear-explore-result-node-refs! clear-global-gate! clear-resume-when! continuation-policy decision-outcome decision-scope dry-run! evidence excluded-agent execute! expires-at explore-result-node-ref follow-up from global-gate! goal-bound! goal-id limit max-active-done monitor-target-key next-action-kind next-agent-todo next-claimed-by next-continuation-policy next-due-at next-excluded-agent next-required-capability next-task-class next-task-repository next-user-task-class next-user-todo no-follow-up! note project reason replan-obligation-id required-capability required-decision-scope required-write-scope resume-when role self-merged! state-file status successor-todo-id target-capability target-key task-class task-domain task-lease-expected-version task-lease-idempotency-key task-repository text todo-id trigger turn-instance-id unblocks-todo-id validation-command validation-command-json validation-label validation-timeout-seconds watch-only!"

	quotaFlags = "agent-id applied-rrule available-capability cadence codex-app! codex-app-current-rrule dry-run! execute! execution-mode failed-rrule failure-kind goal-id host-match-observed! host-surface identity-signature include-detail include-scheduler-detail! limit material-change! next-action-kind next-agent-todo next-claimed-by next-continuation-policy next-due-at next-required-capability next-target-key next-task-repository next-user-task-class next-user-todo projection-cache-ttl-seconds reason-summary record-host-poll! replan-obligation-id reset-token result-hash runtime-profile scan-path scan-root scheduler-owner slots source state-key surface target-key todo-id turn-envelope! turn-instance-id use-current-hint! use-projection-cache! verbose! void-generated-at write-projection-cache!"

	refreshFlags = "classification delivery-outcome delivery-batch-scale delivery-boundary todo-id replan-obligation-id turn-instance-id agent-id agent-lane progress-scope next-action recommended-action delivery-workspace-path progress-result-class repair-delta-kind autonomous-replan-recorded! agent-vision-json available-capability dry-run! no-global-sync! suppress-external-sinks!"
)

// shorthands of switches and options that are accepted with no use here.
func shorthands() map[string]string {
	return map[string]string{"codex-app": "A", "host-surface": "H", "scheduler-owner": "O", "execution-mode": "M"}
}

// acceptUnused registers the flags of a group that the verb has not defined.
func (a *app) acceptUnused(f *pflag.FlagSet, group string) {
	for name := range strings.FieldsSeq(group) {
		name, isSwitch := strings.CutSuffix(name, "!")
		if f.Lookup(name) != nil {
			continue
		}
		short := ""
		if group == quotaFlags {
			short = shorthands()[name]
		}
		f.VarP(&unused{a: a, name: "--" + name, isSwitch: isSwitch}, name, short, "")
		flag := f.Lookup(name)
		flag.Hidden = true
		if isSwitch {
			flag.NoOptDefVal = "true"
		}
	}
}

// unused is the value of an accepted flag without a use.
type unused struct {
	a        *app
	name     string
	isSwitch bool
}

// String implements pflag.Value.
func (u *unused) String() string { return "" }

// Type implements pflag.Value.
func (u *unused) Type() string {
	if u.isSwitch {
		return "bool"
	}
	return "string"
}

// Set implements pflag.Value.
func (u *unused) Set(string) error {
	if !slices.Contains(u.a.ignored, u.name) {
		u.a.ignore(u.name)
	}
	return nil
}

// notYet refuses a flag whose silent loss would loosen what the caller asked for.
func notYet(flag, fix string) error {
	return kernel.Errorf(kernel.Invalid, "not_supported", "this version cannot do %s yet, and leaving it out would change what is asked", flag).Try("%s", fix)
}

// argv reads an argument list: a JSON array, or what stood after --.
func argv(flag, text string, rest []string) ([]string, error) {
	if text == "" {
		return rest, nil
	}
	if len(rest) > 0 {
		return nil, kernel.Errorf(kernel.Invalid, "usage", "the program is given twice: with %s and after --", flag)
	}
	var out []string
	if err := kernel.DecodeStrict([]byte(text), &out); err != nil || len(out) == 0 || out[0] == "" {
		return nil, kernel.Errorf(kernel.Invalid, "bad_argv", "%s wants a JSON array of strings", flag).Try(`%s '["go","test","./..."]', or put the program after --`, flag)
	}
	return out, nil
}

// priorityOf reads P0 to P4, or 0 to 4; P4 counts as P3.
func priorityOf(s string) (*int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(s), "P"))
	if err != nil || n < 0 || n > 4 {
		return nil, kernel.Errorf(kernel.Invalid, "bad_priority", "priority %q must be P0 to P3", show(s, 20))
	}
	n = min(n, 3)
	return &n, nil
}

// span reads a duration; beside Go's units d stands for 24 hours.
func span(flag, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	bad := kernel.Errorf(kernel.Invalid, "bad_duration", "%s %q must be a duration like 30m, 2h or 7d", flag, show(s, 20))
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 100_000 {
			return 0, bad
		}
		return int64(n) * 24 * time.Hour.Milliseconds(), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, bad
	}
	return d.Milliseconds(), nil
}

// date reads a point in time: RFC 3339, or a duration from now.
func (a *app) date(flag, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UnixMilli(), nil
	}
	ms, err := span(flag, s)
	if err != nil {
		return 0, kernel.Errorf(kernel.Invalid, "bad_date", "%s %q must be RFC 3339 (2026-05-01T09:00:00Z) or a duration from now", flag, show(s, 40))
	}
	return a.now().UnixMilli() + ms, nil
}

// evidence reads --evidence values: a summary, with its kind in front where one is
// meant ("check: tests 212/212"), or one JSON object.
func evidence(list []string) ([]kernel.EvidenceArg, error) {
	out := make([]kernel.EvidenceArg, 0, len(list))
	for _, s := range list {
		var e kernel.EvidenceArg
		switch kind, text, ok := strings.Cut(s, ":"); {
		case strings.HasPrefix(s, "{"):
			if err := kernel.DecodeStrict([]byte(s), &e); err != nil {
				return nil, err
			}
		case ok && kind == "file":
			var err error
			if e, err = pinned(text); err != nil {
				return nil, err
			}
		case ok && slices.Contains([]string{"note", "check", "artifact", "link", "metric"}, kind):
			e = kernel.EvidenceArg{Kind: kind, Summary: strings.TrimSpace(text)}
		default:
			e = kernel.EvidenceArg{Summary: s}
		}
		out = append(out, e)
	}
	return out, nil
}

// resultOf reads one field of a receipt's result, for text.
func resultOf(rec kernel.Receipt, name string) string {
	var m map[string]any
	if json.Unmarshal(rec.Result, &m) != nil {
		return ""
	}
	switch v := m[name].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
