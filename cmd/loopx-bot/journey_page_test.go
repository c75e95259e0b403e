package main_test

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"loopx/adapters/chat"
	"loopx/adapters/console"
)

// browser is the local page as a browser without a screen uses it. It keeps its
// session over restarts of the daemon, which keeps its port.
type browser struct {
	http     *http.Client
	base     string
	key      string
	messages []console.Message
}

// pageSurface is the page: one conversation of one person. It is opened by open,
// once the daemon runs.
func pageSurface() *surface {
	b := &browser{}
	u := &surface{name: "page", users: map[string]string{"Wei": console.Owner}, queues: true, close: func() {
		if b.http != nil {
			b.http.CloseIdleConnections()
		}
	}}
	u.open = func(home string, approve func(code string) error) error { return b.open(home, approve) }
	u.read = func(string) (out []line) {
		_ = b.look() // a page that cannot be reached shows what it showed
		for _, m := range b.messages {
			l := line{id: m.ID, From: "loopx", Text: m.Text}
			if m.From.Kind == chat.Human {
				l.From = "Wei"
			}
			for _, x := range buttonsOf(m) {
				l.Buttons = append(l.Buttons, x.Label)
			}
			if m.To == "" {
				out = append(out, l)
			}
		}
		return out
	}
	// A browser that got no answer sends the words again with the same id and time.
	ids, at := map[string]string{}, map[string]int64{}
	u.say = func(_, _, text string) error {
		if ids[text] == "" {
			ids[text], at[text] = "m_"+rand.Text(), time.Now().UnixMilli()
		}
		return b.post("say", map[string]any{"text": text, "id": ids[text], "at": at[text]})
	}
	u.press = func(_, _, id, label string) error {
		for _, m := range b.messages {
			for _, x := range buttonsOf(m) {
				if m.ID == id && x.Label == label {
					return b.post("press", map[string]any{"message_id": id, "action": x.ID})
				}
			}
		}
		return fmt.Errorf("the page shows no button %q", label)
	}
	return u
}

func buttonsOf(m console.Message) []chat.Button {
	if m.Card == nil {
		return nil
	}
	return m.Card.Buttons
}

// open goes through the file that the daemon wrote and becomes the owner's.
func (b *browser) open(home string, approve func(code string) error) error {
	raw, err := os.ReadFile(filepath.Join(home, "page-open.html"))
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`url=(http://[^/]+)/#ticket=([A-Z2-7]+)`).FindSubmatch(raw)
	if m == nil {
		return errors.New("the file leads nowhere")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	b.http, b.base = &http.Client{Jar: jar, Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, string(m[1])
	res, err := b.do("POST", "session", `{"ticket":"`+string(m[2])+`"}`)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var opened struct{ Key, Code string }
	if err := json.NewDecoder(res.Body).Decode(&opened); err != nil {
		return err
	}
	b.key = opened.Key
	return approve(opened.Code)
}

func (b *browser) do(method, path, body string) (*http.Response, error) {
	r, err := http.NewRequest(method, b.base+"/api/"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Loopx-Key", b.key)
	if method == "POST" {
		r.Header.Set("Origin", b.base)
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := b.http.Do(r)
	if err == nil && res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	return res, err
}

func (b *browser) post(path string, body map[string]any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	res, err := b.do("POST", path, string(raw))
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// look reads the first round of the stream: all that stands on the page.
func (b *browser) look() error {
	res, err := b.do("GET", "stream", "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	var list []console.Message
	for lines.Scan() {
		var l struct {
			T string          `json:"t"`
			V json.RawMessage `json:"v"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		switch l.T {
		case "messages":
			var v struct {
				Set   []console.Message `json:"set"`
				Order []string          `json:"order"`
			}
			if err := json.Unmarshal(l.V, &v); err != nil {
				return err
			}
			for _, id := range v.Order {
				if i := slices.IndexFunc(v.Set, func(m console.Message) bool { return m.ID == id }); i >= 0 {
					list = append(list, v.Set[i])
				}
			}
		case "health": // comes after them
			b.messages = list
			return nil
		}
	}
	return errors.Join(lines.Err(), errors.New("the stream ended"))
}
