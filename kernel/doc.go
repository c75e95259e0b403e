// Package kernel holds what is true in a workspace and which moves are legal:
// goals, agents, sessions, turns, todos, leases, gates, evidence, quota, people.
//
// A command is a plain struct. Its decide method is the only place that says
// no: it reads through a transaction and returns events or a typed *Error.
// apply is the only place that changes tables. Both are free of I/O, clock and
// randomness; time and ids are passed in. Every accepted command is one record
// of the hash-chained journal, and replaying the journal into an empty store
// gives byte-equal tables.
package kernel
