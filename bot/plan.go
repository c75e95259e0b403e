package bot

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/bot/cards"
	"loopx/bot/client"
	"loopx/inbox"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/routing"
)

// planner previews commands that people type and does them when they press. All
// of it happens in the transaction of the event.
type planner struct {
	s  *sink
	tx store.Tx
	in *inbox.Tx
	r  *kernel.Reader
	e  chat.Event
}

// asked answers a command that changes something with a card to confirm, or at
// once with words. It reports whether the command is one of these.
func (p *planner) asked(v routing.Verdict, actor kernel.Actor) (bool, error) {
	lang := languageOf(p.r, actor.ID)
	q := p.request(v, actor)
	w, ok := q.wants()
	if !ok {
		return false, p.r.Err()
	}
	place, ok, err := p.place(q)
	if err != nil || !ok {
		return true, err
	}
	if w.text != "" || len(w.commands) == 0 {
		return true, p.in.AddText(replyKey(p.e), place, w.text)
	}
	plan := inbox.Plan{Asker: actor.ID, Tenant: p.e.Sender.Tenant, User: p.e.Sender.ID, Lang: lang, Goal: w.goal, Warn: w.warn}
	if plan.Commands, err = wire(w.commands); err != nil {
		return true, err
	}
	if err := p.preview(&plan, w.commands, actor); err != nil {
		ke, ok := errors.AsType[*kernel.Error](err)
		if !ok {
			return true, err
		}
		return true, p.in.AddText(replyKey(p.e), place, refusalWords(q.lang(), ke))
	}
	if w.once {
		for _, cmd := range w.commands {
			if _, err := p.s.k.DoTx(p.tx, cmd, kernel.Options{By: actor}); err != nil {
				return true, err
			}
		}
		return true, p.in.AddText(replyKey(p.e), place, w.done)
	}
	if w.now {
		plan.Rev = ""
	}
	return true, inbox.AddPlan(p.in, replyKey(p.e), place, p.r.Steady(), plan)
}

// request is what a person asks for, with who reads along.
func (p *planner) request(v routing.Verdict, actor kernel.Actor) *request {
	state := p.s.state
	if state.version == "" {
		state.version = client.Version
	}
	return &request{r: p.r, e: p.e, platform: p.s.platform, actor: actor, in: v.Intent, zh: languageOf(p.r, actor.ID) == "zh", place: audienceOf(p.r, p.e, p.s.local != nil), bot: state}
}

// words answers a command that changes no more than how a person is asked.
func (p *planner) words(v routing.Verdict, actor kernel.Actor) error {
	q := p.request(v, actor)
	if personal(v.Word) {
		if _, ok := p.privately(); !ok { // before anything is done: its answer would reach nobody
			return p.tell(q, said{private: " "})
		}
		text, done, err := p.s.attentionCommand(p.tx, p.r, v, actor)
		if err == nil && !done {
			text, done, err = p.s.awayCommand(p.tx, q)
		}
		if err != nil || done {
			return errors.Join(err, p.tell(q, said{private: text}))
		}
	}
	a, err := commandWords(q)
	if err != nil {
		return err
	}
	return p.tell(q, a)
}

// personal commands are about the person alone.
func personal(word string) bool {
	return word == "mute" || word == "snooze" || word == "quiet" || word == "away"
}

// place is where only the asker reads the answer. In the open a line says so.
func (p *planner) place(q *request) (chat.Place, bool, error) {
	place, ok := p.privately()
	if ok && place == p.e.Place {
		return place, true, nil
	}
	line := q.say("I answer you privately.", "我私下回复你。")
	if !ok {
		line = writeFirst(q)
		if err := p.in.Count("command_in_the_open"); err != nil {
			return place, false, err
		}
	}
	return place, ok, p.in.AddText(replyKey(p.e)+"/where", p.e.Place, line)
}

func wire(list []kernel.Command) ([]inbox.PlanCommand, error) {
	var out []inbox.PlanCommand
	for _, c := range list {
		b, err := kernel.Marshal(c)
		if err != nil {
			return nil, err
		}
		out = append(out, inbox.PlanCommand{Name: c.Name(), Args: b})
	}
	return out, nil
}

