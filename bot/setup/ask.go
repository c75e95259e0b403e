package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"loopx/adapters/chat"
	"loopx/kernel"
)

// tries is how often a value of the wrong shape may be typed again.
const tries = 3

// named gets the credentials that flags named.
func (j *job) named() (values, error) {
	out := values{}
	for _, c := range j.platform.credentials {
		src, given := j.given[c.key]
		if !given {
			continue
		}
		v, err := j.fetch(c, src)
		if err != nil {
			return nil, err
		}
		out[c.key] = chat.NewSecret(v)
	}
	return out, nil
}

// askAll asks for those that are still missing. From the first secret to the
// last a terminal shows nothing: who pastes before the question, or two tokens at
// once, shows none of them either.
func (j *job) askAll(ctx context.Context, v values) error {
	q := newAsker(j.opt)
	defer q.show()
	for _, c := range j.platform.credentials {
		if _, have := v[c.key]; have {
			continue
		}
		if c.secret {
			if err := q.hide(); err != nil {
				return err
			}
		}
		s, err := q.ask(ctx, c)
		if err != nil {
			return err
		}
		v[c.key] = chat.NewSecret(s)
	}
	return nil
}

func malformed(c credential, why string) *kernel.Error {
	return kernel.Errorf(kernel.Invalid, "token_malformed", "the %s is not one: %s", lower(c.label), why)
}

// lower makes a label fit into a sentence.
func lower(label string) string {
	if strings.HasPrefix(label, "App ID") {
		return "app id"
	}
	label, _, _ = strings.Cut(label, " (")
	return strings.ToLower(label)
}

// fetch reads a credential that a flag named.
func (j *job) fetch(c credential, src source) (string, error) {
	v := src.value
	switch {
	case src.env != "":
		// A token in the wrong place must not be repeated by the refusal.
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`).MatchString(src.env) {
			return "", badArgs("--" + c.key + "-env takes the name of an environment variable, not the token")
		}
		if v = strings.TrimSpace(j.opt.Env(src.env)); v == "" {
			return "", kernel.Errorf(kernel.Invalid, "secret_missing", "the environment variable %s is empty", src.env)
		}
	case src.file != "":
		if c.wrong(src.file) == "" && !strings.ContainsAny(src.file, "/") {
			return "", badArgs("--" + c.key + "-file takes the path of a file, not the token")
		}
		var err error
		if v, err = readPrivate(c, src.file); err != nil {
			return "", err
		}
	}
	if w := c.wrong(v); w != "" {
		return "", malformed(c, w)
	}
	return v, nil
}

// readPrivate reads a token from a file that only this user can read.
func readPrivate(c credential, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", kernel.Errorf(kernel.Invalid, "secret_missing", "the file of the %s cannot be read: %s", lower(c.label), reason(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", kernel.Errorf(kernel.Invalid, "secret_missing", "the file of the %s cannot be read: %s", lower(c.label), reason(err))
	}
	// A pipe of the shell, <(...), is nobody else's either.
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", kernel.Errorf(kernel.Invalid, "secret_exposed", "%s can be read by others (mode %04o)", path, info.Mode().Perm()).Try("chmod 600 %s", shellWord(path))
	}
	b, err := io.ReadAll(io.LimitReader(f, 5000))
	if err != nil {
		return "", kernel.Errorf(kernel.Invalid, "secret_missing", "the file of the %s cannot be read: %s", lower(c.label), reason(err))
	}
	return strings.TrimSpace(string(b)), nil
}

// asker asks the questions of one run.
type asker struct {
	in      io.Reader
	out     io.Writer
	tty     *os.File // in, when it is a terminal
	restore func()   // set while the terminal shows nothing
}

func newAsker(opt Options) *asker {
	return &asker{in: opt.In, out: opt.Err, tty: terminal(opt.In)}
}

// hide keeps a terminal from showing what is typed, until show.
func (q *asker) hide() error {
	if q.tty == nil || q.restore != nil {
		return nil
	}
	restore, err := silence(q.tty)
	if err != nil {
		return kernel.Errorf(kernel.Unavailable, "no_terminal", "this terminal cannot be kept from showing what is typed").Try("name the token by a file or a variable: loopx-bot setup help")
	}
	q.restore = restore
	return nil
}

func (q *asker) show() {
	if q.restore != nil {
		q.restore()
		q.restore = nil
	}
}

// ask asks a person, or takes the next line where there is no terminal.
func (q *asker) ask(ctx context.Context, c credential) (string, error) {
	prompt := c.label + ": "
	if q.restore != nil {
		prompt = c.label + ", not shown: "
	}
	for try := 1; ; try++ {
		v, err := q.line(ctx, prompt)
		if err != nil {
			return "", err
		}
		w := c.wrong(v)
		if w == "" {
			return v, nil
		}
		if q.tty == nil || try == tries {
			return "", malformed(c, w)
		}
		fmt.Fprintf(q.out, "That is not it: %s.\n", w)
	}
}

// confirm asks whether the entry is to be written.
func (q *asker) confirm(ctx context.Context) error {
	v, err := q.line(ctx, "\nType yes to write it: ")
	if err != nil && kernel.AsError(err).Code != "no_input" {
		return err
	}
	if !strings.EqualFold(v, "yes") {
		return kernel.Errorf(kernel.Denied, "not_confirmed", "that was not yes").Try("run it again and type yes, or pass --yes")
	}
	return nil
}

// line reads one line. It gives up when ctx ends, although the read goes on: the
// program is about to end then, and the terminal must show again what is typed.
func (q *asker) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(q.out, prompt)
	if q.tty == nil || q.restore != nil {
		defer fmt.Fprintln(q.out) // nobody sees an end of line that was typed
	}
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		s, err := readLine(q.in)
		done <- read{s, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return "", kernel.Errorf(kernel.Invalid, "no_input", "the input ended before everything was given").Try("loopx-bot setup help")
		}
		return strings.TrimSpace(r.line), nil
	case <-ctx.Done():
		return "", kernel.Errorf(kernel.Unavailable, "interrupted", "the command was interrupted")
	}
}

// readLine reads one line and not a byte more: the next question reads on. A
// last line without its end counts.
func readLine(in io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for len(line) < 5000 {
		n, err := in.Read(b)
		if n == 1 && b[0] == '\n' {
			return string(line), nil
		}
		if n == 1 {
			line = append(line, b[0])
		}
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return string(line), nil
			}
			return "", err
		}
	}
	return string(line), nil
}

// reason is the system's word for an error, without the path it repeats.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err.Error()
	}
	return "the system refused"
}
