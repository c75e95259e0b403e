package bot

import (
	"loopx/bot/client"
	"loopx/bot/workspace"
	"loopx/kernel/view"
)

// newPage wires the local page to the console surface and the views.
func (b *Bot) newPage(service view.Service) *workspace.Page {
	return workspace.New(workspace.Options{
		Service: service, Chat: b.console, Health: b.pageHealth, Watch: b.held.Store.Watch,
		Home: b.opt.Home.Dir, OpenAsOwner: b.opt.PageAsOwner, Version: client.Version, Logger: b.opt.Logger,
	})
}

// pageHealth is the connections as the page's rail shows them.
func (b *Bot) pageHealth() []workspace.Connection {
	var out []workspace.Connection
	for _, c := range b.engine.conns {
		out = append(out, workspace.Connection{Name: c.name, Platform: c.platform, Health: c.adapter.Health()})
	}
	return out
}
