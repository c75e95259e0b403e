package lark

// Lark's limits. Sources: documentation of "send a message" and "card JSON 2.0
// structure" with the page of each component, unless told otherwise.
const (
	// maxContent bounds the content of a card or post in bytes, as sent. Lark says
	// 30 KB; cards near it were seen to be recalled (hermes-lark-streaming and
	// others report 28 to 30), so ours stay below.
	maxContent = 28 << 10
	// maxText is what one text should have at most, in characters: a phone shows
	// no more at once, and even escaped it stays below maxContent.
	maxText = 4000
	maxUUID = 50 // bytes of the idempotency key
	// maxElements is 200 for one card; the bounds of the parts keep ours below.
	maxElements  = 200
	maxQuotes    = 10
	maxOptions   = 20
	maxFacts     = 20
	maxButtons   = 15   // our own bound: two rows on a phone
	maxLabel     = 60   // of a button; Lark takes 100
	maxInput     = 1000 // characters in a field
	maxHeader    = 150  // title: four lines
	maxSection   = 3000
	maxLine      = 1000
	maxFieldName = 150
	maxLinks     = 3000 // characters of all addresses
	maxIDBytes   = 256  // of a button's id
	nativeOption = 8    // more options than these become a list
	// maxSummary is the line in the list of chats.
	maxSummary = 120
	// maxWrite is half of the 5 writes a second that all bots in a group share.
	maxWrite = 150
)
