// Package bot is the daemon: it holds the workspace, serves the local API and
// page, lets chat events in and writes what is owed. It is the only room that
// may know all others.
package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/failpoint"
	"loopx/routing"
)

// sink is the way of every event of one connection: dedupe, verdict, effect and
// mark in one transaction; the adapter acknowledges after it is durable.
type sink struct {
	k        *kernel.Kernel
	platform chat.Platform
	log      *slog.Logger
	// local resolves the people of the page, who prove themselves to it and not
	// through a link; nil on platforms.
	local func(chat.User) (kernel.Actor, bool)
	// zone is that of people who have not said theirs.
	zone *time.Location
	// tenant is the connection's own; nil where there is none.
	tenant func() string
	// heard takes what was said in our own name; nil where nobody else can.
	heard *overheard
	// state is how the daemon is, for /status.
	state botState
}

// botState is what /status says of the daemon; connections reads them as they
// are when it is asked.
type botState struct {
	version, machine string
	since            int64 // UTC ms
	down             int64 // since when nobody listened before that, UTC ms; 0 is not known
	connections      func() []client.Connection
}

// Accept implements chat.Sink.
func (s *sink) Accept(ctx context.Context, e chat.Event) (chat.Answer, error) {
	failpoint.Hit(failpoint.SinkReceived)
	var answer chat.Answer
	err := s.k.Store().Update(ctx, func(tx store.Tx) error {
		var err error
		answer, err = s.handle(tx, e)
		return err
	})
	if err != nil {
		s.log.Warn("event not accepted", "event", e.ID, "kind", e.Kind, "err", err)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return chat.Answer{}, err
		}
		return chat.Answer{}, kernel.AsError(err)
	}
	failpoint.Hit(failpoint.SinkCommitted)
	return answer, nil
}

func (s *sink) handle(tx store.Tx, e chat.Event) (chat.Answer, error) {
	in := inbox.Over(tx)
	seen, err := in.Seen(e)
	if err != nil {
		return chat.Answer{}, err
	}
	if seen != nil && (e.History || !seen.Fetched) {
		return seen.Answer, nil
	}
	if s.platform == chat.Lark && seen == nil {
		if again, err := inbox.Returned(in, e); again || err != nil {
			return chat.Answer{}, err
		}
	}
	r, err := s.k.ReaderOf(tx)
	if err != nil {
		return chat.Answer{}, err
	}
	actor, known := s.actor(r, e)
	if err := s.writable(tx, r, e, known); err != nil {
		return chat.Answer{}, err
	}
	f, err := factsOf(r, e, actor, known, homeOf(s))
	if err != nil {
		return chat.Answer{}, err
	}
	v := routing.Decide(e, f)
	if seen != nil {
		if starts, err := s.starts(tx, e, v, seen.Verdict); !starts || err != nil {
			return seen.Answer, err
		}
	}
	if burned, err := s.spilled(tx, in, e, v); burned || err != nil {
		return chat.Answer{}, errors.Join(err, in.Handled(e, string(routing.Burn), chat.Answer{}))
	}
	answer, err := s.act(tx, in, r, e, v, actor, known)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return chat.Answer{}, err
	}
	verdict := string(v.Action)
	if v.Action == routing.Drop {
		verdict = "drop:" + v.Reason
		if err := in.Count(verdict); err != nil {
			return chat.Answer{}, err
		}
		if v.Reason == routing.ReasonSelf {
			s.heard.self(e, r.Now())
		}
		if v.Reason == routing.ReasonSelf || v.Reason == routing.ReasonMalformed {
			return answer, nil // own messages never become rows
		}
	}
	return answer, in.Handled(e, verdict, answer)
}

// starts says whether an event that was fetched before, and started nothing then,
// does now that it is pushed.
func (s *sink) starts(tx store.Tx, e chat.Event, v routing.Verdict, before string) (bool, error) {
	if v.Action == routing.Drop || v.Action == routing.Missed {
		return false, nil
	}
	m, err := inbox.MailOver(tx, s.k)
	if err != nil {
		return false, err
	}
	again, err := m.Pushed(e, before)
	if again && err == nil {
		err = inbox.Over(tx).Count("pushed_after_fetched")
	}
	return again, err
}

// homeOf is the connection's own tenant, "" while it is not known.
func homeOf(s *sink) string {
	if s.tenant == nil {
		return ""
	}
	return s.tenant()
}

func (s *sink) actor(r *kernel.Reader, e chat.Event) (kernel.Actor, bool) {
	if s.local != nil {
		return s.local(e.Sender)
	}
	return inbox.ActorOf(r, s.platform, e)
}

