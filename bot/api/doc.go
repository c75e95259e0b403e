// Package api is the daemon's local door: commands, views and a watch stream
// over HTTP on a unix socket that only this OS user can reach. Hold takes the
// state folder for a daemon and gives it back; Server answers.
//
// Order of a start: Hold (lock, holder record, store, kernel), then
// Server.Start. Order of a stop: Server.Stop, then Held.Close.
package api
