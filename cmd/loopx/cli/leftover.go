package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loopx/bot/client"
)

// leftAge is how long ago a working file was last written when the command that
// wrote it is taken to be dead.
const leftAge = time.Hour

// leftovers tells of the working files of commands that were killed while they
// built a new state. Nothing reads such a file again, and it may be as large as
// the state. It returns nothing where there are none.
func (a *app) leftovers(home client.Home) []check {
	var left []string
	var bytes int64
	for _, what := range []string{"migrate", "prune", "compact", "restore"} {
		names, err := filepath.Glob(home.DB() + "." + what + "-*")
		if err != nil {
			continue // a folder whose name is a pattern: this is only a note
		}
		for _, name := range names {
			info, err := os.Lstat(name)
			if err == nil && info.Mode().IsRegular() && a.now().Sub(info.ModTime()) > leftAge {
				left, bytes = append(left, name), bytes+info.Size()
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	return []check{{"leftovers", stateNote, fmt.Sprintf("%s of commands that were killed, %s in all; nothing needs them", count(len(left), "file", "files"), size(bytes)),
		"rm " + strings.Join(left, " ")}}
}
