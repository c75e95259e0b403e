package client

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loopx/kernel"
)

// Home is a state folder: one workspace. Its parts have fixed names.
type Home struct {
	// Dir is the folder's absolute path.
	Dir string
	// Explicit is set when a person named the folder with --home. Only then may
	// it belong to another user.
	Explicit bool
	// runtime is where a socket goes whose path in Dir would be too long.
	runtime string
}

// socketMost is the longest socket path that every system takes.
const socketMost = 100

// FindHome resolves the state folder: flag, else LOOPX_HOME, else ~/.loopx. It
// does not look at the disk. env is os.Getenv in a program.
func FindHome(flag string, env func(string) string) (Home, error) {
	h := Home{Dir: flag, Explicit: flag != ""}
	if h.Dir == "" {
		h.Dir = env("LOOPX_HOME")
	}
	if h.Dir == "" {
		user := env("HOME")
		if user == "" {
			return Home{}, kernel.Errorf(kernel.Invalid, "no_home", "there is no state folder: neither LOOPX_HOME nor HOME is set").Try("pass --home DIR")
		}
		h.Dir = filepath.Join(user, ".loopx")
	}
	abs, err := filepath.Abs(h.Dir)
	if err != nil || strings.ContainsRune(h.Dir, 0) {
		return Home{}, kernel.Errorf(kernel.Invalid, "bad_home", "the path of the state folder cannot be used").Try("pass --home DIR")
	}
	h.Dir = abs
	if h.runtime = env("XDG_RUNTIME_DIR"); h.runtime == "" {
		h.runtime = fmt.Sprintf("/tmp/loopx-%d", os.Getuid())
	}
	return h, nil
}

func (h Home) path(name string) string { return filepath.Join(h.Dir, name) }

// DB is the state file.
func (h Home) DB() string { return h.path("loopx.db") }

// Config is the bot's configuration file.
func (h Home) Config() string { return h.path("config.toml") }

// TokenFile holds the owner's proof.
func (h Home) TokenFile() string { return h.path("owner.token") }

// Listen is where a daemon of this folder listens: inside it, or under a short
// name in the runtime directory when that path would be too long for a socket.
// The daemon records it, because another process may see another runtime directory.
func (h Home) Listen() string {
	if p := h.path("loopx.sock"); len(p) <= socketMost {
		return p
	}
	sum := sha256.Sum256([]byte(h.Dir))
	return filepath.Join(h.runtime, "loopx-"+hex.EncodeToString(sum[:8])+".sock")
}

// Socket is where to dial: Listen, unless the holder of the folder recorded
// another place.
func (h Home) Socket() string {
	if p := h.path("loopx.sock"); len(p) <= socketMost {
		return p
	}
	b, err := os.ReadFile(h.path("loopx.lock"))
	var holder struct {
		Socket string `json:"socket"`
	}
	if err == nil && len(b) <= 4096 && json.Unmarshal(bytes.TrimSpace(b), &holder) == nil && holder.Socket != "" {
		return holder.Socket
	}
	return h.Listen()
}

// Exists says whether the folder holds a state file.
func (h Home) Exists() bool {
	_, err := os.Lstat(h.DB())
	return err == nil
}

// Check refuses a folder that must not be trusted: a link, no folder, another
// user's (unless Explicit), or one that others may enter. A missing folder is
// fine. Errors are of class denied or invalid.
func (h Home) Check() error { return checkFolder("state folder", h.Dir, h.Explicit) }

// PrepareSocket makes the folder that Listen's path lies in, where that is not
// the state folder, and refuses one that others could reach.
func (h Home) PrepareSocket() error {
	dir := filepath.Dir(h.Listen())
	if dir == h.Dir {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return folderError(dir, err)
	}
	return checkFolder("runtime folder", dir, false)
}

