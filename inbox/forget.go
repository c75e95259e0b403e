package inbox

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"loopx/kernel"
	"loopx/kernel/store"
)

// ForgetMessages erases what a person said, or what was said in a conversation:
// texts, attachments' names, answers and the cards about them. What waits for an
// agent is taken back first. It looks at a piece and says where to go on; a
// caller repeats it with Next until More is false. An owner's act.
//
// The journal holds no chat text, so nothing that is erased breaks its replay.
// What the kernel keeps stays: who decided a gate, with the reason they gave.
type ForgetMessages struct {
	kernel.Outside
	// Person, or Connection and Conversation.
	Person       string `json:"person,omitempty"`
	Connection   string `json:"connection,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Next is where an earlier answer stopped.
	Next string `json:"next,omitempty"`
}

// Name implements kernel.Command.
func (*ForgetMessages) Name() string { return "inbox.forget" }

// ForgottenCount is the answer to ForgetMessages.
type ForgottenCount struct {
	Messages int    `json:"messages"` // erased in this piece
	Receipts int    `json:"receipts"` // answers to agents that held a text
	More     bool   `json:"more"`
	Next     string `json:"next,omitempty"`
}

// forgetPiece is how many rows one command looks at. Each may take a dozen
// others with it.
const forgetPiece = 50

// Run implements kernel.OutsideCommand.
func (c *ForgetMessages) Run(k *kernel.Kernel, tx store.Tx, opt kernel.Options) (kernel.Receipt, error) {
	return once(k, tx, c, opt, func(m *Mail) (any, bool, error) {
		if opt.By.Kind != kernel.ByOwner {
			return nil, false, kernel.Errorf(kernel.Denied, "owner_only", "forgetting messages is an owner's act").Try("run it in a terminal outside the agent's host, or pass --owner-token-file")
		}
		if byPerson := c.Person != ""; byPerson == (c.Conversation != "") || (c.Connection == "") != (c.Conversation == "") {
			return nil, false, kernel.Errorf(kernel.Invalid, "bad_target", "a person is forgotten, or a conversation with its connection: one of the two").Try("loopx forget --help")
		}
		if c.Person != "" && m.r.Person(c.Person) == nil {
			return nil, false, kernel.Errorf(kernel.NotFound, "person_not_found", "no such person is known here").Try("loopx person list")
		}
		table, at, err := c.from()
		if err != nil {
			return nil, false, err
		}
		out := &ForgottenCount{}
		if table == tblAge {
			at, err = forgetPieceOf(m, c, at, out)
		} else {
			at, err = forgetReceipts(m, at, out)
		}
		if err != nil {
			return nil, false, err
		}
		switch {
		case at != nil:
			out.Next = table + ":" + hex.EncodeToString(at)
		case table == tblAge:
			out.Next = tblReceipt + ":" // receipts hold texts as well
		}
		out.More = out.Next != ""
		return out, out.Messages+out.Receipts > 0, m.r.Err()
	})
}

func (c *ForgetMessages) from() (table string, at []byte, err error) {
	if c.Next == "" {
		return tblAge, nil, nil
	}
	table, place, ok := strings.Cut(c.Next, ":")
	if at, err = hex.DecodeString(place); !ok || err != nil || table != tblAge && table != tblReceipt {
		return "", nil, kernel.Errorf(kernel.Invalid, "bad_next", "that is no place to go on from")
	}
	if len(at) == 0 {
		at = nil
	}
	return table, at, nil
}

// of says whether a message is to be forgotten.
func (c *ForgetMessages) of(r *kernel.Reader, v *Message) bool {
	if c.Person == "" {
		return v.Place.Connection == c.Connection && v.Place.Conversation == c.Conversation
	}
	if v.Person == c.Person {
		return true
	}
	p := r.Principal(string(v.Platform), v.Place.Connection, v.Sender.Tenant, v.Sender.ID)
	return p != nil && p.Person == c.Person
}

func forgetPieceOf(m *Mail, c *ForgetMessages, after []byte, out *ForgottenCount) ([]byte, error) {
	rg := store.Under(forgetPiece, tblAge)
	if after != nil {
		rg = rg.After(after)
	}
	var ids []string
	var last []byte
	err := m.tx.Scan(rg, func(k, _ []byte) bool {
		ids = append(ids, store.LastPart(k))
		last = append(last[:0], k...)
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		v, err := LoadMessage(m.tx, id)
		if err != nil {
			return nil, err
		}
		if v == nil || !c.of(m.r, v) {
			continue
		}
		if err := forgetOne(m, v); err != nil {
			return nil, err
		}
		out.Messages++
	}
	if len(ids) < forgetPiece {
		last = nil
	}
	return last, nil
}

// forgetOne erases one message with all that repeats its words.
func forgetOne(m *Mail, v *Message) error {
	d, err := LoadDelivery(m.tx, v.ID)
	if err != nil {
		return err
	}
	if d != nil && !d.Ended() {
		if err := m.close(d, Forgotten); err != nil {
			return err
		}
	}
	if err := m.erase(v); err != nil || d == nil {
		return err
	}
	for _, item := range []string{d.Notice, d.Answer} {
		if err := dropItem(m, item, true); err != nil {
			return err
		}
	}
	return firstErr(m.undead(v.ID), m.tx.Delete(store.Key(tblDelivery, v.ID)), m.t.Count("message:forgotten"))
}

// forgetReceipts drops the receipts of messages that are gone.
func forgetReceipts(m *Mail, after []byte, out *ForgottenCount) ([]byte, error) {
	return m.prune(tblReceipt, after, forgetPiece, func(_, v []byte) (bool, error) {
		var row receiptRow
		if err := json.Unmarshal(v, &row); err != nil {
			return false, err
		}
		var held struct {
			Message json.RawMessage `json:"message"`
			ID      string          `json:"message_id"`
		}
		if json.Unmarshal(row.Receipt.Result, &held) != nil {
			return false, nil
		}
		var inner struct {
			ID string `json:"message_id"`
		}
		if len(held.Message) > 0 && json.Unmarshal(held.Message, &inner) == nil && inner.ID != "" {
			held.ID = inner.ID
		}
		if held.ID == "" {
			return false, nil
		}
		msg, err := LoadMessage(m.tx, held.ID)
		if err != nil || msg != nil {
			return false, err
		}
		out.Receipts++
		return true, nil
	})
}
