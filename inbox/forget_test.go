package inbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// forgetAll runs the command until it is through.
func (d *desk) forgetAll(c ForgetMessages) (total ForgottenCount) {
	d.t.Helper()
	for {
		rec, err := d.run(&c, kernel.Options{By: owner})
		if err != nil {
			d.t.Fatal(err)
		}
		var piece ForgottenCount
		if err := json.Unmarshal(rec.Result, &piece); err != nil {
			d.t.Fatal(err)
		}
		total.Messages += piece.Messages
		total.Receipts += piece.Receipts
		if c.Next = piece.Next; !piece.More {
			return total
		}
	}
}

// words is everything the store holds, as one text.
func (d *desk) words() string {
	d.t.Helper()
	var b strings.Builder
	err := d.st.View(ctx(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 100_000}, func(k, v []byte) bool { fmt.Fprintf(&b, "%q %s\n", k, v); return true })
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return b.String()
}

// Nothing of what was said is left in any row: neither of what waits, nor of what
// was leased and is repeated by a receipt, nor in an answer that is not sent yet.
// What was said elsewhere stays.
func TestForgetLeavesNoWord(t *testing.T) {
	d := newPost(t)
	d.do(&kernel.CreateLinkCode{Digest: kernel.CodeDigest("abcde-fghjk"), Person: "Wei"}, kernel.Options{By: owner})
	first := d.admit(routing.Queue, "the secret plan").ID
	rec, err := d.run(&NextMessage{Goal: "site", Agent: "builder", Session: "s1"}, kernel.Options{By: asBuilder.By, Key: "k1"})
	if err != nil || !strings.Contains(string(rec.Result), "secret") {
		t.Fatalf("%s, %v", rec.Result, err)
	}
	if err := d.settle(first, "the secret plan is done"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * forgetPiece { // more than one piece
		d.admit(routing.Inbox, fmt.Sprintf("secret number %d", i))
	}
	keep := d.said("what is said elsewhere")
	keep.Place.Conversation = "C2"
	d.mail(func(m *Mail) error {
		return m.Keep(keep, "slack", "owner", "bind_x", "context", false)
	})
	if total := d.forgetAll(ForgetMessages{Connection: "work", Conversation: "C1"}); total.Messages != 2*forgetPiece+1 || total.Receipts == 0 {
		t.Errorf("forgot %+v", total)
	}
	all := d.words()
	if i := strings.Index(all, "secret"); i >= 0 {
		t.Errorf("a row still says it: %s", all[max(0, i-300):min(len(all), i+100)])
	}
	if !strings.Contains(all, "what is said elsewhere") {
		t.Error("what was said elsewhere is gone as well")
	}
	if id, _ := d.next("s1"); id != "" {
		t.Errorf("%s is still given to the agent", id)
	}
	if total := d.forgetAll(ForgetMessages{Person: "owner"}); total.Messages != 1 {
		t.Errorf("of the person %+v are left", total)
	}
	if _, err := d.run(&ForgetMessages{Person: "owner"}, asBuilder); codeOf(err) != "owner_only" {
		t.Errorf("an agent forgets: %v", err)
	}
	for _, next := range []string{"x", "ia:zz", "j:00"} {
		if _, err := d.run(&ForgetMessages{Person: "owner", Next: next}, kernel.Options{By: owner}); codeOf(err) != "bad_next" {
			t.Errorf("going on from %q: %v", next, err)
		}
	}
}