func checkFolder(what, dir string, foreign bool) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return kernel.Errorf(kernel.Denied, "home_unreadable", "the %s %s cannot be entered by this user", what, dir).Try("pass --home DIR")
	case err != nil:
		return kernel.Errorf(kernel.Invalid, "bad_home", "the %s %s cannot be used: %s", what, dir, reason(err)).Try("pass --home DIR")
	case info.Mode()&fs.ModeSymlink != 0:
		return kernel.Errorf(kernel.Denied, "home_link", "the %s %s is a symbolic link", what, dir).Try("pass --home with the folder it leads to")
	case !info.IsDir():
		return kernel.Errorf(kernel.Invalid, "bad_home", "%s is no folder", dir).Try("pass --home DIR")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && !foreign {
		return kernel.Errorf(kernel.Denied, "home_foreign", "the %s %s belongs to another user", what, dir).Try("name it with --home %s if you mean it", dir)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return kernel.Errorf(kernel.Denied, "home_open", "the %s %s is open to other users (mode %04o)", what, dir, perm).Try("chmod 700 %s", dir)
	}
	return nil
}

// Ensure makes the folder (0700) with its owner token (0600) where they are
// missing, and then is Check. An empty folder that is open to others becomes
// private. A medium that cannot be written is no error here: existing state can
// still be read.
func (h Home) Ensure() error {
	info, err := os.Lstat(h.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(h.Dir, 0o700); err != nil {
			return folderError(h.Dir, err)
		}
	case err == nil && info.IsDir() && info.Mode().Perm()&0o077 != 0 && empty(h.Dir):
		_ = os.Chmod(h.Dir, 0o700) // Check says what is wrong if this did not help
	}
	if err := h.Check(); err != nil {
		return err
	}
	if _, err := os.Lstat(h.TokenFile()); errors.Is(err, fs.ErrNotExist) {
		_ = h.makeToken()
	}
	return nil
}

func folderError(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return kernel.Errorf(kernel.Unavailable, "disk_full", "the disk is full: the state folder %s could not be made", dir).Try("free some space, then run the same command again")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return kernel.Errorf(kernel.Unavailable, "read_only", "the state folder %s cannot be made there: %s", dir, reason(err)).Try("pass --home DIR")
	}
	return kernel.Errorf(kernel.Invalid, "bad_home", "the state folder %s cannot be made: %s", dir, reason(err)).Try("pass --home DIR")
}

// reason is the system's word for an error, without the path it repeats.
func reason(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	return "the system refused"
}

func empty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// Token reads the owner token of the folder.
func (h Home) Token() (string, error) { return ReadToken(h.TokenFile()) }

// ReadToken reads an owner token from a private file of this user.
func ReadToken(path string) (string, error) {
	bad := func(code, format string, a ...any) (string, error) {
		return "", kernel.Errorf(kernel.Denied, code, format, a...).Try("use owner.token of the state folder, mode 0600")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return bad("token_unreadable", "the owner token %s cannot be read: %s", path, reason(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return bad("token_unreadable", "the owner token %s is no plain file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return bad("token_open", "the owner token %s can be read by others (mode %04o)", path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, 200))
	if err != nil {
		return bad("token_unreadable", "the owner token %s cannot be read: %s", path, reason(err))
	}
	token := strings.TrimSpace(string(b))
	if len(token) != 64 {
		return bad("token_bad", "%s holds no owner token", path)
	}
	return token, nil
}

// SameToken compares tokens in constant time; an empty one is never right.
func SameToken(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// ActorOf is who stands behind a local command. The door decides: owner is set
// only by who has checked the proof; agent is a label among processes of one
// user.
func ActorOf(agent string, owner bool) kernel.Actor {
	switch {
	case owner:
		return kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "cli"}
	case agent != "":
		return kernel.Actor{Kind: kernel.ByAgent, ID: agent, Surface: "cli"}
	}
	return kernel.Actor{Kind: kernel.ByCLI, Surface: "cli"}
}
