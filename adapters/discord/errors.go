package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dg "github.com/bwmarrin/discordgo"

	"loopx/adapters/chat"
	"loopx/adapters/lane"
)

func unsure(what op) chat.ErrorKind {
	if what == creating {
		return chat.UnknownOutcome
	}
	return chat.Temporary
}

// noAnswer is a call that got none: what was never written is only temporary.
func noAnswer(err error, what op) *chat.Error {
	out := &chat.Error{Kind: unsure(what), Code: "no_answer", Err: err}
	if e, ok := errors.AsType[*lane.CallError](err); ok && !e.Wrote {
		out.Kind, out.Code = chat.Temporary, "not_sent"
	}
	return out
}

func authError(code string) *chat.Error {
	return &chat.Error{Kind: chat.Auth, Code: code, Fix: "reset the token on the Bot page of the app in Discord's developer portal and store the new one"}
}

// codeOf is Discord's own code in an error, 0 for none.
func codeOf(err error) int {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(e.Code)
	return n
}

// Codes that discordgo does not name (docs, "JSON Error Codes").
const (
	codeResourceLimited = 40062
	codeBlockedByRule   = 200000
	codeBlockedTitle    = 200001
	codeHarmfulLink     = 240000
	codeCannotReply     = 50278
)

// apiError gives a refusal its kind, once. A call that may have had its effect
// is UnknownOutcome only where a second one would show.
func apiError(c call, status int, body []byte) *chat.Error {
	var a struct {
		Code   int             `json:"code"`
		Errors json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(body, &a) != nil { // Cloudflare's page, not Discord
		a.Code = 0
	}
	e := &chat.Error{Kind: chat.Temporary, Code: "http_" + strconv.Itoa(status)}
	if a.Code != 0 {
		e.Code = strconv.Itoa(a.Code)
	}
	switch {
	case status >= 500 || status == http.StatusRequestTimeout:
		e.Kind = unsure(c.what)
		return e
	case status == http.StatusUnauthorized && !c.open:
		return authError("401")
	}
	switch a.Code {
	case dg.ErrCodeMissingAccess, dg.ErrCodeMissingPermissions:
		e.Kind, e.Fix = chat.Gone, grantFix(rightsOf(c.route, a.Code))
	case dg.ErrCodeCannotSendMessagesToThisUser, codeCannotReply:
		e.Kind, e.Fix = chat.Gone, "the person must share a server with the bot and allow direct messages from its members"
	case dg.ErrCodeCannotEditFromAnotherUser, dg.ErrCodePerformedOperationOnArchivedThread, dg.ErrCodeThreadIsLocked,
		dg.ErrCodeInvalidWebhookTokenProvided, dg.ErrCodeCannotExecuteActionOnThisChannelType, dg.ErrCodeCannotSendMessagesInVoiceChannel,
		dg.ErrCodeUserIsBannedFromThisGuild, dg.ErrCodeCannotExecuteActionOnSystemMessage, dg.ErrCodeChannelVerificationLevelTooHigh:
		e.Kind = chat.Gone
	case dg.ErrCodeInvalidFormBody:
		e.Kind = chat.Invalid
		e.Err = complaints(a.Errors)
	case dg.ErrCodeCannotSendEmptyMessage, dg.ErrCodeTheRequestBodyContainsInvalidJSON, dg.ErrCodeInteractionHasAlreadyBeenAcknowledged,
		dg.ErrCodeRequestEntityTooLarge, dg.ErrCodeExplicitContentCannotBeSentToTheDesiredRecipients, codeBlockedByRule, codeBlockedTitle, codeHarmfulLink:
		e.Kind = chat.Invalid
	case dg.ErrCodeThisActionCannotBePerformedDueToSlowmodeRateLimit, dg.ErrCodeChannelHasHitWriteRateLimit,
		dg.ErrCodeTheWriteActionYouArePerformingOnTheServerHasHitTheWriteRateLimit, dg.ErrCodeMaximumNumberOfEditsToMessagesOlderThanOneHourReached,
		dg.ErrCodeOpeningDirectMessagesTooFast, codeResourceLimited:
		e.Kind, e.After = chat.RateLimited, time.Minute
	default:
		if status == http.StatusNotFound { // 10003 unknown channel, 10008 unknown message ...
			e.Kind = chat.Gone
		}
	}
	return e
}

// rightsOf is what a refused call needs; the refusal does not say it.
func rightsOf(route string, code int) right {
	switch {
	case code == dg.ErrCodeMissingAccess:
		return viewChannel
	case route == "reactions":
		return addReactions | readHistory
	case strings.HasPrefix(route, "GET"):
		return readHistory
	}
	return sendMessages | sendInThreads
}

// complaints are the places and codes of a refused body, not its words.
func complaints(raw json.RawMessage) error {
	var root any
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	var out []string
	var walk func(v any, at string)
	walk = func(v any, at string) {
		o, _ := v.(map[string]any)
		for k, x := range o {
			list, isList := x.([]any)
			if k != "_errors" || !isList {
				walk(x, strings.TrimPrefix(at+"."+lane.Word(k), "."))
				continue
			}
			for _, y := range list {
				one, _ := y.(map[string]any)
				code, _ := one["code"].(string)
				out = append(out, at+": "+lane.Word(code))
			}
		}
	}
	walk(root, "")
	if len(out) == 0 {
		return nil
	}
	slices.Sort(out)
	return errors.New(strings.Join(out[:min(len(out), 10)], "; "))
}

// closed sorts the code a gateway closed with (docs, "Gateway Close Event
// Codes"). A fatal one is an error that no retry lifts; without resumable the
// session is over.
func closed(code int) (err *chat.Error, fatal, resumable bool) {
	err = &chat.Error{Kind: chat.Temporary, Code: "closed_" + strconv.Itoa(code)}
	switch code {
	case 4004:
		return authError("4004"), true, false
	case 4014:
		return &chat.Error{
			Kind: chat.Auth, Code: "4014",
			Fix: "switch on Message Content Intent on the Bot page of the app in Discord's developer portal",
			Err: errors.New("the app may not read message content"),
		}, true, false
	case 4010, 4011:
		return &chat.Error{Kind: chat.Invalid, Code: err.Code, Err: errors.New("the bot is in too many servers for one connection")}, true, false
	case 4012, 4013:
		return &chat.Error{Kind: chat.Invalid, Code: err.Code, Err: fmt.Errorf("version %s is no longer spoken by Discord", version), Fix: "install a newer release"}, true, false
	case 4003, 4005, 4007, 4009:
		return err, false, false
	}
	return err, false, true
}
