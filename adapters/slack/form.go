package slack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	api "github.com/slack-go/slack"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

const (
	// An action_id must be unique in its message; it says whether the press
	// needs text first, the value alone is the opaque id.
	buttonPrefix = "b"
	formPrefix   = "f"
	formCallback = "loopx_form"
	formBlock    = "form1." // a block_id that carries the fields of a form
)

// formSpec is a card's Input, small enough for a block_id: the card itself is
// where a restarted process finds it again.
type formSpec struct {
	Name     string `json:"n"`
	Label    string `json:"l,omitempty"`
	Required bool   `json:"r,omitempty"`
	Multi    bool   `json:"m,omitempty"`
	Max      int    `json:"x,omitempty"`
	Lang     string `json:"g,omitempty"`
}

// block encodes the spec; the label gives way where it does not fit.
func (s formSpec) block() string {
	for {
		raw, err := json.Marshal(s)
		if err != nil { // strings and numbers only
			return formBlock
		}
		if out := formBlock + base64.RawURLEncoding.EncodeToString(raw); len(out) <= maxBlockID-4 {
			return out
		}
		if s.Label == "" {
			return formBlock
		}
		r := []rune(s.Label)
		s.Label = string(r[:len(r)*3/4])
	}
}

// parseForm reads a spec back; a block without one asks for a plain reason.
func parseForm(block string) formSpec {
	s := formSpec{Name: "text", Multi: true}
	enc, ok := strings.CutPrefix(block, formBlock)
	if !ok {
		return s
	}
	enc, _, _ = strings.Cut(enc, ".") // a number that keeps blocks apart
	raw, err := base64.RawURLEncoding.DecodeString(enc)
	if err != nil {
		return s
	}
	var in formSpec
	if json.Unmarshal(raw, &in) != nil || in.Name == "" {
		return s
	}
	return in
}

// formRequest is a press of a button that asks for text.
type formRequest struct {
	press   press
	trigger string
	user    string
	label   string // of the button
	title   string // of the card
	spec    formSpec
}

// view draws the form. Limits: title, submit and close 24 characters, label
// 2000, private_metadata 3000 (Block Kit reference, "Views").
func (r formRequest) view() (api.ModalViewRequest, error) {
	lang := r.spec.Lang
	meta, err := json.Marshal(r.press)
	if err != nil {
		return api.ModalViewRequest{}, err
	}
	if fit.Units(string(meta)) > maxMetadata {
		p := r.press
		p.Reply = ""
		if meta, err = json.Marshal(p); err != nil {
			return api.ModalViewRequest{}, err
		}
	}
	name := strings.TrimSpace(strings.TrimSuffix(r.label, "…"))
	if name == "" {
		name = fit.Either(lang, "Answer", "回答")
	}
	label := r.spec.Label
	if label == "" {
		label = fit.Either(lang, "Reason", "理由")
	}
	element := &api.PlainTextInputBlockElement{
		Type: api.METPlainTextInput, ActionID: r.spec.Name, Multiline: r.spec.Multi, MaxLength: min(max(r.spec.Max, 0), maxSection),
	}
	input := api.NewInputBlock("input", plainObject(fit.Short(label, maxInputLabel)), nil, element)
	input.Optional = !r.spec.Required
	var blocks []api.Block
	if r.title != "" {
		blocks = append(blocks, richLines("about", lineOf(r.title, nil)))
	}
	blocks = append(blocks, input)
	return api.ModalViewRequest{
		Type: api.VTModal, CallbackID: formCallback, PrivateMetadata: string(meta),
		Title: plainObject(fit.Short(name, maxModalTitle)), Submit: plainObject(fit.Short(name, maxModalTitle)),
		Close:  plainObject(fit.Either(lang, "Cancel", "取消")),
		Blocks: api.Blocks{BlockSet: blocks},
	}, nil
}

// openForm shows the form as the first thing that happens after the press; the
// trigger lives three seconds (B23). When that fails the presser is told: the
// card is still there, nothing was decided.
func (a *Adapter) openForm(ctx context.Context, r *formRequest) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Accept)
	view, err := r.view()
	if err == nil {
		_, err = a.web.OpenViewContext(ctx, r.trigger, view)
	}
	cancel()
	if err == nil {
		a.counts.Add("form:opened")
		return
	}
	err = a.classify(err, reading)
	a.counts.Add("form:not_opened")
	a.cfg.Logger.Warn("a form could not be opened", "error", err)
	text := fit.Either(r.spec.Lang,
		"The form could not be opened in time. Nothing was decided: press the button again.",
		"表单未能及时打开。尚未做出任何决定，请再按一次按钮。")
	ev := r.press.event("", 0, interaction{}, nil)
	ev.Sender.ID = r.user
	ev.Press.Reply = r.press.Reply
	if err := a.Notice(context.WithoutCancel(ctx), ev, text); err != nil {
		a.cfg.Logger.Warn("nor could the person be told", "error", err)
	}
}

func plainObject(s string) *api.TextBlockObject {
	no := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: plainText(s), Emoji: &no}
}

// buttonID makes an action_id.
func buttonID(i int, b chat.Button) string {
	p := buttonPrefix
	if b.Form {
		p = formPrefix
	}
	return p + strconv.Itoa(i) + ":" + b.ID
}
