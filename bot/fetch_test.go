package bot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"loopx/inbox"
	"loopx/kernel"
)

// A file that a person sends reaches the agent on every platform: its bytes under
// their digest, whatever the sender called it; it goes when its message is
// forgotten. One that is too large is said so, and the message is not lost.
func TestFilesOnEveryPlatform(t *testing.T) {
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, make())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			data := bytes.Repeat([]byte("measured\n"), 1000)
			d.p.attach("../../../tmp/plan.txt", data)
			m := d.next()
			sum := sha256.Sum256(data)
			if len(m.Files) != 1 || m.Files[0].State != inbox.FileKept || m.Files[0].Bytes != int64(len(data)) || m.Files[0].SHA256 != hex.EncodeToString(sum[:]) ||
				m.Files[0].Path != "files/"+hex.EncodeToString(sum[:]) || !m.Tainted {
				t.Fatalf("the agent got %+v", m)
			}
			file := filepath.Join(d.opt.Home.Dir, m.Files[0].Path)
			got, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file is %v, %v", info.Mode(), err)
			}
			d.shows("Write in a message what should be done with it.")
			d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted}, asBuilder)

			d.p.attach("film.bin", bytes.Repeat([]byte("x"), inbox.FileMost+1))
			m = d.next()
			if len(m.Files) != 1 || m.Files[0].State != inbox.FileRefused || m.Files[0].Path != "" {
				t.Fatalf("the agent got %+v", m)
			}
			d.shows("did not come along: it is larger than 20 MB.")

			d.do(&inbox.ForgetMessages{Person: "owner"}, asOwner)
			if err := unkeep(t.Context(), d.b.engine); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(filepath.Join(d.opt.Home.Dir, "files"))
			if err != nil || len(left) != 0 {
				t.Errorf("after the message was forgotten there is %v, %v", left, err)
			}
		})
	}
}
