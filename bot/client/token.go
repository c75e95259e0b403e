package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"

	"loopx/kernel"
)

// RenewToken draws a new owner token when somebody said that an answer given with
// the old one was not theirs. The file comes first and the note that it is done
// second: after a crash in between it is drawn once more, and never kept. The
// caller holds the folder. It returns the new token, or "" when the one that is
// there goes on counting; an error means that no token counts.
func (h Home) RenewToken(ctx context.Context, k *kernel.Kernel) (string, error) {
	due := false
	err := k.Read(ctx, func(r *kernel.Reader) error {
		t := r.OwnerToken()
		due = t != nil && t.Renew
		return nil
	})
	if err != nil || !due {
		return "", err
	}
	if err := h.replaceToken(); err != nil {
		return "", kernel.Errorf(kernel.Unavailable, "token_not_renewed", "the owner token has to be replaced, because an answer given with it was disowned, and the new one cannot be written: %s", folderWords(err)).
			Try("make %s writable for its owner, then run the same command again", h.Dir)
	}
	token, err := h.Token()
	if err != nil {
		return "", err
	}
	_, err = k.Do(ctx, &kernel.RenewToken{}, kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "cli"}})
	return token, err
}

func folderWords(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	return reason(err)
}

// tokenFile writes a newly drawn token beside its place and returns the name.
func (h Home) tokenFile() (string, error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails: crypto/rand aborts the process instead
	f, err := os.CreateTemp(h.Dir, "owner.token.*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(hex.EncodeToString(raw) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// makeToken draws the owner token. It appears whole under its name or not at
// all, and the first of two processes wins.
func (h Home) makeToken() error {
	name, err := h.tokenFile()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	return os.Link(name, h.TokenFile())
}

// replaceToken puts a new token in the place of the one that is there.
func (h Home) replaceToken() error {
	name, err := h.tokenFile()
	if err != nil {
		return err
	}
	if err := os.Rename(name, h.TokenFile()); err != nil {
		_ = os.Remove(name)
		return err
	}
	return nil
}
