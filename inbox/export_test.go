package inbox

import (
	"encoding/json"
	"fmt"
	"testing"

	"loopx/kernel"
	"loopx/routing"
)

// What a person said and decided comes out whole; what others did does not, and
// what was forgotten is gone from it.
func TestExportPerson(t *testing.T) {
	d := newPost(t)
	d.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, kernel.Options{By: owner})
	wei := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Name: "Wei", Surface: "slack"}}
	mei := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "mei", Name: "Mei", Surface: "slack"}}
	gate := func(question string, by kernel.Options) string {
		var g struct {
			ID string `json:"gate_id"`
		}
		rec, err := d.run(&kernel.OpenGate{Goal: "site", Question: question, Advisory: true}, by)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(rec.Result, &g); err != nil {
			t.Fatal(err)
		}
		return g.ID
	}
	d.do(&kernel.AnswerGate{Gate: gate("Go?", asBuilder), Option: "approve", Reason: "it is time"}, wei)
	d.do(&kernel.AnswerGate{Gate: gate("Stay?", wei), Option: "reject"}, mei)
	changed := gate("Paint it?", asBuilder)
	d.do(&kernel.AnswerGate{Gate: changed, Option: "approve"}, wei)
	d.do(&kernel.ChangeGate{Gate: changed, Option: "reject"}, wei)
	for i := range 600 { // more than one page
		if i%2 == 0 {
			d.admit(routing.Inbox, fmt.Sprintf("word %d", i))
			continue
		}
		other := d.said(fmt.Sprintf("not mine %d", i))
		other.Sender.ID = "U9"
		d.mail(func(m *Mail) error { return m.Keep(other, "slack", "mei", "bind_x", "context", false) })
	}
	out := func(person string) (v PersonExport) {
		t.Helper()
		err := d.k.Read(ctx(), func(r *kernel.Reader) error {
			got, err := (&ExportPerson{Person: person}).Answer(r)
			if err == nil {
				v = got.(PersonExport)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := out("owner")
	if len(v.Messages) != 300 || v.Messages[0].Text != "@bot word 0" || v.Messages[299].Text != "@bot word 598" || len(v.Cut) != 0 {
		t.Fatalf("%d messages from %q to %q, cut %v", len(v.Messages), v.Messages[0].Text, v.Messages[299].Text, v.Cut)
	}
	var states []string
	for _, x := range v.Decisions {
		states = append(states, x.Question+" "+x.Option+" "+x.State+" "+x.Reason)
	}
	if want := "[Go? approve decided it is time Paint it? approve changed  Paint it? reject decided ]"; fmt.Sprint(states) != want {
		t.Errorf("decided %v", states)
	}
	if len(v.Asked) != 1 || v.Asked[0].Question != "Stay?" {
		t.Errorf("asked %+v", v.Asked)
	}
	d.forgetAll(ForgetMessages{Person: "owner"})
	if v := out("owner"); len(v.Messages) != 0 || len(v.Decisions) != 3 {
		t.Errorf("after forgetting: %d messages, %d decisions", len(v.Messages), len(v.Decisions))
	}
}
