package cli

import (
	"bytes"
	"encoding/json"

	"loopx/kernel"
)

// schemaVersion of the JSON envelope. A field is only ever added within one.
const schemaVersion = 1

// fields is a JSON object that keeps its order.
type fields struct {
	names  []string
	values map[string]json.RawMessage
}

func newFields() *fields { return &fields{values: map[string]json.RawMessage{}} }

// set puts a field at the end, or replaces it where it stands.
func (f *fields) set(name string, v any) *fields {
	raw, ok := v.(json.RawMessage)
	if !ok {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic("cli: a value of our own does not marshal: " + err.Error())
		}
		raw = bytes.TrimSpace(b.Bytes())
	}
	if _, there := f.values[name]; !there {
		f.names = append(f.names, name)
	}
	f.values[name] = raw
	return f
}

// add puts the fields of a JSON object at the end.
func (f *fields) add(object json.RawMessage) *fields {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return f
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return f
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return f
		}
		name, _ := k.(string)
		f.set(name, v)
	}
	return f
}

// json is the object itself.
func (f *fields) json() json.RawMessage {
	var b bytes.Buffer
	f.write(&b)
	return b.Bytes()
}

func (f *fields) write(b *bytes.Buffer) {
	b.WriteByte('{')
	for i, n := range f.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(n)
		b.Write(key)
		b.WriteByte(':')
		b.Write(f.values[n])
	}
	b.WriteByte('}')
}

// printJSON writes one flat object with the envelope in front, on one line.
func (a *app) printJSON(f *fields) {
	out := newFields().set("ok", true).set("schema_version", schemaVersion)
	for _, n := range f.names {
		out.set(n, f.values[n])
	}
	if len(a.ignored) > 0 {
		out.set("ignored_flags", a.ignored)
	}
	var b bytes.Buffer
	out.write(&b)
	b.WriteByte('\n')
	_, _ = a.opt.Out.Write(b.Bytes())
}

func errorFields(e *kernel.Error) *fields {
	f := newFields().set("ok", false).set("class", e.Class).set("code", e.Code).set("error_code", e.Code).
		set("reason", e.Message).set("message", e.Message).set("fix", e.Fix).set("kept", kept(e))
	details := e.Details
	if details == nil {
		details = map[string]string{}
	}
	return f.set("details", details)
}

// receipt is what a command answered, flat: its result first, then how it came
// about. A preview or a repeated answer appended nothing now.
func receipt(rec kernel.Receipt) *fields {
	f := newFields()
	if len(rec.Steer) > 0 {
		f.set("steer", rec.Steer) // first, so that it is read before anything else
	}
	f.add(rec.Result)
	if _, there := f.values["changed"]; !there {
		f.set("changed", rec.Changed)
	}
	if rec.ID != "" {
		f.set("receipt_id", rec.ID)
	}
	if rec.Replay {
		f.set("idempotent_replay", true)
	}
	if rec.Preview {
		f.set("changed", false).set("would_change", rec.Changed).set("preview", true).set("dry_run", true).set("plan_rev", rec.Plan).set("changes", rec.Changes)
	}
	if _, there := f.values["appended"]; there && (rec.Replay || rec.Preview) {
		f.set("appended", false)
	}
	return f
}
