package discord

import (
	"context"
	"errors"
	"strconv"
	"strings"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/fit"
)

// A custom_id says whether the press needs text first; for one that does it also
// holds the fields of the form, so that a restarted process finds them.
const (
	buttonPrefix = "b|"
	formPrefix   = "f|"
	modalPrefix  = "m|"
)

// formSpec is a card's Input, small enough for a custom_id.
type formSpec struct {
	Name     string
	Label    string
	Required bool
	Multi    bool
	Max      int
	Lang     string
}

// buttonID makes a custom_id of at most 100 characters; a form's label gives way
// where it does not fit. An error means that the card can never be sent.
func buttonID(b chat.Button, spec *formSpec) (string, error) {
	bad := errors.New("a button's id is empty, too long for Discord or holds a |")
	if b.ID == "" || strings.Contains(b.ID, "|") {
		return "", bad
	}
	if !b.Form || spec == nil {
		if id := buttonPrefix + b.ID; fit.Units(id) <= maxCustomID {
			return id, nil
		}
		return "", bad
	}
	flags := ""
	if spec.Required {
		flags += "r"
	}
	if spec.Multi {
		flags += "m"
	}
	head := formPrefix + strings.Join([]string{b.ID, flags, strconv.Itoa(spec.Max), spec.Lang, spec.Name, ""}, "|")
	room := maxCustomID - fit.Units(head)
	if room < 0 || strings.Contains(spec.Name, "|") || spec.Name == "" {
		return "", bad
	}
	return head + fit.Short(chat.Visible(spec.Label), room), nil
}

// parseButton reads a custom_id back. What is none of ours is the id itself.
func parseButton(custom string) (action string, spec formSpec, asks bool) {
	if id, ok := strings.CutPrefix(custom, buttonPrefix); ok {
		return id, formSpec{}, false
	}
	rest, ok := strings.CutPrefix(custom, formPrefix)
	part := strings.SplitN(rest, "|", 6)
	if !ok || len(part) != 6 || part[0] == "" || part[4] == "" {
		return custom, formSpec{}, false
	}
	most, err := strconv.Atoi(part[2])
	if err != nil {
		most = 0
	}
	return part[0], formSpec{
		Name: part[4], Label: part[5], Required: strings.Contains(part[1], "r"), Multi: strings.Contains(part[1], "m"), Max: most, Lang: part[3],
	}, true
}

// formRequest is a press of a button that asks for text.
type formRequest struct {
	ref    *reference
	action string
	spec   formSpec
	label  string // of the button
	event  chat.Event
}

// modal draws the form, in the shape that discordgo knows (rows of text inputs).
func (r *formRequest) modal() dg.InteractionResponse {
	lang := r.spec.Lang
	title := strings.TrimSpace(strings.TrimSuffix(r.label, "…"))
	if title == "" {
		title = fit.Either(lang, "Answer", "回答")
	}
	style := dg.TextInputShort
	if r.spec.Multi {
		style = dg.TextInputParagraph
	}
	most := r.spec.Max
	if most <= 0 || most > maxInput {
		most = maxInput
	}
	return dg.InteractionResponse{Type: dg.InteractionResponseModal, Data: &dg.InteractionResponseData{
		CustomID: modalPrefix + r.action,
		Title:    fit.Short(title, maxModalTitle),
		Components: []dg.MessageComponent{dg.ActionsRow{Components: []dg.MessageComponent{dg.TextInput{
			CustomID: r.spec.Name, Label: fit.Short(firstOf(r.spec.Label, fit.Either(lang, "Reason", "理由")), maxInputLabel),
			Style: style, Required: r.spec.Required, MaxLength: most,
		}}}},
	}}
}

// openForm answers the press with the form: it must be the first response and
// come within three seconds (B23). When that fails the person is told where that
// is still possible: the card is there, nothing was decided.
func (a *Adapter) openForm(ctx context.Context, r *formRequest) {
	err := a.respond(ctx, r.ref, r.modal())
	if err == nil {
		a.counts.Add("form:opened")
		return
	}
	if codeOf(err) == dg.ErrCodeInteractionHasAlreadyBeenAcknowledged {
		a.counts.Add("form:again")
		return
	}
	a.counts.Add("form:not_opened")
	a.cfg.Logger.Warn("a form could not be opened", "error", err)
	text := fit.Either(r.spec.Lang,
		"The form could not be opened in time. Nothing was decided: press the button again.",
		"表单未能及时打开。尚未做出任何决定，请再按一次按钮。")
	if a.respond(ctx, r.ref, whisper(text)) == nil {
		return
	}
	if err := a.Notice(ctx, r.event, text); err != nil {
		a.cfg.Logger.Warn("nor could the person be told", "error", err)
	}
}
