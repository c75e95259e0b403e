package bot

import (
	"log/slog"

	"loopx/adapters/chat"
	"loopx/adapters/discord"
	"loopx/adapters/lark"
	"loopx/adapters/slack"
	"loopx/kernel"
)

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
