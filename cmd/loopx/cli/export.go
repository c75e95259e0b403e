package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/boundary"
	"loopx/kernel/view"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// namedMost bounds the places that a refusal of export names.
const namedMost = 10

func exportCmd(a *app) *cobra.Command {
	var s scope
	var person string
	q := &view.Export{}
	c := a.verbOf("export", "", func(f *pflag.FlagSet) {
		a.goalFlag(f, &s)
		f.BoolVar(&q.Public, "public", false, "for others: refused when something looks like a secret or a private path")
		f.StringVar(&person, "person", "", "what is kept of this person instead: accounts, roles, own messages and decisions (loopx person list)")
	}, func() error {
		if person != "" {
			return a.exportPerson(person, q.Public)
		}
		q.Goal = s.goal
		v, raw, err := askRaw[view.ExportView](a, q)
		if err != nil {
			return err
		}
		if q.Public {
			if err := public(raw); err != nil {
				return err
			}
		}
		if len(v.Cut) > 0 {
			fmt.Fprintf(a.opt.Err, "note: the oldest are left out of: %s\n", strings.Join(v.Cut, " "))
		}
		a.asJSON = true // a document has one form
		return a.out(newFields().add(raw), nil)
	})
	c.Long = "Prints one goal as one JSON document: its todos, gates, evidence and runs, the oldest\n" +
		"first. No lease token, link code or chat account stands in it. With --public it is\n" +
		"scanned first, and refused with the places that look like a secret or a private path.\n" +
		"With --person it is what one person said and decided here, for that person: agents are\n" +
		"refused, and what others said is not in it. loopx forget erases what was said."
	return c
}

// exportPerson prints what is kept of one person.
func (a *app) exportPerson(person string, public bool) error {
	if public {
		return kernel.Errorf(kernel.Invalid, "usage", "what a person said is not for the public").Try("leave --public out")
	}
	if _, err := a.ownerPreview("taking out what a person said"); err != nil {
		return err
	}
	v, raw, err := askRaw[inbox.PersonExport](a, &inbox.ExportPerson{Person: person})
	if err != nil {
		return err
	}
	if len(v.Cut) > 0 {
		fmt.Fprintf(a.opt.Err, "note: not all of it is there, cut are: %s\n", strings.Join(v.Cut, ", "))
	}
	a.asJSON = true // a document has one form
	return a.out(newFields().add(raw), nil)
}

// public refuses a document that others should not see, and says where.
func public(raw json.RawMessage) error {
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return kernel.AsError(err)
	}
	found := scanDocument("", doc, boundary.New())
	if len(found) == 0 {
		return nil
	}
	places := make([]string, 0, namedMost)
	e := kernel.Errorf(kernel.Conflict, "not_public", "")
	for i, f := range found {
		if i < namedMost {
			places = append(places, f.place+" ("+f.what+")")
			e.With(f.place, f.what)
		}
	}
	e.Message = count(len(found), "place looks", "places look") + " private: " + strings.Join(places, ", ")
	if n := len(found) - namedMost; n > 0 {
		e.Message += fmt.Sprintf(" and %d more", n)
	}
	return e.Try("mend those texts, or export without --public and keep it to yourself")
}

// finding is a place in a document, and what it seems to hold.
type finding struct{ place, what string }

// scanDocument looks at every text of a JSON document. Findings come in the order
// of the document's lists, and by name within an object.
func scanDocument(place string, v any, s *boundary.Scanner) []finding {
	var out []finding
	switch v := v.(type) {
	case string:
		if what := s.Find(v); what != "" {
			out = append(out, finding{place, what})
		}
	case []any:
		for i, x := range v {
			out = append(out, scanDocument(place+"."+strconv.Itoa(i), x, s)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, scanDocument(strings.TrimPrefix(place+"."+name, "."), v[name], s)...)
		}
	}
	return out
}
