package bot

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// Log bounds: ten megabytes a file, five files.
const (
	logBytes = 10 << 20
	logFiles = 5
)

// Logs is the daemon's log: text on stderr and in logs/bot.log.
type Logs struct {
	*slog.Logger
	file *rotating
}

// OpenLog opens logs/bot.log in the state folder. Everything that is logged
// passes a last filter for tokens, on top of types that print redacted.
func OpenLog(dir string, level slog.Level, also io.Writer) (*Logs, error) {
	f := &rotating{path: filepath.Join(dir, "logs", "bot.log")}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	h := slog.NewTextHandler(&redacting{w: io.MultiWriter(f, also), tokens: tokenShapes()}, &slog.HandlerOptions{Level: level})
	return &Logs{Logger: slog.New(h), file: f}, nil
}

// Close closes the file.
func (l *Logs) Close() error { return l.file.Close() }

// rotating is a file that is moved aside when it is full.
type rotating struct {
	path string

	mu   sync.Mutex // guards what follows
	file *os.File
	size int64
}

func (r *rotating) open() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Write appends, turning the files over first when this one is full. A log that
// cannot be written never stops the daemon: the line is lost, the work is not.
func (r *rotating) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return len(p), nil
	}
	if r.size+int64(len(p)) > logBytes {
		_ = r.file.Close()
		for i := logFiles - 1; i > 0; i-- {
			from := r.path
			if i > 1 {
				from += "." + strconv.Itoa(i-1)
			}
			_ = os.Rename(from, r.path+"."+strconv.Itoa(i))
		}
		r.file = nil
		if r.open() != nil {
			return len(p), nil
		}
	}
	n, _ := r.file.Write(p)
	r.size += int64(n)
	return len(p), nil
}

func (r *rotating) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// redacting replaces what looks like a token of a platform we know.
type redacting struct {
	w      io.Writer
	tokens *regexp.Regexp
}

func tokenShapes() *regexp.Regexp {
	return regexp.MustCompile(`xox[a-z]-[A-Za-z0-9-]+|xapp-[A-Za-z0-9-]+|lease_[0-9a-z]{8,}|ticket=[^\s&"]+|-----BEGIN [A-Z ]+-----`)
}

func (r *redacting) Write(p []byte) (int, error) {
	_, err := r.w.Write(r.tokens.ReplaceAll(p, []byte("[secret]")))
	return len(p), err
}
