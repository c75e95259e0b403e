package chat

// Card is one question or one state, drawn natively on each surface. The order
// of its parts is fixed; empty parts vanish. Text fields are plain unless they
// say Markdown; renderers neutralise everything that came from people or agents.
type Card struct {
	// Lang is "en" or "zh": the language of the words loopx adds itself.
	Lang  string    `json:"lang,omitempty"`
	State CardState `json:"state"`
	// Title is "goal · what it wants from the reader".
	Title string `json:"title"`
	// Question is the agent's own sentence; Struck draws it as settled.
	Question string `json:"question,omitempty"`
	Struck   bool   `json:"struck,omitempty"`
	// Outcome is the kernel's line once decided: who, when, and whether anybody
	// has taken it.
	Outcome string `json:"outcome,omitempty"`
	// Quotes are words of agents or people, each in a frame with its author.
	Quotes  []Quote  `json:"quotes,omitempty"`
	Options []Option `json:"options,omitempty"`
	// Facts are short lines of the kernel: what is blocked, what goes on.
	Facts    []string   `json:"facts,omitempty"`
	Fields   []Field    `json:"fields,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Input asks for text together with a press (a reason or a free answer).
	Input   *Input   `json:"input,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	// Protected marks a card whose approval takes two presses.
	Protected bool   `json:"protected,omitempty"`
	Footer    string `json:"footer,omitempty"`
}

// CardState is shown as a word and a shape, never as a colour alone.
type CardState string

// The states a card can show.
const (
	CardOpen       CardState = "open"
	CardConfirming CardState = "confirming"
	CardDecided    CardState = "decided"
	CardStale      CardState = "stale"
	CardExpired    CardState = "expired"

	// Of a person's message on its way to an agent.
	CardWaiting  CardState = "waiting"
	CardRunning  CardState = "running"
	CardAnswered CardState = "answered"
	CardEnded    CardState = "ended"

	// CardStatus asks nothing: it says how a goal is.
	CardStatus CardState = "status"
)

// Mark is the shape that goes with the state's word.
func (s CardState) Mark() string {
	switch s {
	case CardOpen, CardWaiting:
		return "○"
	case CardConfirming, CardRunning:
		return "◐"
	case CardDecided, CardAnswered:
		return "●"
	case CardStale:
		return "◌"
	case CardStatus:
		return "▪"
	default:
		return "✕"
	}
}

// Quote is somebody's words, framed with the author's id.
type Quote struct {
	From string `json:"from"`
	Text string `json:"text"`
}

// Option is one answer a gate offers, with the kernel's own mark.
type Option struct {
	Label       string `json:"label"`
	Consequence string `json:"consequence,omitempty"`
	Mark        string `json:"mark"` // "approves", "rejects", "cancels", "answers"
}

// Field is a labelled value.
type Field struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Evidence is one compact proof with its age already in words.
type Evidence struct {
	Text  string `json:"text"`
	URL   string `json:"url,omitempty"` // http or https only
	Stale bool   `json:"stale,omitempty"`
}

// Input is a text field of a form.
type Input struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Required bool   `json:"required,omitempty"`
	Multi    bool   `json:"multi,omitempty"`
	Max      int    `json:"max,omitempty"` // characters
}

// ButtonStyle is weight, never meaning.
type ButtonStyle string

// Button weights. Danger is only for what destroys.
const (
	ButtonPlain  ButtonStyle = ""
	ButtonDanger ButtonStyle = "danger"
)

// Button carries an opaque random id and nothing else. A label that ends in
// "…" takes one more step.
type Button struct {
	ID    string      `json:"id"`
	Label string      `json:"label"`
	Style ButtonStyle `json:"style,omitempty"`
	// Form opens the card's Input before the press counts.
	Form bool `json:"form,omitempty"`
}
