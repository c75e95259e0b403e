package lark

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"loopx/adapters/lane"
)

func part(id string, sum, seq int, payload string) larkws.Frame {
	var h larkws.Headers
	h.Add(larkws.HeaderType, "event")
	h.Add(larkws.HeaderMessageID, id)
	h.Add(larkws.HeaderSum, strconv.Itoa(sum))
	h.Add(larkws.HeaderSeq, strconv.Itoa(seq))
	return larkws.Frame{Method: 1, Headers: h, Payload: []byte(payload)}
}

func TestJoin(t *testing.T) {
	j := joiner{keep: time.Second}
	now := time.Now()
	step := func(f larkws.Frame, want string, wantWhy string) {
		t.Helper()
		got, ok, why := j.join(f, now)
		if ok != (want != "") || string(got) != want || why != wantWhy {
			t.Errorf("join = %q %v %q, want %q %q", got, ok, why, want, wantWhy)
		}
	}
	step(part("a", 1, 0, "whole"), "whole", "")
	step(part("a", 0, 0, "whole"), "whole", "")
	step(part("b", 3, 2, "c"), "", "")
	step(part("b", 3, 0, "a"), "", "")
	step(part("b", 3, 0, "a"), "", "") // again
	step(part("b", 3, 1, "b"), "abc", "")
	for _, bad := range []larkws.Frame{
		part("c", maxParts+1, 0, "x"), part("c", 1<<30, 0, "x"), part("c", 3, 3, "x"), part("c", 3, -1, "x"), part("", 3, 0, "x"),
		part(strings.Repeat("x", 300), 3, 0, "x"),
	} {
		step(bad, "", "bad_part")
	}
	step(part("d", 2, 0, "x"), "", "")
	step(part("d", 3, 1, "x"), "", "bad_part") // another count for one message
	now = now.Add(2 * time.Second)             // too late
	step(part("d", 2, 1, "y"), "", "")
	if j.waiting["d"].have != 1 {
		t.Error("parts that came too far apart were joined")
	}
	for i := range 2 * maxPartial {
		j.join(part("e"+strconv.Itoa(i), 2, 0, "x"), now)
	}
	if len(j.waiting) != maxPartial {
		t.Errorf("%d events wait for parts", len(j.waiting))
	}
	now = now.Add(2 * time.Second)
	big := strings.Repeat("x", maxJoining/2+1)
	step(part("f", 3, 0, big), "", "")
	step(part("f", 3, 1, big), "", "too_many_parts")
}

func FuzzJoin(f *testing.F) {
	f.Add("a", "2", "0", []byte("x"), "b", "2", "1", []byte("y"))
	f.Add("a", "999999999", "-7", []byte("x"), "a", "2", "999999999999999999999", []byte("y"))
	f.Fuzz(func(t *testing.T, id1, sum1, seq1 string, p1 []byte, id2, sum2, seq2 string, p2 []byte) {
		j := joiner{keep: time.Second}
		for range 2 {
			for _, v := range [][4]string{{id1, sum1, seq1, string(p1)}, {id2, sum2, seq2, string(p2)}} {
				var h larkws.Headers
				h.Add(larkws.HeaderMessageID, v[0])
				h.Add(larkws.HeaderSum, v[1])
				h.Add(larkws.HeaderSeq, v[2])
				j.join(larkws.Frame{Headers: h, Payload: []byte(v[3])}, time.Now())
			}
		}
		total := 0
		for _, p := range j.waiting {
			total += p.bytes
			if len(p.parts) > maxParts {
				t.Fatal("too many parts")
			}
		}
		if total != j.bytes {
			t.Fatalf("%d bytes counted, %d there", j.bytes, total)
		}
	})
}

// FuzzFrame: no bytes from the wire end the process, and what is a frame comes
// back in our answer with its headers.
func FuzzFrame(f *testing.F) {
	one := part("a", 1, 0, "payload")
	raw, err := one.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{0x08})
	f.Add([]byte{0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fr larkws.Frame
		if fr.Unmarshal(raw) != nil {
			return
		}
		out, err := answerFrame(fr, 200, []byte("{}"), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		back, err := out.Marshal()
		if err != nil {
			t.Skip("a frame that cannot be written again")
		}
		var got larkws.Frame
		if err := got.Unmarshal(back); err != nil || len(got.Headers) != len(fr.Headers)+1 || got.SeqID != fr.SeqID {
			t.Fatalf("%v %+v", err, got)
		}
	})
}

// The answer has the one shape that Lark takes: data is base64 of the answer's
// JSON (B16).
func TestAnswerShape(t *testing.T) {
	in := part("m", 1, 0, "payload")
	f, err := answerFrame(in, 200, []byte("{}"), 12*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(f.Payload); got != `{"code":200,"headers":null,"data":"e30="}` {
		t.Errorf("payload %s", got)
	}
	h := larkws.Headers(f.Headers)
	if h.GetString(larkws.HeaderBizRt) != "12" || h.GetString(larkws.HeaderMessageID) != "m" || len(in.Headers) != 4 {
		t.Errorf("headers %v", f.Headers)
	}
	f, err = answerFrame(in, 200, nil, 0)
	if err != nil || string(f.Payload) != `{"code":200,"headers":null,"data":null}` {
		t.Errorf("payload %s %v", f.Payload, err)
	}
	if got := string(toast("info", "hi")); got != `{"toast":{"type":"info","content":"hi"}}` {
		t.Errorf("toast %s", got)
	}
	if d := emptyFor(decoded{press: true}); !json.Valid(d) || bytes.Equal(d, []byte("null")) {
		t.Errorf("%s", d)
	}
}

// A partial configuration would make a ping storm, so it changes nothing.
func TestPartialConfigIsIgnored(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		`{"ReconnectCount":-1,"ReconnectInterval":120,"ReconnectNonce":30,"PingInterval":90}`: 90 * time.Second,
		`{}`:                  defPing,
		`{"PingInterval":0}`:  defPing,
		`{"PingInterval":-5}`: defPing,
		`{"PingInterval":1}`:  defPing,
		`{"ReconnectCount":-1,"ReconnectInterval":120,"ReconnectNonce":30,"PingInterval":999999}`: 10 * time.Minute,
	} {
		l := &link{ping: defPing, counts: &lane.Counts{}}
		var h larkws.Headers
		h.Add(larkws.HeaderType, "pong")
		l.control(larkws.Frame{Headers: h, Payload: []byte(raw)})
		if l.ping != want {
			t.Errorf("%s: ping every %v, want %v", raw, l.ping, want)
		}
	}
}
