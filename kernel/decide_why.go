package kernel

import (
	"slices"
	"strings"
)

// lost explains, for `why`, what was not chosen.
func (s *situation) lost(d *Decision) []Lost {
	if s.agent == "" {
		return nil
	}
	var out []Lost
	chosen := ""
	if d.Selected != nil {
		chosen = d.Selected.ID
	}
	for _, list := range []string{ListHeld, ListReady, ListGated, ListBlocked, ListAfter, ListDeferred, ListMonitor, ListAsk} {
		for _, v := range s.r.List(s.g.ID, list, "", 20) {
			if v.ID != chosen && len(out) < 40 {
				out = append(out, Lost{Todo: v.ID, Title: v.Title, Reason: s.reason(list, v)})
			}
		}
	}
	return out
}

func (s *situation) reason(list string, v *Todo) string {
	if slices.Contains(v.Excluded, s.agent) {
		return s.agent + " may not take it"
	}
	switch list {
	case ListHeld:
		if c := s.r.Claim(s.g.ID, v.ID); c.Holds(s.r.steady) && c.Agent != s.agent {
			return "held by " + c.Agent
		}
		if b := keys(s.r.Blocks(s.g.ID, v.ID)); len(b) > 0 {
			return "waits for " + s.codes(b)
		}
		if len(s.lane) > 0 {
			return "the lane waits for " + s.codes(s.lane)
		}
		return "comes later in the order"
	case ListReady:
		if len(s.lane) > 0 {
			return "the lane waits for " + s.codes(s.lane)
		}
		return "comes later in the order"
	case ListGated:
		return "waits for " + s.codes(keys(s.r.Blocks(s.g.ID, v.ID)))
	case ListBlocked:
		return "stopped by the decision of " + s.codes(keys(s.r.Blocks(s.g.ID, v.ID)))
	case ListAfter:
		return "comes after " + strings.Join(s.r.WaitsFor(s.g.ID, v.ID), ", ")
	case ListDeferred:
		return "parked until " + v.ResumeWhen
	case ListMonitor:
		return "a watch, next due " + rfc3339(v.Watch.NextDue)
	}
	return "a request to a person"
}

func (s *situation) codes(gates []string) string {
	out := make([]string, 0, len(gates))
	for _, id := range gates {
		if g := s.r.Gate(s.g.ID, id); g != nil {
			out = append(out, g.Code)
		}
	}
	return strings.Join(out, ", ")
}
