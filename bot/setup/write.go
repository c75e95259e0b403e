package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"loopx/bot"
	"loopx/kernel"
)

// secretFile is one token on its way to its file.
type secretFile struct{ path, value string }

// entry is what is written.
type entry struct {
	text   string // of config.toml, with an empty line before it
	config bot.ConnectionConfig
	files  []secretFile
}

func (j *job) secretsDir() string { return filepath.Join(j.home.Dir, "secrets") }

func (j *job) secretPath(c credential) string {
	return filepath.Join(j.secretsDir(), j.name+"-"+strings.TrimSuffix(c.key, "-token")+".token")
}

// entry draws the connection as config.toml has it.
func (j *job) entry(v values) entry {
	e := entry{config: bot.ConnectionConfig{Name: j.name, Platform: j.platform.name, Domain: j.domain, BaseURL: j.base}}
	if j.webhook {
		e.config.Mode = "webhook"
	}
	var b strings.Builder
	set := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, quote(value))
		}
	}
	if j.addListen {
		b.WriteString("\n[webhook]\n")
		set("listen", j.listen)
	}
	b.WriteString("\n[[connection]]\n")
	set("name", j.name)
	set("platform", j.platform.name)
	set("mode", e.config.Mode)
	for _, c := range j.platform.credentials {
		if !c.secret {
			e.config.AppID = v[c.key].Reveal() // the only one that is none
			set(c.config(), e.config.AppID)
			continue
		}
		path := j.secretPath(c)
		e.files = append(e.files, secretFile{path, v[c.key].Reveal()})
		set(c.config()+"_file", path)
		switch c.key {
		case "app-token":
			e.config.AppTokenFile = path
		case "bot-token":
			e.config.BotTokenFile = path
		case "app-secret":
			e.config.AppSecretFile = path
		case "signing-secret":
			e.config.SigningSecretFile = path
		case "encrypt-key":
			e.config.EncryptKeyFile = path
		case "verification-token":
			e.config.VerificationTokenFile = path
		}
	}
	set("domain", j.domain)
	set("base_url", j.base)
	e.text = b.String()
	return e
}

// quote is a TOML basic string: its escapes are JSON's, and what JSON would
// leave alone and TOML forbids was refused with the path.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// readConfig keeps config.toml as it is now.
func (j *job) readConfig() error {
	j.config, j.mode = j.home.Config(), 0o600
	if to, err := filepath.EvalSymlinks(j.config); err == nil {
		j.config = to // a link stays one; what it leads to is replaced
	}
	b, err := os.ReadFile(j.config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := os.Stat(j.config)
	if err := errors.Join(err, statErr); err != nil {
		return notWritten("config.toml cannot be read: " + reason(err))
	}
	j.before, j.mode = b, info.Mode().Perm()
	return nil
}

// lookAtSecrets refuses a folder that others can enter and files in the way.
func (j *job) lookAtSecrets() error {
	dir := j.secretsDir()
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return notWritten("the folder of the tokens cannot be used: " + reason(err))
	case !info.IsDir():
		return kernel.Errorf(kernel.Denied, "secrets_folder", "%s is no folder", dir).Try("move it away")
	case info.Mode().Perm()&0o077 != 0:
		return kernel.Errorf(kernel.Denied, "secrets_folder", "%s is open to other users (mode %04o)", dir, info.Mode().Perm()).Try("chmod 700 %s", shellWord(dir))
	}
	for _, c := range j.platform.credentials {
		if p := j.secretPath(c); c.secret && exists(p) {
			return kernel.Errorf(kernel.Conflict, "secret_exists", "%s exists, and no connection %s", p, j.name).Try("choose another name with --name, or remove it: rm %s", shellWord(p))
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func notWritten(msg string) error {
	return kernel.Errorf(kernel.Unavailable, "not_written", "%s", msg)
}

// write makes the files, and then the entry that names them: whoever reads
// config.toml finds the tokens. What fails takes the files away again.
func (j *job) write(e entry) (err error) {
	if err := j.home.Ensure(); err != nil {
		return err
	}
	if err := j.lookAtSecrets(); err != nil {
		return err
	}
	dir := j.secretsDir()
	mkdir := os.Mkdir(dir, 0o700)
	if mkdir != nil && !errors.Is(mkdir, fs.ErrExist) {
		return notWritten("the folder of the tokens cannot be made: " + reason(mkdir))
	}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		for _, f := range made {
			_ = os.Remove(f)
		}
		if mkdir == nil {
			_ = os.Remove(dir)
		}
	}()
	for _, f := range e.files {
		if err := place(f.path, []byte(f.value+"\n"), 0o600, os.Link); err != nil {
			return notWritten("a token file cannot be written: " + reason(err))
		}
		made = append(made, f.path)
	}
	return j.append(e)
}

// append puts the entry behind what config.toml holds, which stays as it is to
// the byte.
func (j *job) append(e entry) error {
	after := bytes.Clone(j.before)
	if n := len(after); n > 0 && after[n-1] != '\n' {
		after = append(after, '\n')
	}
	text := e.text
	if len(after) == 0 {
		text = strings.TrimPrefix(text, "\n")
	}
	after = append(after, text...)
	refused := error(nil)
	err := place(j.config, after, j.mode, func(from, to string) error {
		if refused = j.agrees(from, e); refused != nil {
			return refused
		}
		if now, err := os.ReadFile(j.config); err == nil && !bytes.Equal(now, j.before) || err != nil && (j.before != nil || !errors.Is(err, fs.ErrNotExist)) {
			refused = kernel.Errorf(kernel.Conflict, "config_changed", "config.toml was changed by somebody else meanwhile").Try("run it again")
			return refused
		}
		return os.Rename(from, to)
	})
	if refused != nil {
		return refused
	}
	if err != nil {
		return notWritten("config.toml cannot be written: " + reason(err))
	}
	return nil
}

// agrees reads the new file as the daemon will: all that was there, and the new
// connection last.
func (j *job) agrees(path string, e entry) error {
	old, err := bot.LoadConfig(j.config)
	if err != nil {
		return err
	}
	now, err := bot.LoadConfig(path)
	old.Connections = append(old.Connections, e.config)
	if j.addListen {
		old.Webhook.Listen = j.listen
	}
	if err != nil || !reflect.DeepEqual(old, now) {
		return kernel.Errorf(kernel.Invalid, "config_closed", "config.toml cannot be continued with a [[connection]] at its end").Try("write its connections as tables [[connection]], then run it again")
	}
	return nil
}

// place writes a file that appears whole or not at all: put gives it its name.
func place(path string, content []byte, mode os.FileMode, put func(from, to string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), path); err != nil {
		return err
	}
	// It is there now; that a folder cannot be synced takes nothing back.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