func (s *sink) act(tx store.Tx, in *inbox.Tx, r *kernel.Reader, e chat.Event, v routing.Verdict, actor kernel.Actor, known bool) (chat.Answer, error) {
	if done, err := s.talk(tx, r, e, v, actor); done || err != nil {
		return chat.Answer{}, err
	}
	plans := &planner{s: s, tx: tx, in: in, r: r, e: e}
	switch v.Action {
	case routing.Press:
		if done, code, notice, err := plans.press(actor, known); done || err != nil {
			return chat.Answer{Notice: notice}, errors.Join(err, in.Count("press:"+code))
		}
		out, err := in.Press(s.k, e, actor, known)
		if err != nil {
			return chat.Answer{}, err
		}
		if err := in.Count("press:" + out.Code); err != nil {
			return chat.Answer{}, err
		}
		if out.Code == inbox.StepSnooze {
			text, err := s.snooze(tx, r, out, actor)
			return chat.Answer{Notice: text}, err
		}
		return chat.Answer{Notice: pressWords(languageOf(r, actor.ID), whoAnswers(r, out.Gate), out)}, nil
	case routing.Link, routing.Burn:
		text, err := s.link(tx, in, e, v)
		if err != nil || text == "" {
			return chat.Answer{}, err
		}
		return chat.Answer{}, in.AddText("link/"+e.Place.Connection+"/"+e.Message.ID, e.Place, text)
	case routing.Command, routing.Unknown:
		if done, err := plans.asked(v, actor); done || err != nil {
			return chat.Answer{}, err
		}
		return chat.Answer{}, plans.words(v, actor)
	case routing.Added:
		lang := "en"
		if p := r.Person("owner"); p != nil {
			lang = languageOf(r, p.ID)
		}
		return chat.Answer{}, in.AddText("added/"+e.Place.Connection+"/"+e.Place.Conversation, e.Place, aboutWords(r, lang))
	case routing.Stray:
		if done, err := plans.invited(); done || err != nil {
			return chat.Answer{}, err
		}
		if err := in.Count("stray_message"); err != nil {
			return chat.Answer{}, err
		}
		if ok, err := inbox.MayNotice(in, e.Place.Connection); err != nil || !ok {
			return chat.Answer{}, errors.Join(err, in.Count("stray_unanswered"))
		}
		// One notice a day and identity: the key is the meaning.
		day := r.Now() / (24 * 3600 * 1000)
		text := "I don't know you here yet. " + askToAdd(r) + " 我还不认识你，请让所有者添加你。"
		return chat.Answer{}, in.AddText(fmt.Sprintf("stray/%s/%s/%s/%d", e.Place.Connection, e.Sender.Tenant, e.Sender.ID, day), e.Place, text)
	}
	return chat.Answer{}, nil
}

func askToAdd(r *kernel.Reader) string {
	if p := r.Person("owner"); p != nil && p.Name != "owner" {
		return "Ask " + p.Name + " to add you."
	}
	return "Ask the owner to add you: they run `loopx link`."
}

// link redeems or burns a one-time code.
func (s *sink) link(tx store.Tx, in *inbox.Tx, e chat.Event, v routing.Verdict) (string, error) {
	if v.Action != routing.Burn { // what others can read is burned whoever wrote it and however often
		ok, err := in.TryLink(e)
		if err != nil {
			return "", err
		}
		if !ok {
			return "Too many codes were tried. Wait an hour, then ask for a new one with `loopx link`.\n尝试的代码太多。请等一小时，再用 `loopx link` 取新的代码。", nil
		}
	}
	rec, err := s.k.DoTx(tx, &kernel.RedeemLinkCode{
		Digest: kernel.CodeDigest(v.Word), Platform: string(s.platform), Connection: e.Place.Connection,
		Tenant: e.Sender.Tenant, User: e.Sender.ID, UserName: e.Sender.Name, Private: e.Place.Conversation, Burn: v.Action == routing.Burn,
	}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: string(s.platform)}})
	if err != nil {
		if e, ok := errors.AsType[*kernel.Error](err); ok && e.Class == kernel.NotFound {
			if v.Action == routing.Burn {
				return "", nil
			}
			return "I don't know this code, or it is older than ten minutes. A new one comes from `loopx link`.\n没有这个代码，或已超过十分钟。请用 `loopx link` 取新的代码。", nil
		}
		return "", err
	}
	if v.Action == routing.Burn {
		return "That code was typed where others can read it, so it no longer works. Get a new one with `loopx link` and send it to me privately.\n这个代码写在了别人能看到的地方，已作废。请用 `loopx link` 取新的代码，私下发给我。", nil
	}
	if strings.Contains(string(rec.Result), `"status":"linked"`) {
		return "You are linked already.\n你已经关联过了。", nil
	}
	return "Almost done. The machine where loopx runs now shows your account: confirm it there (`loopx link confirm`). Decisions will come here.\n就差一步：运行 loopx 的机器上现在显示了你的账号，请在那里确认（`loopx link confirm`）。之后待决事项会发到这里。", nil
}
