// Package failpoint kills its own process at a named place, so that a test can
// see what a crash there leaves behind. Without the build tag "failpoints" a
// Hit compiles to nothing and the environment is never read.
//
//	LOOPX_FAILPOINTS="before_commit=3,birth_synced=1"
//
// kills at the third commit or at the first birth, whichever comes first.
package failpoint

// The names that Hit accepts. A name stands here once and at one place in the code.
const (
	// BeforeCommit: the group is built, nothing of it was handed to the disk.
	BeforeCommit = "before_commit"
	// AfterCommit: the group is durable, nobody was told.
	AfterCommit = "after_commit"
	// BirthCreated: the new file exists under its temporary name, empty.
	BirthCreated = "birth_created"
	// BirthSynced: the new file is complete under its temporary name.
	BirthSynced = "birth_synced"
	// BirthRenamed: the new file has its name, the folder was not synced.
	BirthRenamed = "birth_renamed"
	// CompactSynced: the compacted copy is complete, the old file still has the name.
	CompactSynced = "compact_synced"
	// CompactRenamed: the compacted copy has the name, the folder was not synced.
	CompactRenamed = "compact_renamed"
	// StateReady: a file that is to become the state is complete and checked; the
	// old state was not touched.
	StateReady = "state_ready"
	// StateKept: the old state has its second name and still is the state.
	StateKept = "state_kept"
	// StateRenamed: the new file is the state, the folder was not synced.
	StateRenamed = "state_renamed"
	// BackupWriting: a part of a backup is to be written under its temporary name.
	BackupWriting = "backup_writing"
	// BackupSynced: a backup is complete under its temporary name.
	BackupSynced = "backup_synced"
	// BackupNamed: a backup has its name, the folder was not synced.
	BackupNamed = "backup_named"
	// SinkReceived: an event was decoded, nothing of it is in the store.
	SinkReceived = "sink_received"
	// SinkCommitted: an event's effects are durable, the platform has no ack.
	SinkCommitted = "sink_committed"
	// OutboxStarted: a write is recorded as begun, nothing has left.
	OutboxStarted = "outbox_started"
	// TurnOpened: a driven turn is open and its todo claimed, no host was started.
	TurnOpened = "turn_opened"
	// TurnMarked: the mark that the host may run is durable, it does not run yet.
	TurnMarked = "turn_marked"
	// TurnAnswered: the host has ended, its answer is not recorded.
	TurnAnswered = "turn_answered"
	// TurnRecorded: the host's answer is durable, nothing has checked it.
	TurnRecorded = "turn_recorded"
	// TurnChecked: the validator has passed, that is not recorded.
	TurnChecked = "turn_checked"
	// TurnValidated: the validator's pass is durable, nothing is committed.
	TurnValidated = "turn_validated"
	// TurnCommitted: the turn is committed, nobody was told.
	TurnCommitted = "turn_committed"
	// OutboxWritten: the platform has the write, its outcome is not recorded.
	OutboxWritten = "outbox_written"
)

// Names lists every failpoint, so that a crash test cannot forget one.
func Names() []string {
	return []string{
		BeforeCommit, AfterCommit,
		BirthCreated, BirthSynced, BirthRenamed,
		CompactSynced, CompactRenamed,
		StateReady, StateKept, StateRenamed,
		BackupWriting, BackupSynced, BackupNamed,
		SinkReceived, SinkCommitted, OutboxStarted, OutboxWritten,
		TurnOpened, TurnMarked, TurnAnswered, TurnRecorded, TurnChecked, TurnValidated, TurnCommitted,
	}
}
