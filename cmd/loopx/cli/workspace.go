package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"loopx/kernel"
)

// whereAmI finds the git working tree this command runs in, from files alone: to
// start git would cost more than the whole command. Outside of a repository it
// says nothing, and the kernel takes that as no tree of the agent's own.
func whereAmI() *kernel.Workspace {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil
	}
	for {
		if common := gitFolder(filepath.Join(dir, ".git")); common != "" {
			if !plain(dir) {
				return nil
			}
			w := &kernel.Workspace{Root: dir, Repos: remotes(filepath.Join(common, "config"))}
			if filepath.Base(common) == ".git" && plain(common) {
				w.Repos = append([]string{filepath.Dir(common)}, w.Repos...)
			}
			w.Repos = w.Repos[:min(len(w.Repos), 8)]
			return w
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// gitFolder is the folder that all working trees of a repository share, or "".
// In a linked tree .git is a file that names the tree's own folder, and that
// names the shared one.
func gitFolder(dotGit string) string {
	info, err := os.Stat(dotGit)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return dotGit
	}
	own, ok := strings.CutPrefix(smallFile(dotGit), "gitdir:")
	if !ok {
		return ""
	}
	own = beside(filepath.Dir(dotGit), own)
	shared := smallFile(filepath.Join(own, "commondir"))
	if shared == "" {
		return own
	}
	shared = beside(own, shared)
	if real, err := filepath.EvalSymlinks(shared); err == nil {
		return real
	}
	return shared
}

func beside(dir, name string) string {
	name = strings.TrimSpace(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// smallFile is the text of a file of git's own, "" when it cannot be read or is
// larger than such a file is.
func smallFile(name string) string {
	info, err := os.Stat(name)
	if err != nil || info.Size() > 1<<18 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// plain says whether a name is one that the kernel takes.
func plain(s string) bool {
	return utf8.ValidString(s) && len(s) <= 4000 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// withoutUser drops what stands before the host of an address: it may be a secret.
func withoutUser(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return scheme + "://" + host + "/" + path
}

// remotes reads the addresses of the remotes from a repository's configuration.
func remotes(config string) []string {
	var out []string
	remote := false
	for line := range bytes.Lines([]byte(smallFile(config))) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "[") {
			remote = strings.HasPrefix(text, "[remote ")
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		value = withoutUser(strings.TrimSpace(value))
		if remote && ok && strings.TrimSpace(name) == "url" && value != "" && plain(value) {
			out = append(out, value)
		}
	}
	return out
}
