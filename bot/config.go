package bot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// Config is config.toml in the state folder. Secrets stand in it by name only.
type Config struct {
	Page        PageConfig         `toml:"page"`
	Webhook     WebhookConfig      `toml:"webhook"`
	Connections []ConnectionConfig `toml:"connection"`
}

// PageConfig is the local page.
type PageConfig struct {
	Off bool `toml:"off"`
}

// ConnectionConfig is one bot app in one workspace or tenant.
type ConnectionConfig struct {
	Name     string `toml:"name"`     // a-z 0-9 - _, unique
	Platform string `toml:"platform"` // slack, discord, lark
	// Tokens by name: an environment variable, or a file with mode 0600.
	AppTokenEnv  string `toml:"app_token_env"`
	AppTokenFile string `toml:"app_token_file"`
	BotTokenEnv  string `toml:"bot_token_env"`
	BotTokenFile string `toml:"bot_token_file"`
	// Lark: the self-built app, and where it lives: feishu (default) or lark.
	AppID         string `toml:"app_id"`
	AppSecretEnv  string `toml:"app_secret_env"`
	AppSecretFile string `toml:"app_secret_file"`
	Domain        string `toml:"domain"`
	// Mode is socket (default: we open a connection) or webhook (Slack and Lark
	// call us at webhook.listen).
	Mode string `toml:"mode"`
	// Slack in mode webhook: what signs its requests.
	SigningSecretEnv  string `toml:"signing_secret_env"`
	SigningSecretFile string `toml:"signing_secret_file"`
	// Lark in mode webhook: what encrypts and signs its requests, and the word
	// they carry.
	EncryptKeyEnv         string `toml:"encrypt_key_env"`
	EncryptKeyFile        string `toml:"encrypt_key_file"`
	VerificationTokenEnv  string `toml:"verification_token_env"`
	VerificationTokenFile string `toml:"verification_token_file"`
	// BaseURL points at a simulator on this machine; it needs the flag --sim.
	BaseURL string `toml:"base_url"`
}

// calls reports whether the platform calls us.
func (n ConnectionConfig) calls() bool { return n.Mode == modeWebhook }

// Modes of a connection; empty is socket.
const (
	modeSocket  = "socket"
	modeWebhook = "webhook"
)

// LoadConfig reads config.toml strictly. A missing file is an empty
// configuration: the console surface alone.
func LoadConfig(path string) (Config, error) {
	var c Config
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, configError(path, "it cannot be read: "+reason(err))
	}
	d := toml.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
			row, _ := e.Errors[0].Position()
			return c, configError(path, fmt.Sprintf("line %d: unknown key %q", row, strings.Join(e.Errors[0].Key(), ".")))
		}
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, col := e.Position()
			return c, configError(path, fmt.Sprintf("line %d, column %d: %s", row, col, strings.TrimPrefix(e.Error(), "toml: ")))
		}
		return c, configError(path, "it is not TOML")
	}
	return c, c.check(path)
}

func (c Config) check(path string) error {
	seen := map[string]bool{}
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	for i, n := range c.Connections {
		at := fmt.Sprintf("connection %d", i+1)
		switch {
		case !name.MatchString(n.Name):
			return configError(path, at+": name must be 1 to 40 of a-z 0-9 _ -")
		case n.Name == consoleName:
			return configError(path, at+": the name "+consoleName+" belongs to the local page")
		case seen[n.Name]:
			return configError(path, at+": the name "+n.Name+" is used twice")
		}
		if msg := n.keys(); msg != "" {
			return configError(path, at+": "+msg)
		}
		seen[n.Name] = true
	}
	if msg := c.webhook(); msg != "" {
		return configError(path, msg)
	}
	return nil
}

