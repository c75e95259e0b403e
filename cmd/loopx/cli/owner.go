package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"loopx/bot/client"
	"loopx/kernel"
)

// waysToDecide names what works where a command does not.
const waysToDecide = "answer on the card or the page, or run it in a terminal outside the agent's host (it asks for confirmation), or pass --owner-token-file there"

// hostMarkers are set by agent hosts in the environment of what they run.
func hostMarkers() []string {
	return []string{"CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI"}
}

// owner gives the actor of an owner's act, after proof: a token file, or a person
// at a terminal who sees what will happen and confirms it with word. Where an
// agent stands behind the command it is denied: an agent that answers its own
// gate by mistake is what the proof is for.
func (a *app) owner(act string, seen func() string, word string) (kernel.Actor, error) {
	interactive := isTerminal(a.opt.In) && isTerminal(a.opt.Err)
	if err := a.noAgent(act, a.g.asOwner && interactive); err != nil {
		return kernel.Actor{}, err
	}
	if _, err := a.workspace(); err != nil {
		return kernel.Actor{}, err
	}
	if a.g.tokenFile != "" {
		return a.ownerByFile()
	}
	if !interactive {
		return kernel.Actor{}, kernel.Errorf(kernel.Denied, "owner_proof_missing", "%s is an owner's act and needs proof", act).Try(waysToDecide)
	}
	if err := a.confirm(seen(), word); err != nil {
		return kernel.Actor{}, err
	}
	return a.ownerByFolder()
}

// ownerPreview is the owner's view of an act that is only shown. It writes
// nothing, so nobody is asked; agents are told at once that it is not theirs.
func (a *app) ownerPreview(act string) (kernel.Actor, error) {
	if err := a.noAgent(act, a.g.asOwner); err != nil {
		return kernel.Actor{}, err
	}
	if _, err := a.workspace(); err != nil {
		return kernel.Actor{}, err
	}
	return a.ownerByFolder()
}

func (a *app) noAgent(act string, agentAllowed bool) error {
	for _, m := range hostMarkers() {
		if a.env[m] != "" {
			return kernel.Errorf(kernel.Denied, "agent_host", "%s is an owner's act, and this command runs inside an agent's host (%s is set)", act, m).
				With("marker", m).Try(waysToDecide)
		}
	}
	if a.env["LOOPX_AGENT"] != "" && !agentAllowed {
		return kernel.Errorf(kernel.Denied, "agent_identity", "%s is an owner's act, and LOOPX_AGENT says that an agent runs this command", act).
			With("marker", "LOOPX_AGENT").Try(waysToDecide + "; on your own terminal --as-owner works too")
	}
	return nil
}

func (a *app) ownerByFile() (kernel.Actor, error) {
	token, err := client.ReadToken(a.g.tokenFile)
	if err != nil {
		return kernel.Actor{}, err
	}
	if a.access.home.Exists() {
		mine, err := a.access.home.Token()
		if err != nil {
			return kernel.Actor{}, err
		}
		if !client.SameToken(token, mine) {
			return kernel.Actor{}, kernel.Errorf(kernel.Denied, "token_bad", "the owner token is not the one of %s", a.access.home.Dir).Try("use owner.token of the state folder")
		}
	}
	a.access.token = token
	return client.ActorOf("", true), nil
}

func (a *app) ownerByFolder() (kernel.Actor, error) {
	home := a.access.home
	if !home.Exists() {
		return client.ActorOf("", true), nil // the command itself says what is missing
	}
	token, err := home.Token()
	if err != nil {
		return kernel.Actor{}, err
	}
	a.access.token = token
	return client.ActorOf("", true), nil
}

// confirm shows what will happen and wants word typed back.
func (a *app) confirm(seen, word string) error {
	fmt.Fprintf(a.opt.Err, "%s\nType %s to confirm: ", strings.TrimRight(seen, "\n"), a.bold(word))
	line, err := bufio.NewReader(io.LimitReader(a.opt.In, 1000)).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(a.opt.Err)
	}
	if !strings.EqualFold(strings.TrimSpace(line), word) {
		return kernel.Errorf(kernel.Denied, "not_confirmed", "that was not %s", word).Try("run it again and type %s", word)
	}
	return nil
}

// readText reads --text-file: a file or, as "-", standard input. The bound is far
// above what any field takes; the kernel says what is too long.
func (a *app) readText(path string) (string, error) {
	const most = 4 << 20
	in := a.opt.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", kernel.Errorf(kernel.Invalid, "file_unreadable", "the file %s cannot be read", show(path, 200))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return "", kernel.Errorf(kernel.Invalid, "file_unreadable", "%s cannot be read", show(path, 200))
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
