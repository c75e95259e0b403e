package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"loopx/kernel"
	"loopx/kernel/boundary"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Bounds of a scan: bytes of one file, and findings that are told.
const (
	scanBytes    = 16 << 20
	scanFindings = 200
)

// scanReport is the answer of check.
type scanReport struct {
	Files    int         `json:"files"`
	Findings []scanPlace `json:"findings"`
	// More counts findings beyond those that are told.
	More int `json:"more"`
	// Skipped names files that were not read, with the reason.
	Skipped []scanSkip `json:"skipped"`
}

// scanPlace is where something private seems to stand; never what stands there.
type scanPlace struct {
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
}

type scanSkip struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

func checkCmd(a *app) *cobra.Command {
	var paths []string
	c := a.verbOf("check", "", func(f *pflag.FlagSet) {
		f.StringArrayVar(&paths, "scan-path", nil, "file or folder to look at (default: here); may be repeated")
		a.acceptUnused(f, "scan-root limit")
	}, func() error {
		if len(paths) == 0 {
			paths = []string{"."}
		}
		s := &scan{a: a, rules: boundary.New(), report: scanReport{Findings: []scanPlace{}, Skipped: []scanSkip{}}}
		for _, p := range paths {
			if err := s.path(p); err != nil {
				return err
			}
		}
		return s.answer()
	})
	c.Long = "Looks for what should not be published: secrets, paths of somebody's home, addresses of\n" +
		"an inner network. In a git repository it reads what is tracked or could be added;\n" +
		"elsewhere every file but those of .git, .loopx and package folders. It names file, line\n" +
		"and kind, never the text, and ends with 4 when something was found. It is a net with\n" +
		"known holes: it stops slips, not somebody who hides something."
	return c
}

// scan is one run of check.
type scan struct {
	a      *app
	rules  *boundary.Scanner
	report scanReport
}

func (s *scan) path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return kernel.Errorf(kernel.NotFound, "path_not_found", "%s cannot be looked at", show(path, 200)).Try("loopx check --scan-path PATH")
	}
	if !info.IsDir() {
		s.file(path)
		return nil
	}
	if files, ok := s.gitFiles(path); ok {
		for _, f := range files {
			s.file(filepath.Join(path, filepath.FromSlash(f)))
		}
		return nil
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			s.skip(p, "cannot be read")
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if p != path && slices.Contains([]string{".git", ".loopx", "node_modules", ".venv", "venv", "__pycache__", ".cache"}, d.Name()) {
				return fs.SkipDir
			}
		default:
			s.file(p)
		}
		return nil
	})
}

// gitFiles lists what git would publish from a folder: what it tracks, and what
// could be added. Programs that the repository's own settings name are not run.
func (s *scan) gitFiles(dir string) ([]string, bool) {
	git := exec.CommandContext(s.a.ctx, "git", "-C", dir, "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Env = gitEnv(s.a.opt.Env)
	out, err := git.Output()
	if err != nil {
		return nil, false // no git, or no repository
	}
	var files []string
	for f := range strings.SplitSeq(string(out), "\x00") {
		if f != "" && !slices.Contains(files[max(len(files)-3, 0):], f) { // a conflict lists a file thrice
			files = append(files, f)
		}
	}
	return files, true
}

// gitEnv is the environment without what would point git at another repository.
func gitEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
}

// file looks at one file, line by line. Links lead elsewhere and are not followed;
// what is no text has no lines.
func (s *scan) file(path string) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // tracked and deleted
	case err != nil:
		s.skip(path, "cannot be read")
		return
	case !info.Mode().IsRegular():
		return
	case info.Size() > scanBytes:
		s.skip(path, fmt.Sprintf("larger than %d MiB", scanBytes>>20))
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.skip(path, "cannot be read")
		return
	}
	if bytes.IndexByte(b[:min(len(b), 8192)], 0) >= 0 {
		return
	}
	s.report.Files++
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		for _, what := range s.rules.All(line) {
			if len(s.report.Findings) == scanFindings {
				s.report.More++
				continue
			}
			s.report.Findings = append(s.report.Findings, scanPlace{File: filepath.ToSlash(path), Line: n, What: what})
		}
	}
}

func (s *scan) skip(path, why string) {
	if len(s.report.Skipped) < scanFindings {
		s.report.Skipped = append(s.report.Skipped, scanSkip{File: filepath.ToSlash(path), Why: why})
	}
}

func (s *scan) answer() error {
	r := s.report
	f := newFields().set("clean", len(r.Findings) == 0).set("files", r.Files).set("findings", r.Findings).set("more", r.More).set("skipped", r.Skipped)
	found := len(r.Findings) + r.More
	if found > 0 {
		e := kernel.Errorf(kernel.Conflict, "not_public", "%s private", count(found, "place looks", "places look")).
			Try("take them out, or keep these files to yourself; what was committed stays in the history of the repository")
		f = errorFields(e).add(f.json())
	}
	err := s.a.out(f, func() string {
		var b strings.Builder
		for _, p := range r.Findings {
			fmt.Fprintf(&b, "%s:%d: %s\n", show(p.File, 200), p.Line, p.What)
		}
		if r.More > 0 {
			fmt.Fprintf(&b, "… %d more: mend these first\n", r.More)
		}
		for _, k := range r.Skipped {
			fmt.Fprintf(&b, "note: %s was not read: %s\n", show(k.File, 200), k.Why)
		}
		if found == 0 {
			fmt.Fprintf(&b, "● nothing private in %s\n", count(r.Files, "file", "files"))
		} else {
			fmt.Fprintf(&b, "✕ %s private; %s\n", count(found, "place looks", "places look"), count(r.Files, "file was looked at", "files were looked at"))
		}
		return b.String()
	})
	if err == nil && found > 0 {
		err = exitError(kernel.Conflict.ExitCode())
	}
	return err
}