// keys says what is wrong with the keys of a connection for its platform.
func (n ConnectionConfig) keys() string {
	app, bot, secret := keyCount(n.AppTokenEnv, n.AppTokenFile), keyCount(n.BotTokenEnv, n.BotTokenFile), keyCount(n.AppSecretEnv, n.AppSecretFile)
	lark, slack := n.Platform == string(chat.Lark), n.Platform == string(chat.Slack)
	switch {
	case !slack && n.Platform != string(chat.Discord) && !lark:
		return "platform must be slack, discord or lark"
	case n.Mode != "" && n.Mode != modeSocket && n.Mode != modeWebhook:
		return "mode must be socket or webhook"
	case n.calls() && !slack && !lark:
		return "mode webhook is for slack and lark"
	case slack && !n.calls() && app != 1:
		return "give app_token_env or app_token_file, one of them"
	case slack && n.calls() && app != 0:
		return "app_token_env and app_token_file are for mode socket"
	case !slack && app != 0:
		return "app_token_env and app_token_file are for slack"
	case !lark && bot != 1:
		return "give bot_token_env or bot_token_file, one of them"
	case lark && bot != 0:
		return "bot_token_env and bot_token_file are not for lark"
	case lark && (n.AppID == "" || secret != 1):
		return "give app_id, and app_secret_env or app_secret_file, one of them"
	case !lark && (n.AppID != "" || secret != 0 || n.Domain != ""):
		return "app_id, app_secret_env, app_secret_file and domain are for lark"
	case lark && n.Domain != "" && n.Domain != "feishu" && n.Domain != "lark":
		return "domain must be feishu or lark"
	}
	return n.webhookKeys()
}

// webhookKeys says what is wrong with the keys that requests are checked with.
func (n ConnectionConfig) webhookKeys() string {
	signing, encrypt, word := keyCount(n.SigningSecretEnv, n.SigningSecretFile), keyCount(n.EncryptKeyEnv, n.EncryptKeyFile), keyCount(n.VerificationTokenEnv, n.VerificationTokenFile)
	slack := n.Platform == string(chat.Slack)
	switch {
	case !n.calls() && signing+encrypt+word != 0:
		return "signing_secret, encrypt_key and verification_token are for mode webhook"
	case !n.calls():
	case slack && signing != 1:
		return "give signing_secret_env or signing_secret_file, one of them"
	case slack && encrypt+word != 0:
		return "encrypt_key and verification_token are for lark"
	case !slack && (encrypt != 1 || word != 1):
		return "give encrypt_key_env or encrypt_key_file, and verification_token_env or verification_token_file"
	case !slack && signing != 0:
		return "signing_secret_env and signing_secret_file are for slack"
	}
	return ""
}

// keyCount is how many of the two ways to name a secret are given.
func keyCount(env, file string) int {
	n := 0
	for _, s := range []string{env, file} {
		if s != "" {
			n++
		}
	}
	return n
}

func configError(path, msg string) error {
	return kernel.Errorf(kernel.Invalid, "bad_config", "%s: %s", filepath.Base(path), msg).Try("correct %s, then start again", path)
}

// reason is an OS error without the path in it.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// secret reads a token by name. A value with spaces or line breaks inside is
// refused: somebody pasted a message and not a token.
func secret(what, env, file string, getenv func(string) string) (chat.Secret, error) {
	value, from := "", "the environment variable "+env
	if env != "" {
		value = getenv(env)
	} else {
		from = "the file " + file
		info, err := os.Stat(file)
		if err != nil {
			return chat.Secret{}, kernel.Errorf(kernel.Invalid, "secret_missing", "%s: %s cannot be read: %s", what, from, reason(err))
		}
		if info.Mode().Perm()&0o077 != 0 {
			return chat.Secret{}, kernel.Errorf(kernel.Invalid, "secret_exposed", "%s: %s can be read by others (mode %04o)", what, from, info.Mode().Perm()).Try("chmod 600 %s", file)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return chat.Secret{}, kernel.Errorf(kernel.Invalid, "secret_missing", "%s: %s cannot be read: %s", what, from, reason(err))
		}
		value = strings.TrimSpace(string(raw))
	}
	switch {
	case value == "":
		return chat.Secret{}, kernel.Errorf(kernel.Invalid, "secret_missing", "%s: %s is empty", what, from)
	case len(value) > 4096 || strings.ContainsAny(value, " \t\r\n"):
		return chat.Secret{}, kernel.Errorf(kernel.Invalid, "secret_malformed", "%s: %s holds something that is no token", what, from)
	}
	return chat.NewSecret(value), nil
}
