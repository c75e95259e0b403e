package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopx/kernel"
	"loopx/kernel/store/storetest"
	"loopx/kernel/view"
)

// room is a kernel in memory whose clock counts its commands.
type room struct {
	t   *testing.T
	k   *kernel.Kernel
	now int64
}

func newRoom(t *testing.T) *room {
	r := &room{t: t, now: 1_800_000_000_000}
	st := storetest.NewModel(func() int64 { return r.now })
	t.Cleanup(func() { _ = st.Close() })
	var err error
	if r.k, err = kernel.Open(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	r.do(&kernel.CreateGoal{Goal: "site", Objective: "Ship it", Agents: []string{"ann"}})
	return r
}

func (r *room) do(c kernel.Command) {
	r.t.Helper()
	r.now += 1000
	if _, err := r.k.Do(r.t.Context(), c, kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "test"}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) find(text string) view.FindView {
	r.t.Helper()
	v, err := view.Ask[view.FindView](r.t.Context(), view.Local{K: r.k}, &view.Find{Text: text})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// At most fifty hits, the most recent first.
func TestFindIsBounded(t *testing.T) {
	r := newRoom(t)
	for i := range 60 {
		r.do(&kernel.AddTodo{Goal: "site", Title: fmt.Sprintf("Needle %d", i)})
	}
	v := r.find("nEEdle")
	if len(v.Hits) != 50 || !v.More || v.Partial {
		t.Fatalf("%d hits, more: %v, partial: %v", len(v.Hits), v.More, v.Partial)
	}
	for i, h := range v.Hits {
		if want := fmt.Sprintf("Needle %d", 59-i); h.Text != want {
			t.Fatalf("hit %d is %q, want %q", i, h.Text, want)
		}
	}
}

// The place of a match is right also where letters change their length with their
// case, and text of others stays on one line.
func TestFindShowsTheMatch(t *testing.T) {
	r := newRoom(t)
	r.do(&kernel.AddTodo{Goal: "site", Title: "İİİİ ẞtraße Needle", Body: strings.Repeat("über ", 40) + "\nHAYSTACK\nend"})
	if h := r.find("needle").Hits; len(h) != 1 || h[0].Text != "İİİİ ẞtraße Needle" {
		t.Errorf("got %+v", h)
	}
	h := r.find("haystack").Hits
	if len(h) != 1 || h[0].Where != "body" || !strings.HasPrefix(h[0].Text, "…") || !strings.HasSuffix(h[0].Text, "HAYSTACK end") {
		t.Errorf("got %+v", h)
	}
	if h := r.find("ẞTRAßE").Hits; len(h) != 1 {
		t.Errorf("got %+v", h)
	}
}

// An export holds what belongs to the goal and no proof of anybody.
func TestExportHoldsNoProof(t *testing.T) {
	r := newRoom(t)
	r.do(&kernel.AddTodo{Goal: "site", Title: "One", Validation: []string{"make", "private-target"}})
	r.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1", Claim: true})
	digest := strings.Repeat("ab", 32)
	r.do(&kernel.CreateLinkCode{Digest: digest, Person: "Wei"})
	var token string
	err := r.k.Read(t.Context(), func(rd *kernel.Reader) error {
		v := rd.List("site", kernel.ListHeld, "", 1)
		token = rd.Claim("site", v[0].ID).Token
		return nil
	})
	if err != nil || token == "" {
		t.Fatalf("no token: %v", err)
	}
	for _, public := range []bool{false, true} {
		raw, err := view.Local{K: r.k}.Query(t.Context(), &view.Export{Goal: "site", Public: public})
		if err != nil {
			t.Fatal(err)
		}
		var v view.ExportView
		if err := json.Unmarshal(raw, &v); err != nil || len(v.Todos) != 1 || v.Todos[0].ClaimedBy != "ann" {
			t.Fatalf("%v %s", err, raw)
		}
		for _, never := range []string{token, digest} {
			if strings.Contains(string(raw), never) {
				t.Errorf("the export holds %s", never)
			}
		}
		if strings.Contains(string(raw), "private-target") == public {
			t.Errorf("public %v: %s", public, raw)
		}
	}
}

// Counters come from the journal: one turn, decided by its rule.
func TestUsageCounts(t *testing.T) {
	r := newRoom(t)
	r.do(&kernel.AddTodo{Goal: "site", Title: "One"})
	r.do(&kernel.AddTodo{Goal: "site", Title: "Two"})
	r.do(&kernel.OpenTurn{Goal: "site", Agent: "ann", Turn: "t1"})
	_, err := r.k.Do(t.Context(), &kernel.CloseGoal{Goal: "site", Outcome: "x"}, kernel.Options{By: kernel.Actor{Kind: kernel.ByAgent, ID: "ann"}})
	if kernel.AsError(err).Class != kernel.Denied {
		t.Fatalf("got %v", err)
	}
	v, err := view.Ask[view.UsageView](t.Context(), view.Local{K: r.k}, &view.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Records != 4 || v.Commands["todo.add"] != 2 || v.Commands["goal.create"] != 1 || v.Decisions["R12"] != 1 || v.Refusals["owner_only"] != 1 || v.Sent || v.More {
		t.Errorf("got %+v", v)
	}
}
