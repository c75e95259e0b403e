package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"time"
)

// lineMost bounds one line of the watch stream, in bytes.
const lineMost = 1 << 20

// Watch streams the journal: the head first, then every event behind after (0:
// behind the head as it is now). The sequence ends with the context, after an
// error, or after a line of kind end; whoever wants to go on watches again from
// the last event's sequence.
func (c *Client) Watch(ctx context.Context, after uint64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		conn, a, err := request(ctx, c.Socket, "GET", PathWatch+"?after="+strconv.FormatUint(after, 10), nil)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
		if a.status != 200 {
			raw, err := a.body()
			if err != nil {
				err = lost(err)
			} else {
				err = answerError(a.status, raw)
			}
			yield(Line{}, err)
			return
		}
		in := bufio.NewScanner(&chunks{r: a.r})
		in.Buffer(nil, lineMost)
		for in.Scan() {
			var l Line
			if json.Unmarshal(in.Bytes(), &l) != nil {
				yield(Line{}, badAnswer())
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(Line{}, ctx.Err())
		case in.Err() != nil:
			yield(Line{}, lost(in.Err()))
		}
	}
}
