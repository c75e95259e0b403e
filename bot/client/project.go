package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"loopx/kernel"
)

// Project is a folder that was connected to a workspace: its `.loopx/link.toml`
// says where that is and which goal is worked on there. The file comes with
// whatever was unpacked or checked out, so it is believed only as far as `connect`
// registered it in a folder of this user: the register says what the link must say.
type Project struct {
	// Dir is the project's folder without symbolic links in it; in a repository
	// the main working tree.
	Dir  string `json:"project"`
	Home string `json:"home"` // state folder
	Goal string `json:"goal"`
}

// Place is where a project of a folder would be.
type Place struct {
	Dir string
	// GitDir is the repository's common directory, "" without one.
	GitDir string
	// index is the folder of the working tree's index.
	index string
}

// LinkFile is the link of a project's folder.
func LinkFile(dir string) string { return filepath.Join(dir, ".loopx", "link.toml") }

// FindPlace goes up from a folder to the top of its repository, by git's common
// directory also from one of its worktrees; outside of a repository to the nearest
// folder with a link. found is false where there is neither: then Place is dir.
func FindPlace(dir string) (place Place, found bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Place{Dir: dir}, false
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return Place{Dir: abs}, false
	}
	for at := real; ; {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return repository(at, info), true
		}
		if _, err := os.Lstat(LinkFile(at)); err == nil {
			return Place{Dir: at}, true
		}
		up := filepath.Dir(at)
		if up == at {
			return Place{Dir: real}, false
		}
		at = up
	}
}

// repository tells where the project of a working tree is. A `.git` file leads to
// the repository only where that leads back to it, as git itself has it; else any
// unpacked folder could take the name of another.
func repository(top string, git fs.FileInfo) Place {
	own := filepath.Join(top, ".git")
	if git.IsDir() {
		return Place{Dir: top, GitDir: own, index: own}
	}
	gitDir, ok := strings.CutPrefix(smallFile(own), "gitdir: ")
	if !ok {
		return Place{Dir: top}
	}
	gitDir = within(top, gitDir)
	common := smallFile(filepath.Join(gitDir, "commondir"))
	if common == "" { // a submodule has a directory of its own
		return Place{Dir: top, GitDir: gitDir, index: gitDir}
	}
	common = within(gitDir, common)
	back, err := filepath.EvalSymlinks(within(gitDir, smallFile(filepath.Join(gitDir, "gitdir"))))
	if err != nil || back != own {
		return Place{Dir: top}
	}
	if real, err := filepath.EvalSymlinks(common); err == nil && filepath.Base(real) == ".git" {
		return Place{Dir: filepath.Dir(real), GitDir: real, index: real}
	}
	return Place{Dir: top, GitDir: common, index: gitDir}
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// smallFile is one line of a file, or "".
func smallFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) > 4096 {
		return ""
	}
	return strings.TrimRight(string(b), "\r\n")
}

// Link is what the link file holds. It is TOML; JSON's strings are written like
// TOML's, but for a character that neither a path nor a goal may have.
func (p Project) Link() []byte {
	text := func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s) // a string always encodes
		return strings.TrimSpace(b.String())
	}
	return []byte("# Written by loopx connect. It counts only unchanged; connect again to change it.\nhome = " + text(p.Home) + "\ngoal = " + text(p.Goal) + "\n")
}

// sound refuses paths that a link file cannot hold as they are.
func (p Project) sound() error {
	for _, s := range []string{p.Dir, p.Home} {
		if !filepath.IsAbs(s) || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return kernel.Errorf(kernel.Invalid, "bad_path", "a path with control characters cannot be connected")
		}
	}
	return nil
}

// registerFile is where a project's registration lies in a state folder.
func registerFile(home, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(home, "projects", hex.EncodeToString(sum[:12])+".json")
}

// registerHomes are the folders that connect writes a registration to: the
// workspace itself, and the user's own folder, from which a later command starts.
func (p Project) registerHomes(env func(string) string) []Home {
	homes := []Home{{Dir: p.Home}}
	if user := env("HOME"); user != "" {
		if own := filepath.Join(user, ".loopx"); own != p.Home {
			homes = append(homes, Home{Dir: own})
		}
	}
	return homes
}

