// Package cli is the loopx command: arguments in, one command or view of the
// kernel, text or one JSON object out. One file holds the verbs of one noun.
//
// Every command reaches the workspace through access: the daemon's socket when
// one listens, else the state file under the folder's lock. Callers see no
// difference, also while a daemon starts, stops or dies.
package cli
