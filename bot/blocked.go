package bot

import (
	"context"
	"encoding/json"

	"loopx/adapters/chat"
	"loopx/adapters/console"
	"loopx/inbox"
	"loopx/kernel/store"
)

// secret names what a message seems to hold that must not leave the machine;
// empty for nothing.
func (o *outbox) secret(out chat.Outgoing) string {
	if o.scan == nil {
		return ""
	}
	if out.File != nil {
		return fileSecret(o, out.File)
	}
	if what := o.scan.Find(out.Text); what != "" || out.Card == nil {
		return what
	}
	// The plain form leaves addresses of links out.
	raw, err := json.Marshal(out.Card)
	if err != nil {
		return ""
	}
	return o.scan.Find(string(raw))
}

// blocked keeps a message here for good and tells the owner on the page, which
// never leaves the machine. What was found is not repeated.
func (o *outbox) blocked(ctx context.Context, it *inbox.Item, what string) error {
	o.log.Warn("a message was held back: it seems to hold what must not leave the machine", "item", it.ID, "kind", it.Kind, "what", what)
	return o.k.Store().Update(ctx, func(tx store.Tx) error {
		r, err := o.k.ReaderOf(tx)
		if err != nil {
			return err
		}
		text := heldBackWords(languageOf(r, "owner"), it, o.name, what)
		in := inbox.Over(tx)
		if err := in.Failed(it.ID, chat.Invalid, 0, "held back: "+what); err != nil {
			return err
		}
		if err := in.Count("held_back"); err != nil {
			return err
		}
		return in.AddText("held-back/"+it.ID, chat.Place{Connection: consoleName, Conversation: console.Conversation}, text)
	})
}

// heldBackWords tells the owner that something was not sent and why.
func heldBackWords(lang string, it *inbox.Item, connection, what string) string {
	subject, subjectZH := "A message", "一条消息"
	switch {
	case it.Gate != "":
		subject, subjectZH = "The card of "+it.Gate, it.Gate+" 的卡片"
	case it.File != nil:
		subject, subjectZH = "The file "+it.File.Name, "文件 "+it.File.Name
	}
	if lang == "zh" {
		return "发往 " + connection + " 的内容已被拦下（" + subjectZH + "）：其中似乎含有 " + what + "。没有发送任何部分。请在这里或终端回答；去掉后可以重放发送。"
	}
	return subject + " for " + connection + " was held back: it seems to hold a " + what + ". Nothing of it was sent. Answer here or at a terminal; without it, it goes out after a replay."
}
