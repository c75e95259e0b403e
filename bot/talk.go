package bot

import (
	"strings"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// talk does what a verdict says about a person's message to an agent, in the
// transaction of the event. It reports whether the verdict was one of these.
func (s *sink) talk(tx store.Tx, r *kernel.Reader, e chat.Event, v routing.Verdict, actor kernel.Actor) (bool, error) {
	m, err := inbox.MailOver(tx, s.k)
	if err != nil {
		return true, err
	}
	person := actor.ID
	if v.Members {
		if err := inbox.MemberTurn(inbox.Over(tx), e); err != nil {
			return true, err
		}
	}
	if v.Action != routing.Drop && e.Kind == chat.MessageSent {
		if err := m.Wrote(e); err != nil {
			return true, err
		}
	}
	switch v.Action {
	case routing.Steer, routing.Queue, routing.Inbox, routing.Turn:
		_, err = m.Admit(e, s.platform, person, v)
	case routing.Context:
		err = m.Keep(e, s.platform, person, manager(r, e.Place), v.Reason, v.Tainted)
	case routing.Missed:
		err = missed(s, tx, m, r, e, person, v)
	case routing.Choice:
		if len(v.Gates) > 0 {
			err = inbox.Over(tx).AddText(replyKey(e), v.Place.Place, gateChoice(r, v, person))
			break
		}
		err = m.Ask(e, s.platform, person, v)
	case routing.Refuse:
		if v.Offer != "" && v.Target.Goal != "" {
			_, err = m.Refuse(e, s.platform, person, v)
			break
		}
		key, reason, about := refused(v, e)
		err = inbox.Over(tx).AddText(key, placeOf(v, e), cards.Refusal(languageOf(r, person), reason, about))
	case routing.Edited:
		_, err = m.Edit(e, v.Text)
	case routing.Deleted:
		_, err = m.Delete(e)
	case routing.Answer:
		err = s.textAnswer(tx, r, e, v, actor)
	case routing.Removed:
		err = s.leave(tx, r, e)
	default:
		if v.Keep {
			err = m.Keep(e, s.platform, person, manager(r, e.Place), v.Reason, v.Tainted)
		}
		return false, err
	}
	if err == nil && v.Keep {
		err = m.Keep(e, s.platform, person, manager(r, e.Place), v.Reason, v.Tainted)
	}
	return true, err
}

// refused is the key of a refusal's text and what it is about. That a thread
// needs mentions is said once in it.
func refused(v routing.Verdict, e chat.Event) (key, reason, about string) {
	switch {
	case v.Reason == routing.ReasonSecond:
		return "second/" + e.Place.Connection + "/" + e.Place.Conversation + "/" + e.Place.Thread, v.Reason, ""
	case len(v.Gates) > 0 && v.Reason == routing.ReasonRight:
		return replyKey(e), "gate_right", v.Gates[0].Code
	case len(v.Gates) > 0:
		return replyKey(e), v.Reason, v.Gates[0].Code
	case v.Word != "":
		return replyKey(e), v.Reason, v.Word
	}
	return replyKey(e), v.Reason, v.Target.Agent
}

// manager is the one Manager's binding of a group, or "": with none or two
// nothing is kept.
func manager(r *kernel.Reader, p chat.Place) string {
	id := ""
	for _, b := range r.BindingsOf(p.Connection, p.Conversation) {
		if b.Role != kernel.BindManager || b.State != kernel.BindActive {
			continue
		}
		if id != "" {
			return ""
		}
		id = b.ID
	}
	return id
}

func replyKey(e chat.Event) string {
	return "reply/" + e.Place.Connection + "/" + e.Place.Conversation + "/" + e.Message.ID
}

// placeOf is the frozen reply place of a verdict, or where the event came from.
func placeOf(v routing.Verdict, e chat.Event) chat.Place {
	if v.Place.Place.Conversation != "" {
		return v.Place.Place
	}
	return e.Place
}

func languageOf(r *kernel.Reader, person string) string {
	if p := r.Person(person); p != nil && p.Language == "zh" {
		return "zh"
	}
	return "en"
}

// gateChoice lists the decisions a text could have meant, with what to write.
func gateChoice(r *kernel.Reader, v routing.Verdict, person string) string {
	lines := []string{"More than one waits here, so nothing was decided. Which one?"}
	write := "Write for example: yes "
	if languageOf(r, person) == "zh" {
		lines[0], write = "这里有多个待决事项，没有做出任何决定。是哪一个？", "请写明编号，例如：同意 "
	}
	for _, g := range v.Gates {
		line := g.Code
		if full := r.Gate(g.Goal, g.ID); full != nil {
			line += "  " + full.Question
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, write+v.Gates[0].Code), "\n")
}

// answerWords is what a decision by text is answered with: what was decided, in
// the decision's own words, or that others must agree.
func answerWords(r *kernel.Reader, v routing.Verdict, actor kernel.Actor) string {
	zh := languageOf(r, actor.ID) == "zh"
	g := r.Gate(v.Target.Goal, v.Answer.Gate)
	switch {
	case g != nil && g.Answer == nil && zh:
		return "你对 " + v.Answer.Code + " 的回答已计入，需其他人一致后生效。"
	case g != nil && g.Answer == nil:
		return "Your answer to " + v.Answer.Code + " counts. It is decided when others agree."
	case g != nil && zh:
		return v.Answer.Code + " 由 " + g.Answer.Name + " 决定：" + g.Answer.Label
	case g != nil:
		return v.Answer.Code + " is decided by " + g.Answer.Name + ": " + g.Answer.Label
	}
	return v.Answer.Code
}

// textAnswer answers a gate by a text. The kernel checks the right again and is
// the only one to say yes.
func (s *sink) textAnswer(tx store.Tx, r *kernel.Reader, e chat.Event, v routing.Verdict, actor kernel.Actor) error {
	in := inbox.Over(tx)
	_, err := s.k.DoTx(tx, &kernel.AnswerGate{Goal: v.Target.Goal, Gate: v.Answer.Gate, Option: v.Answer.Option, Reason: v.Answer.Reason}, kernel.Options{By: actor})
	if err == nil {
		return in.AddText(replyKey(e), placeOf(v, e), answerWords(r, v, actor))
	}
	lang := languageOf(r, actor.ID)
	text := v.Answer.Code + " was not decided: " + refusedBecause(lang, err) + "."
	if lang == "zh" {
		text = v.Answer.Code + " 没有决定：" + refusedBecause(lang, err) + "。"
	}
	return in.AddText(replyKey(e), placeOf(v, e), text)
}

// leave marks the bindings of a conversation that the bot is in no longer.
func (s *sink) leave(tx store.Tx, r *kernel.Reader, e chat.Event) error {
	for _, b := range r.BindingsOf(e.Place.Connection, e.Place.Conversation) {
		if b.State == kernel.BindBroken {
			continue
		}
		_, err := s.k.DoTx(tx, &kernel.SetBindingState{Binding: b.ID, State: kernel.BindBroken, Reason: "the bot is in this conversation no longer"},
			kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: string(s.platform)}})
		if err != nil {
			return err
		}
	}
	return nil
}
