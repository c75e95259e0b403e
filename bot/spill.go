package bot

import (
	"errors"
	"strings"

	"loopx/adapters/chat"
	"loopx/inbox"
	"loopx/kernel/store"
	"loopx/routing"
)

// spillMost bounds the words of one message that are looked up as codes.
const spillMost = 8

// spilled burns a one-time code that stands somewhere in a sentence others can
// read. It reports whether there was one; what else the sentence says is then not
// acted on. Nothing but a code that is good can be burned, so no word is a code by
// accident.
func (s *sink) spilled(tx store.Tx, in *inbox.Tx, e chat.Event, v routing.Verdict) (bool, error) {
	if e.Private || e.Message == nil || s.local != nil || v.Action == routing.Burn || e.Sender.Kind == chat.Self {
		return false, nil
	}
	n := 0
	for _, word := range strings.FieldsFunc(e.Message.Text, notOfCode) {
		code := ""
		if strings.ContainsAny(word, "-－") {
			code = routing.Parse(word).Code
		}
		if code == "" {
			continue
		}
		if n++; n > spillMost {
			break
		}
		v.Action, v.Word = routing.Burn, code
		text, err := s.link(tx, in, e, v)
		if err != nil {
			return false, err
		}
		if text != "" {
			return true, errors.Join(in.Count("code_spilled"), in.AddText("link/"+e.Place.Connection+"/"+e.Message.ID, e.Place, text))
		}
	}
	return false, nil
}

// notOfCode splits where no letter, digit or dash of a code stands, plain or full
// width; CJK text needs no space around one.
func notOfCode(r rune) bool {
	if r >= '！' && r <= '～' {
		r -= '！' - '!'
	}
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
}
