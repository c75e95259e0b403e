package workspace

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"sort"
)

//go:embed assets
var files embed.FS

// assets are the files of the page under one name that changes with any of
// them, so that they can be cached for good.
type assets struct {
	sum    string
	byName map[string]asset
}

type asset struct {
	kind string
	data []byte
}

// kindOf is the closed list of what is served.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

func loadAssets() (*assets, error) {
	list, err := files.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	a := &assets{byName: map[string]asset{}}
	h := sha256.New()
	for _, f := range list {
		b, err := files.ReadFile("assets/" + f.Name())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%s %d\n", f.Name(), len(b))
		h.Write(b)
		if kind := kindOf(f.Name()); kind != "" {
			a.byName[f.Name()] = asset{kind: kind, data: b}
		}
	}
	a.sum = hex.EncodeToString(h.Sum(nil))[:16]
	return a, nil
}

// words is the one table of the page's words: key, then language.
type words map[string]map[string]string

func (w words) keys() []string {
	out := make([]string, 0, len(w))
	for k := range w {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func loadWords() (words, error) {
	b, err := files.ReadFile("assets/words.json")
	if err != nil {
		return nil, err
	}
	var w words
	return w, json.Unmarshal(b, &w)
}
