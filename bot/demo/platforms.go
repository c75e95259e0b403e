package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"loopx/bot"
	"loopx/bot/client"
	"loopx/kernel"
)

// showPlatforms is the demo on three simulated platforms at once. The simulators
// remember nothing over a restart, so it starts from an empty folder.
func showPlatforms(ctx context.Context, o options) int {
	if o.speed == 0 {
		o.speed = 60
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "loopx-demo-")
		if err != nil {
			return refuse(o.stderr, err)
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	home, err := client.FindHome(o.dir, os.Getenv)
	if err != nil {
		return refuse(o.stderr, err)
	}
	if home.Exists() {
		return refuse(o.stderr, kernel.Errorf(kernel.Conflict, "folder_used", "%s holds a workspace already, and the simulated platforms start from nothing", home.Dir).Try("choose an empty --dir, or none"))
	}
	if err := home.Ensure(); err != nil {
		return refuse(o.stderr, err)
	}
	logs, err := bot.OpenLog(home.Dir, 8, io.Discard)
	if err != nil {
		return refuse(o.stderr, err)
	}
	defer logs.Close()
	phones := newPhones()
	secrets := map[string]string{}
	var config bot.Config
	for _, p := range phones {
		defer p.close()
		config.Connections = append(config.Connections, p.config)
		for k, v := range p.secrets {
			secrets[k] = v
		}
	}
	b, err := bot.New(bot.Options{
		Home: home, Config: config, Sim: true, PageAsOwner: true, Logger: logs.Logger,
		Getenv: func(k string) string { return secrets[k] },
	})
	if err != nil {
		return refuse(o.stderr, err)
	}
	if err := b.Start(ctx); err != nil {
		return refuse(o.stderr, err)
	}
	defer stopBot(b, o.stderr)
	fmt.Fprintln(o.stdout, "A scripted replay: no model runs. Slack, Discord and Lark are simulated on this machine, behind the real adapters.")
	b.Greet(o.stdout)
	c, err := newCLI(home.Dir)
	if err != nil {
		return refuse(o.stderr, err)
	}
	if err := linkPhones(ctx, c, home, phones); err != nil {
		return refuse(o.stderr, err)
	}
	stories, err := startStories(ctx, c)
	if err != nil {
		return refuse(o.stderr, err)
	}
	s, err := newScreen(ctx, phones)
	if err != nil {
		return refuse(o.stderr, err)
	}
	defer s.close()
	file, err := s.openFile(home.Dir)
	if err != nil {
		return refuse(o.stderr, err)
	}
	fmt.Fprintf(o.stdout, "phones    %s  (a private file that leads there)\n", file)
	if !o.noOpen {
		bot.OpenBrowser(file)
	}
	fmt.Fprintf(o.stdout, "\nYou are Wei on three phones. Press on one and look at the others. The stories run at %g times real time. Stop with Ctrl-C.\n\n", o.speed)
	runAgents(ctx, stories, o.speed, func(line string) { fmt.Fprintln(o.stdout, line) })
	return 0
}

// linkPhones joins Wei's three accounts to the owner, as a person would do it:
// a code from the machine, typed privately, confirmed at the machine.
func linkPhones(ctx context.Context, c *cli, home client.Home, phones []phone) error {
	for _, p := range phones {
		if err := until(ctx, p.config.Name+" is connected", func() bool {
			info, err := client.New(home).Info(ctx)
			if err != nil {
				return false
			}
			for _, x := range info.Connections {
				if x.Name == p.config.Name {
					return x.State == "ready"
				}
			}
			return false
		}); err != nil {
			return err
		}
		a, err := c.owner(ctx, "link", "--name", "Wei")
		if err != nil {
			return err
		}
		p.say(a.str("link_code"))
		if err := until(ctx, "the bot answers on "+p.config.Name, func() bool { return len(p.look().Messages) > 1 }); err != nil {
			return err
		}
		if _, err := c.owner(ctx, "link", "confirm", "--platform", p.config.Platform, "--connection", p.config.Name, "--tenant", p.tenant, "--user", p.user); err != nil {
			return err
		}
	}
	// Who looks at the demo at night wants to be asked at night.
	_, err := c.owner(ctx, "attention", "set", "--quiet", "off", "--budget", "1000")
	return err
}

// until looks again and again until something holds.
func until(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("never: %s", what)
		}
	}
	return nil
}