func unwire(list []inbox.PlanCommand) ([]kernel.Command, error) {
	var out []kernel.Command
	for _, c := range list {
		cmd, err := kernel.DecodeCommand(c.Name, c.Args)
		if err != nil {
			return nil, err
		}
		out = append(out, cmd)
	}
	return out, nil
}

// preview fills in what the commands would do now. Nothing of it is written.
func (p *planner) preview(plan *inbox.Plan, list []kernel.Command, actor kernel.Actor) error {
	world := store.NewOverlay(p.tx, store.Limits{})
	var revs, lines []string
	for _, cmd := range list {
		if !allowed(p.r, actor, cmd) {
			return kernel.Errorf(kernel.Denied, "not_yours", "you may not do that here")
		}
		rec, err := p.s.k.DoTx(world, cmd, kernel.Options{By: actor, Preview: true})
		if err != nil {
			return err
		}
		var result map[string]any
		if err := json.Unmarshal(rec.Result, &result); err != nil {
			return err
		}
		revs = append(revs, rec.Plan)
		lines = append(lines, cards.PlanLines(plan.Lang, cmd, result)...)
	}
	plan.Rev, plan.Lines = strings.Join(revs, ","), lines
	return nil
}

// press handles a button of a plan, in the order of the contract. It reports
// whether the button is a plan's.
func (p *planner) press(actor kernel.Actor, known bool) (done bool, code string, notice string, err error) {
	it, b, err := inbox.PlanOf(p.in, p.e.Press.Action)
	if it == nil || err != nil {
		return false, "", "", err
	}
	plan := it.Plan
	say := func(code, en, zh string) (bool, string, string, error) {
		if plan.Lang == "zh" {
			en = zh
		}
		return true, code, en, nil
	}
	mine := plan.Tenant == p.e.Sender.Tenant && plan.User == p.e.Sender.ID
	if p.s.local != nil {
		mine = true // the page is one account; who sits there proved it to the page
	}
	if plan.Asker != "" {
		mine = mine && known && actor.ID == plan.Asker
	}
	switch {
	case !inbox.HangsAt(it, p.e):
		return say("other_place", "This is a copy of a card. Press on the original.", "这是卡片的副本，请在原卡片上操作。")
	case !mine || p.e.Sender.Kind != chat.Human:
		return say("wrong_person", "Only who asked for it confirms it.", "只有提出的人能确认。")
	case plan.State != inbox.PlanOpen:
		return say("plan_over", "That is settled already. Nothing was done twice.", "已经处理过了，没有重复执行。")
	case plan.Until < p.r.Steady():
		plan.State = inbox.PlanExpired
		if err := inbox.RedrawPlan(p.in, it); err != nil {
			return true, "", "", err
		}
		return say("plan_expired", "Fifteen minutes are over. Ask for it again; nothing was changed.", "已超过 15 分钟，请重新提出；什么都没有改变。")
	case it.Was(p.e.Press.Message):
		return say("stale", "This card is out of date. The new one is below.", "这张卡片已过期，新卡片在下方。")
	case b.Gen != it.Gen:
		return say("stale", "This card is out of date. It shows the newest state now.", "这张卡片已过期，现在显示最新状态。")
	}
	if plan.Asker == "" { // an invited account acts through the bot
		actor = kernel.Actor{Kind: kernel.ByBot, Surface: string(p.s.platform)}
	}
	code, notice, err = p.step(it, b.Step, actor)
	return true, code, notice, err
}

