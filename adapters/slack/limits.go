package slack

// Slack's limits, in characters as its JavaScript clients count them (UTF-16
// units, the strictest reading of "characters"). Sources: Block Kit reference
// ("Block elements", "Blocks", "Views") unless told otherwise.
const (
	maxBlocks     = 50   // blocks of a message
	maxHeader     = 150  // header text
	maxSection    = 3000 // text object; rich_text has no documented one and is kept to it
	maxFields     = 10   // fields of a section
	maxField      = 2000 // one of them
	maxActions    = 25   // elements of an actions block
	maxLabel      = 75   // button text
	maxValue      = 2000 // button value
	maxID         = 255  // action_id
	maxBlockID    = 255
	maxModalTitle = 24
	maxInputLabel = 2000
	maxMetadata   = 3000 // private_metadata
	// maxText is Slack's recommendation for one message and the bound of
	// chat.update (msg_too_long); chat.postMessage cuts at maxPost without a word.
	maxText = 4000
	maxPost = 40000
	// maxCard keeps all blocks together below the undocumented bound at about
	// 13,200 characters (github.com/slackapi/bolt-js, issue 2509).
	maxCard = 12000
)
