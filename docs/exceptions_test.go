package docs_test

// Known breaches of the rules of this package, each with the day it was last
// looked at. A rule fails on one that is no longer needed.
var (
	// sleeps: a file
	sleeps = []exception{}
	// longFiles: a file
	longFiles = []exception{}
	// variables: a package variable
	variables = []exception{
		{"kernel/store/failpoint.points", "reads the environment once, and only in the build that crash tests make", "2026-11-30"},
	}
	// imports: "package -> import"
	imports = []exception{}
)

// wideTypes have more methods than a type should; they may shrink, not grow.
var wideTypes = []struct {
	typ  string
	most int
	why  string
}{
	{"kernel.Reader", 130, "one method a question about a snapshot; in files by what is asked, and the one thing views and rooms are given"},
	{"kernel.tables", 22, "one writer of all kernel tables: apply, and what keeps each index true"},
	{"kernel.situation", 45, "what the tick's rules ask of a snapshot, each asked once and remembered"},
	{"kernel/store/bolt.Store", 17, "the store contract (eight methods), and opening, compacting and failing of one file"},
	{"inbox.Tx", 25, "the inbox's tables in one transaction; press, project and outbox are files of their own"},
	{"inbox.Mail", 55, "the life of a message in one transaction; in files by what happens to it: admitted, leased, steered, changed, shown, kept"},
	{"adapters/console.Console", 20, "an adapter (seven methods) and the page's side of the same conversation"},
	{"adapters/slack.Adapter", 20, "an adapter (seven methods) and its loop, in files by direction"},
	{"adapters/lark.Adapter", 46, "an adapter (seven methods), its socket loop and its calls; adapters/lane has taken part of it"},
	{"bot/workspace.Page", 22, "one handler a route"},
	{"bot/demo.player", 20, "what every scene of the unattended play needs"},
	{"cmd/loopx/cli.app", 80, "one run of the command line: what every verb needs, and a method a verb"},
	{"cmd/loopx/cli.importPlan", 25, "what becomes of one goal of a project: a method a kind of row, in files by what is read"},
	{"bot/bench.bench", 36, "one method a row of the table; in files by what is measured"},
}
