package bot

import (
	"time"

	"loopx/kernel"
	"loopx/kernel/store"
)

// awayCommand does /away: the person's decisions go to somebody who may answer
// them already, until a date. It reports whether it was that command.
func (s *sink) awayCommand(tx store.Tx, q *request) (text string, done bool, err error) {
	a := q.in.Args
	if q.in.Command != "away" {
		return "", false, nil
	}
	c := &kernel.SetAway{Person: q.actor.ID}
	switch {
	case a.Off:
	case a.For == 0 && a.Until == "":
		if v := q.r.Away(q.actor.ID); v != nil {
			return q.say("You are away until ", "你已离开，至 ") + q.clock(v.Until) + q.say(".", "。"), true, q.r.Err()
		}
		return q.say("You are here. ", "你没有离开。") + usageWords(q, "away"), true, q.r.Err()
	default:
		at, ok := momentOf(a, time.UnixMilli(q.r.Now()).In(q.zone()))
		if !ok {
			return usageWords(q, "away"), true, nil
		}
		c.Until = at.UnixMilli()
	}
	name := ""
	if a.User != "" {
		p := q.r.Principal(string(q.platform), q.e.Place.Connection, q.e.Sender.Tenant, a.User)
		if p == nil || p.Status != kernel.Linked || !q.mentioned(a.User) {
			return q.say("I don't know them here, so they cannot answer for you. Nothing was changed.", "我不认识对方，不能由其代答。什么都没有改变。"), true, q.r.Err()
		}
		c.To, name = p.Person, p.Person
		if v := q.r.Person(p.Person); v != nil {
			name = v.Name
		}
	}
	if _, err := s.k.DoTx(tx, c, kernel.Options{By: q.actor}); err != nil {
		return refusalWords(q.lang(), err), true, nil
	}
	switch {
	case a.Off:
		return q.say("Welcome back. Decisions come to you again.", "欢迎回来，待决事项会再次发给你。"), true, nil
	case name != "":
		return q.say("You are away until "+q.clock(c.Until)+". "+name+" is asked what they may answer.", "你已离开，至 "+q.clock(c.Until)+"。"+name+" 会代你回答其有权回答的事项。"), true, nil
	}
	return q.say("You are away until "+q.clock(c.Until)+". The next approver is asked; where there is none, decisions wait.", "你已离开，至 "+q.clock(c.Until)+"。会询问下一位审批人；没有则等待。"), true, nil
}
