package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"loopx/kernel"
)

// The port is drawn below the range that systems give to outgoing connections,
// so that nothing takes it by chance while the page is down.
const (
	portFrom = 17000
	portTo   = 32000
)

type portFile struct {
	Port int `json:"port"`
}

// listen opens the kept port, or draws one and keeps it.
func listen(ctx context.Context, home string) (net.Listener, error) {
	path := filepath.Join(home, "page.json")
	var kept portFile
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := kernel.DecodeStrict(b, &kept); err != nil || kept.Port < 1024 || kept.Port > 65535 {
			return nil, fmt.Errorf("%s holds no usable port; delete it to draw a new one", path)
		}
		ln, err := open(ctx, kept.Port)
		if err != nil {
			return nil, fmt.Errorf("port %d is held by another program (%w); stop it, or delete %s to draw a new one", kept.Port, err, path)
		}
		return ln, nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	for range 20 {
		n, err := rand.Int(rand.Reader, big.NewInt(portTo-portFrom))
		if err != nil {
			return nil, err
		}
		port := portFrom + int(n.Int64())
		ln, err := open(ctx, port)
		if err != nil {
			continue
		}
		b, err := json.Marshal(portFile{Port: port})
		if err == nil {
			err = writePrivate(path, b)
		}
		if err != nil {
			return nil, errors.Join(err, ln.Close())
		}
		return ln, nil
	}
	return nil, fmt.Errorf("no free port between %d and %d", portFrom, portTo)
}

func open(ctx context.Context, port int) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// writePrivate replaces a 0600 file whole: a reader sees the old or the new one.
func writePrivate(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600 by itself
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
