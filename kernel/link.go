package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// CreateLinkCode makes a one-time code that turns a chat identity into the
// owner's. The caller keeps the code; only its digest is stored.
type CreateLinkCode struct {
	Digest string `json:"digest"`
	Person string `json:"person,omitempty"` // how the person is called; default owner
}

// Name implements Command.
func (*CreateLinkCode) Name() string { return "link.code" }

// CodeDigest normalises a code as people type it and digests it.
func CodeDigest(code string) string {
	code = strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(code)))
	sum := sha256.Sum256([]byte("loopx link " + code))
	return hex.EncodeToString(sum[:])
}

func (c *CreateLinkCode) decide(r *reader, e *env) (*decided, error) {
	if err := e.owner("linking a chat account"); err != nil {
		return nil, err
	}
	if len(c.Digest) != 64 || strings.Trim(c.Digest, "0123456789abcdef") != "" {
		return nil, Errorf(Invalid, "bad_digest", "this is not the fingerprint of a code")
	}
	if err := checkText("name", c.Person, 80, false); err != nil {
		return nil, err
	}
	p := ownerRow(r, e.now)
	p.Name, p.State, p.Revision, p.Updated = or(c.Person, p.Name), PersonActive, p.Revision+1, e.now
	l := &LinkCode{Digest: c.Digest, Person: p.ID, Purpose: "owner", Until: e.steady + codeMS, Created: e.now}
	return &decided{changed: true, result: map[string]any{"expires": rfc3339(e.now + codeMS)}, events: []Event{
		{Type: PersonAdded, Subject: p.ID, Person: p}, {Type: LinkCodeMade, Subject: p.ID, LinkCode: l}}}, nil
}

// ownerRow is the local owner, who is there before anybody said so. Language, zone
// and the like outlive a new code.
func ownerRow(r *reader, now int64) *Person {
	if old := r.Person("owner"); old != nil {
		p := *old
		p.Name, p.Owner = or(p.Name, "owner"), true
		return &p
	}
	return &Person{ID: "owner", Name: "owner", Owner: true, State: PersonActive, Created: now}
}

// RedeemLinkCode is a code typed into a private conversation with the bot. The
// identity waits for the owner's confirmation.
type RedeemLinkCode struct {
	Digest     string `json:"digest"`
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	UserName   string `json:"user_name,omitempty"`
	Private    string `json:"private"`
	// Burn is set when the code was typed where others could read it.
	Burn bool `json:"burn,omitempty"`
}

// Name implements Command.
func (*RedeemLinkCode) Name() string { return "link.redeem" }

func (c *RedeemLinkCode) decide(r *reader, e *env) (*decided, error) {
	if e.by.Kind != ByBot {
		return nil, Errorf(Denied, "chat_only", "a code is typed into a private chat with the bot")
	}
	err := firstErr(checkText("platform", c.Platform, 80, false), checkText("connection", c.Connection, 200, false), checkText("tenant", c.Tenant, 200, false),
		checkText("user", c.User, 200, false), checkText("conversation", c.Private, 400, false))
	if err != nil {
		return nil, err
	}
	l := get[LinkCode](r, tblLinkCode, c.Digest)
	if l == nil || l.Used || l.Until < e.steady {
		return nil, Errorf(NotFound, "code_unknown", "this code is not known, used or older than ten minutes").Try("loopx link")
	}
	used := *l
	used.Used = true
	out := &decided{changed: true, events: []Event{{Type: LinkCodeUsed, Subject: l.Person, LinkCode: &used}}, result: map[string]any{"status": "burned"}}
	if c.Burn {
		return out, nil
	}
	if old := r.Principal(c.Platform, c.Connection, c.Tenant, c.User); old != nil && old.Status == Linked {
		out.result = map[string]any{"status": "linked", "person": old.Person}
		return out, nil
	}
	p := &Principal{Platform: c.Platform, Connection: c.Connection, Tenant: c.Tenant, User: c.User, Name: plain(c.UserName, 80), Person: l.Person, Private: c.Private, Status: LinkPending, Since: e.now}
	out.events = append(out.events, Event{Type: PrincipalChanged, Subject: p.Person, Principal: p})
	out.result = map[string]any{"status": p.Status, "person": p.Person}
	return out, nil
}

// SettleLink confirms or revokes a chat identity: an owner's act at the local side.
type SettleLink struct {
	Platform   string `json:"platform"`
	Connection string `json:"connection"`
	Tenant     string `json:"tenant"`
	User       string `json:"user"`
	Revoke     bool   `json:"revoke,omitempty"`
}

// Name implements Command.
func (*SettleLink) Name() string { return "link.settle" }

func (c *SettleLink) decide(r *reader, e *env) (*decided, error) {
	if err := e.owner("confirming or revoking a link"); err != nil {
		return nil, err
	}
	p := r.Principal(c.Platform, c.Connection, c.Tenant, c.User)
	if p == nil {
		return nil, Errorf(NotFound, "link_not_found", "no such chat account is known").Try("loopx link list")
	}
	want := Linked
	if c.Revoke {
		want = LinkRevoked
	}
	out := &decided{result: map[string]any{"status": want, "person": p.Person, "user": p.User}}
	switch {
	case p.Status == want:
		return out, nil
	case c.Revoke:
		out.changed, out.events = true, revokeLink(r, e, p)
		return out, nil
	case p.Status == LinkRevoked:
		return nil, Errorf(Conflict, "link_revoked", "that account was revoked").Try("loopx link")
	case p.Status == LinkInvited:
		return nil, Errorf(Conflict, "link_invited", "that account was invited and its holder has not accepted").Try("they write to the bot privately")
	case p.Status != LinkPending:
		return nil, Errorf(Conflict, "link_suspended", "that account is suspended").Try("loopx link unsuspend")
	}
	n := *p
	n.Status, n.Since = want, e.now
	out.changed = true
	out.events = []Event{{Type: PrincipalChanged, Subject: p.Person, Principal: &n}}
	return out, nil
}
