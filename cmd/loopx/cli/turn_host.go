package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"loopx/kernel"
)

// The shapes that a host and loopx exchange. Their names are the reference's, so
// that a host adapter written for it is understood.
const (
	hostRequestSchema = "loopx_turn_host_request_v0"
	hostResultSchema  = "loopx_turn_result_v0"
	hostResultMost    = 12_000 // bytes
)

// hostRequest is the one JSON object a host gets on standard input.
type hostRequest struct {
	Schema   string          `json:"schema_version"`
	TurnKey  string          `json:"turn_key"`
	Turn     string          `json:"turn_instance_id"`
	Goal     string          `json:"goal_id"`
	Agent    string          `json:"agent_id"`
	Session  string          `json:"session_id"`
	Deadline string          `json:"deadline"` // RFC 3339
	Route    hostRoute       `json:"route"`
	Todo     json.RawMessage `json:"todo,omitempty"`
	Decision json.RawMessage `json:"turn_envelope"`
	Contract map[string]any  `json:"result_contract"` // JSON Schema of the answer
}

type hostRoute struct {
	Kind   string `json:"kind"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// hostAnswer is what a host prints, before it is checked.
type hostAnswer struct {
	Schema         string               `json:"schema_version"`
	TurnKey        string               `json:"turn_key"`
	Kind           string               `json:"result_kind"`
	Phases         []string             `json:"completed_phases"`
	Todo           string               `json:"todo_id"`
	Summary        string               `json:"summary"`
	Classification string               `json:"classification"`
	Outcome        string               `json:"delivery_outcome"`
	Next           string               `json:"next_action"`
	Recommended    string               `json:"recommended_action"`
	NoFollowup     bool                 `json:"no_follow_up"`
	NextTodo       string               `json:"next_agent_todo"`
	Hash           string               `json:"result_hash"`
	Evidence       []kernel.EvidenceArg `json:"evidence"`
	Tokens         *int64               `json:"tokens"`
}

// turnKey names a turn so that the answer of another one cannot be taken for its.
func turnKey(goal, agent, turn string) string {
	sum := sha256.Sum256([]byte(goal + "\x00" + agent + "\x00" + turn))
	return hex.EncodeToString(sum[:16])
}

// answers are the kinds of answer that fit a decision. What needs no slot is
// never paid, whatever its host says of it.
func answers(d *kernel.Decision) []string {
	out := []string{kernel.HostProgress, kernel.HostRepair, kernel.HostReplan, kernel.HostAsk, kernel.HostWait}
	if d.Kind == "deliver" || inherits(d) {
		out = append(out, kernel.HostComplete)
	}
	return out
}

// inherits says that the turn took over the todo of one that was left unsettled: it
// is delivered and paid like any other.
func inherits(d *kernel.Decision) bool { return d.Settle != nil && d.Settle.Claim }

// hostPhases are the only two a host can have completed.
func hostPhases() []string { return []string{"host_execute", "typed_result"} }

// contractOf is the JSON Schema of the answer that this turn takes.
func contractOf(key string, d *kernel.Decision) map[string]any {
	text := func(most int) map[string]any { return map[string]any{"type": "string", "maxLength": most} }
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"required":        []string{"schema_version", "turn_key", "result_kind", "summary"},
		"x-max-bytes":     hostResultMost,
		"x-printed-alone": "the answer is all that stands on standard output",
		"properties": map[string]any{
			"schema_version":     map[string]any{"const": hostResultSchema},
			"turn_key":           map[string]any{"const": key},
			"result_kind":        map[string]any{"enum": answers(d)},
			"completed_phases":   map[string]any{"const": hostPhases()},
			"todo_id":            map[string]any{"const": todoOf(d)},
			"summary":            map[string]any{"type": "string", "minLength": 1, "maxLength": 400},
			"classification":     text(120),
			"delivery_outcome":   map[string]any{"enum": []string{kernel.Progress, kernel.PrimaryOutcome}},
			"next_action":        text(1200),
			"recommended_action": text(1200),
			"no_follow_up":       map[string]any{"type": "boolean"},
			"next_agent_todo":    text(240),
			"result_hash":        text(160),
			"tokens":             map[string]any{"type": "integer", "minimum": 0, "maximum": int64(1) << 40, "description": "what the host's own counter says the turn took; left out when it has none"},
			"evidence": map[string]any{"type": "array", "maxItems": 7, "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []string{"summary"},
				"properties": map[string]any{
					"kind":    map[string]any{"enum": []string{"note", "check", "artifact", "link", "metric"}},
					"summary": text(400), "ref": text(400), "digest": text(160), "valid_until": map[string]any{"type": "integer"},
				},
			}},
		},
	}
}

func todoOf(d *kernel.Decision) string {
	if d.Selected == nil {
		return ""
	}
	return d.Selected.ID
}

// readAnswer checks a host's answer against the contract it was given. Errors
// carry the code that the turn fails with.
func readAnswer(raw []byte, key string, d *kernel.Decision) (*kernel.HostResult, error) {
	bad := func(format string, args ...any) error {
		return kernel.Errorf(kernel.Conflict, "host_bad_result", "the host's answer does not fit its contract: "+format, args...)
	}
	if strings.TrimSpace(string(raw)) == "" {
		return nil, bad("it said nothing")
	}
	var h hostAnswer
	if err := kernel.DecodeStrict(raw, &h); err != nil {
		return nil, bad("%s", kernel.AsError(err).Message)
	}
	lie := func(format string, args ...any) error {
		return kernel.Errorf(kernel.Conflict, "host_lied", format, args...)
	}
	switch {
	case h.Schema != hostResultSchema:
		return nil, bad("schema_version is %q, not %s", show(h.Schema, 60), hostResultSchema)
	case h.TurnKey != key:
		return nil, kernel.Errorf(kernel.Conflict, "host_wrong_turn", "the host answered for another turn")
	case !slices.Contains(answers(d), h.Kind):
		return nil, bad("result_kind is %q, and this turn takes %s", show(h.Kind, 60), strings.Join(answers(d), ", "))
	case h.Phases != nil && !slices.Equal(h.Phases, hostPhases()):
		return nil, lie("the host claims phases that are not its own: %s", show(strings.Join(h.Phases, ", "), 120))
	case h.Todo != "" && h.Todo != todoOf(d):
		return nil, lie("the host claims to have worked on %s, and the turn is about %s", show(h.Todo, 80), or(todoOf(d), "no todo"))
	case h.NextTodo != "" && h.Kind != kernel.HostComplete && (d.Kind != "monitor" || h.Kind != kernel.HostProgress):
		return nil, bad("next_agent_todo goes with a completion, or with what a monitor found")
	case strings.TrimSpace(h.Summary) == "":
		return nil, bad("summary is missing")
	}
	res := &kernel.HostResult{Kind: h.Kind, Classification: h.Classification, Outcome: h.Outcome, Summary: h.Summary, Next: or(h.Next, h.Recommended),
		NoFollowup: h.NoFollowup, NextTodo: h.NextTodo, Hash: h.Hash, Evidence: h.Evidence, Tokens: h.Tokens}
	if h.Kind == kernel.HostProgress {
		res.Outcome = or(h.Outcome, kernel.Progress)
	}
	return res, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
