package discord

// Discord's limits, in characters as its JavaScript clients count them (UTF-16
// units). Sources: API documentation, "Message Object", "Create Message",
// "Component Reference", "Interaction Callback".
const (
	maxContent    = 2000 // content of a message
	maxAllText    = 4000 // all text displays of a message with components V2
	maxComponents = 40   // of a message with components V2, nested ones counted
	maxRow        = 5    // buttons of a row
	maxButtons    = 25   // five rows of them, as without V2
	maxLabel      = 80   // button
	maxCustomID   = 100
	maxNonce      = 25
	maxModalTitle = 45
	maxInputLabel = 45
	maxInput      = 4000 // text of an input
)

// Bounds of the parts of a card, so that the shortest form of everything still
// fits into maxAllText.
const (
	maxTitle    = 200
	maxText     = 3000
	maxLine     = 1000
	maxPart     = 200
	maxAuthor   = 80
	maxQuotes   = 6
	maxOptions  = 10
	maxFacts    = 10
	maxFields   = 12
	maxEvidence = 6
	maxLinks    = 1000
)
