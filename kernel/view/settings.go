package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"loopx/kernel"
)

// Settings is what an owner set for a goal, and what stands at its default.
type Settings struct {
	Goal string `json:"goal"`
}

// SettingsView is the answer to Settings, in a fixed order.
type SettingsView struct {
	ID       string    `json:"goal_id"`
	Settings []Setting `json:"settings"`
}

// Setting is one value with where it comes from.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default bool   `json:"default"`
}

// Name implements Query.
func (*Settings) Name() string { return "settings" }

func (q *Settings) run(r *kernel.Reader) (any, error) {
	g, err := goalOf(r, q.Goal)
	if err != nil {
		return nil, err
	}
	out := SettingsView{ID: g.ID}
	add := func(name, value, def string) {
		out.Settings = append(out.Settings, Setting{Name: name, Value: value, Default: value == def})
	}
	add("title", g.Title, firstLine(g.Objective))
	add("objective", firstLine(g.Objective), "")
	add("repo", g.Repo, "")
	add("write_scope", strings.Join(g.Write, ", "), "")
	add("non_goals", strings.Join(g.NonGoals, " · "), "")
	add("allowed_slots", strconv.Itoa(g.Allowed), "1440")
	add("quota_window_hours", strconv.Itoa(g.WindowHours()), "24")
	add("language", g.Language, "en")
	add("visibility", g.Visibility, "private")
	add("handoff", g.Handoff, "soft")
	for _, kind := range slices.Sorted(maps.Keys(g.Ask)) {
		add("ask "+kind, g.Ask[kind].Words(), "the owner")
	}
	limit := g.Limit
	if limit == "" {
		limit = "none"
	}
	add("limit", limit, "none")
	for _, a := range r.Agents(g.ID) {
		add("mode of "+a.ID, a.Mode, "active")
	}
	return out, nil
}
