package cli

import (
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
	if err := a.noAgent(act, a.g.asOwner && a.interactive()); err != nil {
		return kernel.Actor{}, err
	}
	if _, err := a.workspace(); err != nil {
		return kernel.Actor{}, err
	}
	if a.g.tokenFile != "" {
		return a.ownerByFile()
	}
	if !a.interactive() {
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
	if err := a.noAgent(act, a.g.asOwner && a.interactive()); err != nil {
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
	return client.OwnerHere(), nil
}

func (a *app) ownerByFolder() (kernel.Actor, error) {
	home := a.access.home
	if !home.Exists() {
		return client.OwnerHere(), nil // the command itself says what is missing
	}
	token, err := home.Token()
	if err != nil {
		return kernel.Actor{}, err
	}
	a.access.token = token
	return client.OwnerHere(), nil
}

// interactive says whether a person sits here: input comes from a terminal, and a
// question can be shown on one.
func (a *app) interactive() bool {
	if !isTerminal(a.opt.In) {
		return false
	}
	out, done := a.prompt()
	done()
	return out != nil
}

// prompt is where a question is shown: standard error, else the terminal itself.
func (a *app) prompt() (io.Writer, func()) {
	if isTerminal(a.opt.Err) {
		return a.opt.Err, func() {}
	}
	f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil, func() {}
	}
	return f, func() { _ = f.Close() }
}

// confirm shows what will happen and wants word typed back.
func (a *app) confirm(seen, word string) error {
	out, done := a.prompt()
	defer done()
	if out == nil {
		return kernel.Errorf(kernel.Denied, "not_confirmed", "there is no terminal to ask on")
	}
	fmt.Fprintf(out, "%s\nType %s to confirm: ", strings.TrimRight(seen, "\n"), a.bold(word))
	if !strings.EqualFold(strings.TrimSpace(readLine(a.opt.In)), word) {
		return kernel.Errorf(kernel.Denied, "not_confirmed", "that was not %s", word).Try("run it again and type %s", word)
	}
	return nil
}

// readLine reads one line and not a byte more: the next question reads on.
func readLine(in io.Reader) string {
	var line []byte
	b := make([]byte, 1)
	for len(line) < 1000 {
		n, err := in.Read(b)
		if n == 1 && b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if n == 1 || err != nil {
			break
		}
	}
	return string(line)
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
