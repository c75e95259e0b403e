package client

import (
	"context"
	"encoding/json"
	"net"
	"reflect"
	"time"
	"unicode/utf8"

	"loopx/kernel"
	"loopx/kernel/view"
)

// Client is a view.Service that asks the daemon of a state folder. It keeps a few
// connections for its next requests; all methods may be called at the same time.
type Client struct {
	// Socket is the path to dial.
	Socket string
	// OwnerToken goes with commands whose Options.By is the owner.
	OwnerToken string

	idle pool
}

var _ view.Service = (*Client)(nil)

// New returns a client of the daemon that serves home, if one does.
func New(home Home) *Client { return &Client{Socket: home.Socket()} }

// Listening says whether somebody accepts connections on the socket.
func (c *Client) Listening() bool {
	conn, err := net.DialTimeout("unix", c.Socket, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Do implements view.Service. Of opt.By only the agent's label and the wish to
// act as the owner travel; the daemon's door decides what they are worth. For
// errors see NoDaemon and Again.
func (c *Client) Do(ctx context.Context, cmd kernel.Command, opt kernel.Options) (kernel.Receipt, error) {
	args, err := encode(cmd)
	if err != nil {
		return kernel.Receipt{}, err
	}
	req := DoRequest{Command: cmd.Name(), Args: args, Key: opt.Key, Preview: opt.Preview, Plan: opt.Plan}
	switch opt.By.Kind {
	case kernel.ByAgent:
		req.As.Agent = opt.By.ID
	case kernel.ByOwner:
		req.OwnerToken = c.OwnerToken
		req.As.Process, req.As.Terminal = opt.By.Process, opt.By.Terminal
	}
	var rec kernel.Receipt
	raw, err := c.post(ctx, PathDo, req)
	if err != nil {
		return kernel.Receipt{}, err
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return kernel.Receipt{}, badAnswer()
	}
	return rec, nil
}

// Query implements view.Service.
func (c *Client) Query(ctx context.Context, q view.Query) (json.RawMessage, error) {
	args, err := encode(q)
	if err != nil {
		return nil, err
	}
	return c.post(ctx, PathQuery, QueryRequest{Query: q.Name(), Args: args})
}

// Info asks the daemon about itself.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	raw, err := c.call(ctx, "GET", PathInfo, nil)
	if err != nil {
		return info, err
	}
	if json.Unmarshal(raw, &info) != nil || info.API == "" {
		return info, badAnswer()
	}
	return info, nil
}

// encode is json.Marshal that refuses what it would mend in silence: bytes that
// are no UTF-8 must not become other text on the way.
func encode(v any) (json.RawMessage, error) {
	if !validText(reflect.ValueOf(v)) {
		return nil, kernel.Errorf(kernel.Invalid, "bad_text", "a text of the command is not valid UTF-8")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	return b, nil
}

func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || validText(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	}
	return true
}

func badAnswer() error {
	return kernel.Errorf(kernel.Unavailable, "bad_answer", "what listens on the socket does not answer like loopx").Try("loopx doctor")
}

func (c *Client) post(ctx context.Context, path string, req any) (json.RawMessage, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if len(body) > MaxBody {
		return nil, kernel.Errorf(kernel.Invalid, "too_long", "the command is larger than 1 MiB (%d bytes)", len(body))
	}
	return c.call(ctx, "POST", path, body)
}

func (c *Client) call(ctx context.Context, method, path string, body []byte) (json.RawMessage, error) {
	k, a, err := c.idle.ask(ctx, c.Socket, method, path, body)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = k.conn.SetDeadline(time.Unix(1, 0)) })
	raw, err := a.body()
	if !stop() || err != nil || a.closes || a.length < 0 {
		_ = k.conn.Close()
	} else {
		c.idle.put(k)
	}
	if err != nil {
		return nil, lost(err)
	}
	// A refusal of another version says so itself, in its own words.
	if a.status == 200 {
		if err := CheckAPI("loopx", "the daemon", a.api); err != nil {
			return nil, err
		}
		return raw, nil
	}
	return nil, answerError(a.status, raw)
}