// Register keeps a project where FindProject looks for it.
func (p Project) Register(env func(string) string) error {
	if err := p.sound(); err != nil {
		return err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	for _, h := range p.registerHomes(env) {
		file := registerFile(h.Dir, p.Dir)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return folderError(filepath.Dir(file), err)
		}
		if err := h.Check(); err != nil {
			return err
		}
		if err := WriteWhole(file, append(b, '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Unregister forgets a project.
func (p Project) Unregister(env func(string) string) error {
	for _, h := range p.registerHomes(env) {
		if err := os.Remove(registerFile(h.Dir, p.Dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kernel.Errorf(kernel.Unavailable, "not_removed", "the registration of %s cannot be removed: %s", p.Dir, reason(err))
		}
	}
	return nil
}

// Registered looks a project's folder up in the register of this user: that of
// LOOPX_HOME where it is set, else that of ~/.loopx.
func Registered(dir string, env func(string) string) (Project, bool) {
	root, err := FindHome("", env)
	if err != nil || root.Check() != nil {
		return Project{}, false
	}
	b, err := ownFile(registerFile(root.Dir, dir))
	var p Project
	if err != nil || kernel.DecodeStrict(b, &p) != nil || p.Dir != dir || p.sound() != nil {
		return Project{}, false
	}
	// With LOOPX_HOME the workspace is named already; a link to another has no say.
	if env("LOOPX_HOME") != "" && p.Home != root.Dir {
		return Project{}, false
	}
	return p, true
}

// FindProject tells which workspace and goal the folder dir belongs to. Without a
// link both answers are empty; why says what is wrong with a link that does not
// count.
func FindProject(dir string, env func(string) string) (p *Project, why string) {
	place, found := FindPlace(dir)
	if !found {
		return nil, ""
	}
	if _, err := os.Lstat(LinkFile(place.Dir)); err != nil {
		return nil, ""
	}
	reg, ok := Registered(place.Dir, env)
	if !ok {
		return nil, "nobody on this machine connected it"
	}
	if why := linkFault(place, reg); why != "" {
		return nil, why
	}
	return &reg, ""
}

// linkFault names what keeps a registered link from counting, or "".
func linkFault(place Place, reg Project) string {
	if err := checkFolder("", filepath.Dir(LinkFile(place.Dir)), false); err != nil && kernel.AsError(err).Code != "home_open" {
		return "its folder is a link or another user's"
	}
	b, err := ownFile(LinkFile(place.Dir))
	switch {
	case err != nil:
		return "it is no plain file of this user alone"
	case !bytes.Equal(b, reg.Link()):
		return "it was changed since it was connected"
	case place.Tracked():
		return "git tracks it"
	}
	return ""
}

// ownFile reads a small plain file that this user owns and nobody else may write.
func ownFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || ok && int(st.Uid) != os.Geteuid() || info.Size() > 16<<10 {
		return nil, fs.ErrPermission
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		return b, nil
	}
	return nil, err
}

// Tracked says whether git tracks the link: then it comes from whoever wrote the
// repository.
func (p Place) Tracked() bool { return tracked(p.index) }

// tracked says whether an index of git names the link. A path stands there after
// the low byte of its flags, which is its length or, with more flags, zero; format
// 4 shortens a path by what the one before shares, so its end is looked for. What
// cannot be read tracks everything.
func tracked(gitDir string) bool {
	if gitDir == "" {
		return false
	}
	const path = ".loopx/link.toml\x00"
	parts, err := filepath.Glob(filepath.Join(gitDir, "sharedindex.*"))
	if err != nil {
		return true
	}
	for _, file := range append(parts, filepath.Join(gitDir, "index")) {
		b, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil || len(b) < 12 || string(b[:4]) != "DIRC":
			return true
		case b[7] >= 4 && bytes.Contains(b, []byte("link.toml\x00")),
			bytes.Contains(b, []byte("\x10"+path)), bytes.Contains(b, []byte("\x00"+path)):
			return true
		}
	}
	return false
}

// WriteWhole writes a file under its name whole or not at all.
func WriteWhole(path string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return folderError(filepath.Dir(path), err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return folderError(filepath.Dir(path), err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return folderError(filepath.Dir(path), err)
	}
	return nil
}
