package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
)

// OpenURL writes the redirect file and returns its path; open it with the
// system's browser. The file is 0600 and holds a ticket that works once, within
// two minutes; the ticket stands behind the "#", which no server and no log sees.
func (p *Page) OpenURL() (redirectFile string, err error) {
	addr := p.Addr()
	if addr == "" {
		return "", errors.New("the page does not run")
	}
	to := fmt.Sprintf("http://%s/#ticket=%s", addr, p.tickets.issue())
	page, err := template.ParseFS(files, "assets/redirect.html")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, struct{ To, Plain string }{to, "http://" + addr + "/"}); err != nil {
		return "", err
	}
	path := filepath.Join(p.opt.Home, "page-open.html")
	return path, writePrivate(path, b.Bytes())
}
