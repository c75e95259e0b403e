package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// answerMost bounds an answer of the daemon, in bytes; lists are limited far below.
const answerMost = 64 << 20

// answer is the head of a response; its body is read from r.
type answer struct {
	status  int
	length  int64 // -1: until the connection ends
	chunked bool
	closes  bool // the daemon ends the connection behind this answer
	api     string
	r       *bufio.Reader
}

// request sends one request on a fresh connection. The caller closes conn. An
// error after the first byte was written is what lost makes of it; before that it
// is errNoDaemon.
func request(ctx context.Context, socket, method, target string, body []byte) (net.Conn, *answer, error) {
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, nil, err
	}
	a, _, err := roundTrip(ctx, conn, bufio.NewReader(conn), method, target, body, false)
	if err != nil {
		_ = conn.Close()
		return nil, nil, lost(err)
	}
	return conn, a, nil
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	if err := sameUser(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// roundTrip sends a request and reads the head of its answer. sent says whether
// any byte of the request may have reached the daemon.
func roundTrip(ctx context.Context, conn net.Conn, r *bufio.Reader, method, target string, body []byte, keep bool) (a *answer, sent bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	a, sent, err = exchange(conn, r, method, target, body, keep)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	return a, sent, err
}

func exchange(conn net.Conn, r *bufio.Reader, method, target string, body []byte, keep bool) (a *answer, sent bool, err error) {
	var b bytes.Buffer
	b.Grow(200 + len(body))
	b.WriteString(method + " " + target + " HTTP/1.1\r\nHost: " + Host + "\r\n" + APIHeader + ": " + API() + "\r\n")
	if !keep {
		b.WriteString("Connection: close\r\n")
	}
	if body != nil {
		b.WriteString("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	n, err := conn.Write(b.Bytes())
	if err != nil {
		// A daemon that refuses early may answer before it has read everything.
		if a, readErr := readHead(r); readErr == nil {
			return a, true, nil
		}
		return nil, n > 0, err
	}
	a, err = readHead(r)
	return a, true, err
}

var errHead = errors.New("client: the answer is no HTTP/1.1 answer")

func readHead(r *bufio.Reader) (*answer, error) {
	line, err := headLine(r)
	if err != nil {
		return nil, err
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || err != nil {
		return nil, errHead
	}
	a := &answer{status: status, length: -1, r: r}
	for range 64 {
		line, err := headLine(r)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return a, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-length":
			if a.length, err = strconv.ParseInt(value, 10, 64); err != nil || a.length < 0 {
				return nil, errHead
			}
		case "connection":
			a.closes = strings.EqualFold(value, "close")
		case "transfer-encoding":
			a.chunked = strings.EqualFold(value, "chunked")
		case strings.ToLower(APIHeader):
			a.api = value
		}
	}
	return nil, errHead
}

func headLine(r *bufio.Reader) (string, error) {
	b, err := r.ReadSlice('\n')
	if err != nil {
		return "", io.ErrUnexpectedEOF
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// body reads a whole body. An early end is an error: half an answer is none.
func (a *answer) body() ([]byte, error) {
	if a.chunked {
		return io.ReadAll(io.LimitReader(&chunks{r: a.r}, answerMost))
	}
	if a.length < 0 {
		return io.ReadAll(io.LimitReader(a.r, answerMost))
	}
	if a.length > answerMost {
		return nil, errHead
	}
	b := make([]byte, a.length)
	_, err := io.ReadFull(a.r, b)
	return b, err
}

// chunks reads a chunked body.
type chunks struct {
	r    *bufio.Reader
	left int64
	done bool
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	if c.done {
		return 0, io.EOF
	}
	if c.left == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
		if c.done {
			return 0, io.EOF
		}
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err == nil && c.left == 0 {
		_, err = headLine(c.r) // the line end behind the chunk
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *chunks) next() error {
	line, err := headLine(c.r)
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	if c.left, err = strconv.ParseInt(strings.TrimSpace(size), 16, 64); err != nil || c.left < 0 {
		return errHead
	}
	if c.left > 0 {
		return nil
	}
	c.done = true
	_, err = headLine(c.r)
	return err
}
