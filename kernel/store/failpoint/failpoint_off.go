//go:build !failpoints

package failpoint

// Enabled reports whether this build can be killed by a failpoint.
const Enabled = false

// Hit does nothing in this build.
func Hit(string) {}
