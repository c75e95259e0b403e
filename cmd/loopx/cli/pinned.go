package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"loopx/kernel"
	"loopx/kernel/view"
)

// pinnedMost bounds a file that evidence fixes.
const pinnedMost = 256 << 20

// doubted says in words what evidence does not prove.
func doubted(e view.Evidence) string {
	switch {
	case e.Stale && e.Loose:
		return " (out of date, contents not fixed)"
	case e.Stale:
		return " (out of date)"
	case e.Loose:
		return " (contents not fixed)"
	}
	return ""
}

// pinned is a file as evidence: its path below this folder and the SHA-256 of what
// is in it now, so that a person approves these contents and no later ones.
func pinned(path string) (kernel.EvidenceArg, error) {
	bad := func(what string) (kernel.EvidenceArg, error) {
		return kernel.EvidenceArg{}, kernel.Errorf(kernel.Invalid, "bad_evidence_file", "--evidence file:%s %s", show(path, 200), what).
			Try("name a plain file below this folder, of at most 256 MB")
	}
	name := filepath.Clean(path)
	if !filepath.IsLocal(name) {
		return bad("is not below this folder")
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return bad("cannot be read")
	case !info.Mode().IsRegular():
		return bad("is no plain file")
	}
	f, err := os.Open(name)
	if err != nil {
		return bad("cannot be read")
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, pinnedMost+1))
	switch {
	case err != nil:
		return bad("cannot be read")
	case n > pinnedMost:
		return bad("is too long")
	}
	name = filepath.ToSlash(name)
	return kernel.EvidenceArg{Kind: "artifact", Summary: fmt.Sprintf("%s, %d bytes", name, n), Ref: name, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, nil
}
