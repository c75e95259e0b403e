package bot

import (
	"crypto/sha256"
	"fmt"
	"log/slog"

	"loopx/adapters/chat"
	"loopx/adapters/discord"
	"loopx/adapters/lark"
	"loopx/adapters/slack"
	"loopx/kernel"
)

// connectionOf is the adapter of a configured connection; it follows its
// credentials when they are replaced.
func connectionOf(c ConnectionConfig, getenv func(string) string, private func() []string, log *slog.Logger) (chat.Adapter, error) {
	return newRenewed(
		func() (string, error) { return c.fingerprint(getenv) },
		func() (chat.Adapter, error) { return newAdapter(c, getenv, private, log) },
		log.With("connection", c.Name),
	)
}

// fingerprint tells one set of credentials from another without holding them.
func (n ConnectionConfig) fingerprint(getenv func(string) string) (string, error) {
	h := sha256.New()
	for _, s := range [][2]string{
		{n.AppTokenEnv, n.AppTokenFile}, {n.BotTokenEnv, n.BotTokenFile}, {n.AppSecretEnv, n.AppSecretFile}, {n.SigningSecretEnv, n.SigningSecretFile},
		{n.EncryptKeyEnv, n.EncryptKeyFile}, {n.VerificationTokenEnv, n.VerificationTokenFile},
	} {
		if s == [2]string{} {
			continue
		}
		v, err := secret("connection "+n.Name, s[0], s[1], getenv)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%d:%s", len(v.Reveal()), v.Reveal())
	}
	return string(h.Sum(nil)), nil
}

// newAdapter makes the adapter of a configured connection: one explicit case a
// platform. private lists the private conversations it should catch up on.
func newAdapter(c ConnectionConfig, getenv func(string) string, private func() []string, log *slog.Logger) (chat.Adapter, error) {
	token := func(what, env, file string) (chat.Secret, error) {
		return secret("connection "+c.Name+", "+what, env, file, getenv)
	}
	sim := c.BaseURL != ""
	var a chat.Adapter
	var err error
	switch chat.Platform(c.Platform) {
	case chat.Slack:
		var app, signing, bot chat.Secret
		if c.calls() {
			signing, err = token("signing secret", c.SigningSecretEnv, c.SigningSecretFile)
		} else {
			app, err = token("app token", c.AppTokenEnv, c.AppTokenFile)
		}
		if err != nil {
			return nil, err
		}
		if bot, err = token("bot token", c.BotTokenEnv, c.BotTokenFile); err != nil {
			return nil, err
		}
		a, err = slack.New(slack.Config{Name: c.Name, AppToken: app, SigningSecret: signing, BotToken: bot, Conversations: private, BaseURL: c.BaseURL, Sim: sim, Logger: log})
	case chat.Discord:
		var bot chat.Secret
		if bot, err = token("bot token", c.BotTokenEnv, c.BotTokenFile); err != nil {
			return nil, err
		}
		a, err = discord.New(discord.Config{Name: c.Name, BotToken: bot, Conversations: private, BaseURL: c.BaseURL, Sim: sim, Logger: log})
	case chat.Lark:
		var app, key, word chat.Secret
		if c.calls() {
			if key, err = token("encrypt key", c.EncryptKeyEnv, c.EncryptKeyFile); err != nil {
				return nil, err
			}
			if word, err = token("verification token", c.VerificationTokenEnv, c.VerificationTokenFile); err != nil {
				return nil, err
			}
		}
		if app, err = token("app secret", c.AppSecretEnv, c.AppSecretFile); err != nil {
			return nil, err
		}
		a, err = lark.New(lark.Config{
			Name: c.Name, AppID: c.AppID, AppSecret: app, EncryptKey: key, VerificationToken: word, Conversations: private,
			Domain: lark.Domain(c.Domain), BaseURL: c.BaseURL, Sim: sim, Logger: log,
		})
	}
	if err != nil {
		return nil, kernel.Errorf(kernel.Invalid, "bad_connection", "connection %s: %s", c.Name, err)
	}
	return a, nil
}
