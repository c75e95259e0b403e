// Package docs holds the guides and the tests of the repository: what
// architecture.md and the README promise about the code is read from the code.
//
//	go test ./docs           check
//	go test ./docs -update   rewrite the pages that are made from the code
package docs
