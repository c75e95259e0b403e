package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"loopx/kernel"
)

// Texts that must be found, and texts of everyday work that must not. The secrets
// are put together here, so that none stands in the repository.
func TestScanner(t *testing.T) {
	s := newScanner()
	a := strings.Repeat
	for text, want := range map[string]string{
		"-----BEGIN RSA PRIVATE" + " KEY-----":                    "private key",
		"use xoxb" + "-1234567890-abcdefghij":                     "Slack token",
		"xapp" + "-1-A0123456789-1234567890":                      "Slack token",
		"https://hooks.slack" + ".com/services/T0/B0/abc":         "Slack webhook",
		"https://discord" + ".com/api/webhooks/123/abc-d":         "Discord webhook",
		"M" + a("a", 25) + "." + a("b", 6) + "." + a("c", 27):     "Discord token",
		"ghp" + "_" + a("a1", 18):                                 "GitHub token",
		"glpat" + "-" + a("a1", 12):                               "GitLab token",
		"AKIA" + a("A", 16):                                       "AWS key",
		"AIza" + a("x", 35):                                       "Google key",
		"sk" + "-proj-" + a("a", 24):                              "API key",
		"eyJ" + a("a", 10) + ".eyJ" + a("b", 10) + ".sig":         "JSON web token",
		"lease" + "_abcd1234":                                     "lease token",
		"postgres://wei:hunter2@db/site":                          "password in an address",
		"Authorization: Bearer " + a("a1B", 10):                   "authorization header",
		"DB_PASSWORD=correct-horse-9":                             "password or key",
		`"api_key": "abcdef123456"`:                               "password or key",
		"see /home/wei/site/notes.md":                             "private path",
		"in (/Users/ana/site)":                                    "private path",
		`C:\Users\ana\site`:                                       "private path",
		"cat ~/.ssh/config":                                       "private path",
		"runs on 192.168.1.20":                                    "private address",
		"Write the FAQ about pricing":                             "",
		"password: required":                                      "",
		"Rotate the token in the vault":                           "",
		"docs/guides/backup.md and ./cmd/loopx":                   "",
		"https://example.com/home/team":                           "",
		"usr/home/x is relative":                                  "",
		"tests 212/212 in 3.4 s":                                  "",
		"a task-force-of-twenty-people-and-more meets":            "",
		"version 10.2.1 and 172.1.2.3":                            "",
		"todo_4k2p81zx is held by builder; gate_ekr19zyr":         "",
		"价格页面已发布":                                                 "",
		"~10 % faster":                                            "",
		"f506d0b2ecb184b193d0de4d9ce1bc06aa75d999109b188d7ac2484": "",
	} {
		if got := s.scan(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// The refusal names places, at most ten, and never what stands there.
func TestPublicNamesPlaces(t *testing.T) {
	secret := "ghp" + "_" + strings.Repeat("a1", 18)
	list := make([]string, 12)
	for i := range list {
		list[i] = secret
	}
	raw, err := json.Marshal(map[string]any{"todos": list, "fine": 1, "nothing": nil})
	if err != nil {
		t.Fatal(err)
	}
	e := kernel.AsError(public(raw))
	if e == nil || e.Code != "not_public" || !strings.Contains(e.Message, "12 places look private: todos.0 (GitHub token)") || !strings.Contains(e.Message, "and 2 more") {
		t.Fatalf("got %v", e)
	}
	if len(e.Details) != 10 || strings.Contains(e.Message, secret) {
		t.Errorf("details %v, message %s", e.Details, e.Message)
	}
	if err := public([]byte(`{"a":["b",1,true]}`)); err != nil {
		t.Errorf("got %v", err)
	}
}