func (p *planner) step(it *inbox.Item, step string, actor kernel.Actor) (code, notice string, err error) {
	plan := it.Plan
	do, state := plan.Commands, inbox.PlanDone
	if step != inbox.StepConfirm {
		do, state = plan.Decline, inbox.PlanCancelled
	}
	list, err := unwire(do)
	if err != nil {
		return "", "", err
	}
	now := *plan
	if err := p.preview(&now, list, actor); err != nil {
		ke, ok := errors.AsType[*kernel.Error](err)
		if !ok {
			return "", "", err
		}
		plan.State, plan.Said = inbox.PlanFailed, refusedBecause(plan.Lang, ke)
		return "plan_refused", "", inbox.RedrawPlan(p.in, it)
	}
	if step == inbox.StepConfirm && plan.Rev != "" && now.Rev != plan.Rev {
		// Something moved since it was shown: it is shown again and not done.
		plan.Rev, plan.Lines = now.Rev, now.Lines
		notice = "What it would do has changed. The card shows it anew; nothing was changed."
		if plan.Lang == "zh" {
			notice = "结果已变化，卡片已更新；什么都没有改变。"
		}
		return "plan_stale", notice, inbox.RedrawPlan(p.in, it)
	}
	for i, cmd := range list {
		rec, err := p.s.k.DoTx(p.tx, cmd, kernel.Options{By: actor, Key: "chat/" + it.ID + "/" + step + "/" + strconv.Itoa(i)})
		if err != nil {
			return "", "", err
		}
		plan.Receipt = rec.ID
	}
	plan.State, plan.Said, plan.At = state, actor.Name, p.r.Now()
	return "plan_" + state, "", inbox.RedrawPlan(p.in, it)
}

// invited shows an invitation to who writes privately for the first time. It
// reports whether there is one.
func (p *planner) invited() (bool, error) {
	a := p.r.Principal(string(p.s.platform), p.e.Place.Connection, p.e.Sender.Tenant, p.e.Sender.ID)
	if a == nil || a.Status != kernel.LinkInvited || !p.e.Private || p.e.Sender.Kind != chat.Human {
		return false, nil
	}
	c := &kernel.AcceptRole{Platform: a.Platform, Connection: a.Connection, Tenant: a.Tenant, User: a.User, UserName: p.e.Sender.Name, Private: p.e.Place.Conversation}
	no := *c
	no.Decline = true
	plan := inbox.Plan{Tenant: a.Tenant, User: a.User, Lang: languageOf(p.r, a.Person)}
	var err error
	if plan.Commands, err = wire([]kernel.Command{c}); err == nil {
		plan.Decline, err = wire([]kernel.Command{&no})
	}
	if err != nil {
		return true, err
	}
	err = p.preview(&plan, []kernel.Command{c}, kernel.Actor{Kind: kernel.ByBot, Surface: string(p.s.platform)})
	if err != nil {
		if _, ok := errors.AsType[*kernel.Error](err); ok {
			return false, nil // taken back meanwhile: a stranger like any other
		}
		return true, err
	}
	for _, v := range p.r.RolesBy(a.Person) {
		if g := p.r.Goal(v.Goal); g != nil && v.State == kernel.RolePending {
			plan.Lines = append(plan.Lines, cards.InvitationLine(plan.Lang, g.Title, v.Role))
		}
	}
	// One card while one is open: the window is that of a plan.
	window := strconv.FormatInt(p.r.Steady()/inbox.PlanMS, 10)
	return true, inbox.AddPlan(p.in, "invite/"+a.Connection+"/"+a.Tenant+"/"+a.User+"/"+window, p.e.Place, p.r.Steady(), plan)
}

// planCard draws a plan.
func planCard(r *kernel.Reader, it *inbox.Item, zone *time.Location) (chat.Card, error) {
	plan := it.Plan
	list, err := unwire(plan.Commands)
	if err != nil {
		return chat.Card{}, err
	}
	title, option := cards.PlanTitle(plan.Lang, list[0]), ""
	if g := r.Goal(plan.Goal); g != nil {
		title = g.Title + " · " + title
	}
	if plan.Asker == "" {
		option = "invitation"
	}
	c := cards.PlanCopy{Lang: plan.Lang, Title: title, Lines: plan.Lines, State: plan.State, Said: plan.Said, At: plan.At, Receipt: plan.Receipt, Warn: plan.Warn, Zone: zone}
	for _, b := range it.Buttons {
		c.Actions = append(c.Actions, cards.Action{ID: b.ID, Step: b.Step, Option: option})
	}
	return cards.Plan(c), nil
}
