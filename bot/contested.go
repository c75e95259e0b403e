package bot

import (
	"context"
	"sync"
	"time"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel/store"
)

// What a connection's health says once somebody else spoke in its name.
const (
	contestedDetail = "a message appeared in this bot's own name that it never sent: another process uses the same token, or somebody has it"
	contestedFix    = "stop the other process, or reset the token at the platform and store the new one; nothing is sent until then or until loopx-bot is started anew"
)

// contested marks an adapter in whose name somebody else spoke. Another adapter,
// made with other credentials, is not.
type contested struct {
	of    chat.Adapter
	since int64 // UTC ms
}

// contest makes the connection send nothing any more.
func (r *renewed) contest(now int64) {
	r.contested.Store(&contested{of: r.adapter(), since: now})
}

// Bounds of what is heard in our own name. A platform's word that a message
// exists may overtake its answer to the call that wrote it, so each is looked at
// only after a while.
const (
	heardMost  = 1000
	heardAfter = 10 * time.Second
)

// overheard keeps the messages that appeared in our own name until it is known that
// we wrote them.
type overheard struct {
	mu   sync.Mutex
	list []claim
}

type claim struct {
	place chat.Place
	said  string
	at    int64 // UTC ms, when it was heard
}

// self notes a message in our own name. One that was fetched is none: what was
// written before this state folder was there is not known here.
func (h *overheard) self(e chat.Event, now int64) {
	if h == nil || e.Kind != chat.MessageSent || e.History || e.Message == nil || e.Message.ID == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) < heardMost { // what is beyond is not needed to know
		h.list = append(h.list, claim{e.Place, e.Message.ID, now})
	}
}

// take returns what is old enough to be judged.
func (h *overheard) take(now int64) []claim {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for n < len(h.list) && now-h.list[n].at >= heardAfter.Milliseconds() {
		n++
	}
	out := h.list[:n:n]
	h.list = h.list[n:]
	return out
}

// back waits longer for what cannot be judged yet.
func (h *overheard) back(c claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, c)
}

// judge looks whether everything that was said in our own name was written by
// us. A message that we did not write means that the token has another holder:
// the connection sends nothing more, and its owner is told elsewhere.
func judge(ctx context.Context, e *engine) error {
	for _, c := range e.conns {
		now := e.now().UnixMilli()
		for _, x := range c.sink.heard.take(now) {
			ours, open := false, false
			err := e.k.Store().View(ctx, func(tx store.ReadTx) error {
				it, err := inbox.Ours(tx, c.name, x.place.Conversation, x.said)
				if ours = it != nil; err != nil || ours {
					return err
				}
				open, err = inbox.Unresolved(tx, c.name, x.place.Conversation)
				return err
			})
			switch {
			case err != nil:
				c.sink.heard.back(x)
				return err
			case ours:
				continue
			case open:
				c.sink.heard.back(x) // it may be that one; the outbox looks it up
				continue
			}
			if err := contest(ctx, e, c, x, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// contest stops a connection and tells the owner on all others.
func contest(ctx context.Context, e *engine, c *connection, x claim, now int64) error {
	r, ok := c.adapter.(*renewed)
	if !ok || c.adapter.Health().State == chat.Contested {
		return nil
	}
	r.contest(now)
	e.log.Error("somebody else speaks in the name of a connection", "connection", c.name, "message", x.said)
	return e.k.Store().Update(ctx, func(tx store.Tx) error {
		rd, err := e.k.ReaderOf(tx)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, o := range e.conns {
			known[o.name] = o.name != c.name
		}
		for _, s := range owners(rd, "", known) {
			text := "The connection " + c.name + " sends nothing any more: " + contestedDetail + ". To mend it: " + contestedFix + "."
			if languageOf(rd, s.Person) == "zh" {
				text = "连接 " + c.name + " 已停止发送：出现了一条以本机器人名义发出、但并非由它发出的消息。可能有另一个进程在使用同一个令牌，或者令牌已泄露。请停止另一个进程，或在平台上重置令牌并保存新的令牌；在此之前（或重新启动 loopx-bot 之前）不会再发送任何内容。"
			}
			if err := inbox.Over(tx).AddText("contested/"+c.name+"/"+x.said+"/"+s.Place.Connection, s.Place, text); err != nil {
				return err
			}
		}
		return rd.Err()
	})
}
