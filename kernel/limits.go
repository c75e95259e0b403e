package kernel

// Bounds of what one goal may hold together. They keep a command within the
// size a store can commit at once; reaching one is a typed refusal.
const (
	memberMax   = 256    // agents of a goal
	afterMax    = 32     // todos one todo comes after
	backMax     = 512    // todos that wait for one todo, or behind one gate
	blocksMax   = 64     // gates on one todo or lane
	optionsMax  = 8      // options of a gate
	listMax     = 64     // entries of any list field
	evidenceMax = 8      // evidence items in one command
	titleMax    = 240    // characters
	bodyMax     = 8192   // characters
	summaryMax  = 400    // characters
	noteMax     = 2000   // characters
	goalsMax    = 10_000 // goals a listing walks

	minuteMS  = int64(60_000)
	hourMS    = 60 * minuteMS
	dayMS     = 24 * hourMS
	leaseMS   = 45 * minuteMS // default
	leaseMax  = dayMS
	graceMS   = minuteMS // an expired lease is still spared this long
	codeMS    = 10 * minuteMS
	slotsDay  = 1440 // default allowance in 24 h
	slotsMost = 1_000_000
	// windowMost is the longest window of an allowance, in hours. Payments are kept
	// for good, so a longer window finds them.
	windowMost = 720
)
