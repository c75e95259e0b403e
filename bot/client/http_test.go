package client

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, in, body string
		status         int
		bad            bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nLoopx-Api: 1.0\r\n\r\n{}rest", "{}", 200, false},
		{"chunked", "HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", "abcd", 404, false},
		{"until the end", "HTTP/1.0 200 OK\r\n\r\nabc", "abc", 200, false},
		{"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "", 200, true},
		{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "", 200, true},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "", 200, true},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\na\r\n", "", 200, true},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "", 0, true},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "", 200, true},
		{"other protocol", "SSH-2.0-x\r\n", "", 0, true},
		{"nothing", "", "", 0, true},
		{"cut head", "HTTP/1.1 200 OK\r\nContent-Le", "", 0, true},
		{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 1000), "", 0, true},
		{"endless line", "HTTP/1.1 200 " + strings.Repeat("x", 100_000), "", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := readHead(bufio.NewReader(iotest.OneByteReader(strings.NewReader(tt.in))))
			var body []byte
			if err == nil {
				if a.status != tt.status {
					t.Errorf("status %d, want %d", a.status, tt.status)
				}
				body, err = a.body()
			}
			if (err != nil) != tt.bad || !tt.bad && string(body) != tt.body {
				t.Errorf("got %q, %v; want %q, error %v", body, err, tt.body, tt.bad)
			}
		})
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		a, err := readHead(bufio.NewReader(strings.NewReader(in)))
		if err != nil {
			return
		}
		if a.length > 1<<20 {
			return // allocated at once, by design, for what a daemon of ours says
		}
		body, err := a.body()
		if err == nil && len(body) > len(in) {
			t.Errorf("%d bytes out of %d", len(body), len(in))
		}
		_, _ = io.Copy(io.Discard, a.r)
	})
}
