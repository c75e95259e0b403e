package bot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
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

// Files of an answer come behind its words on every platform, once, also when the
// daemon was off when it was given; what is too large for a platform, or holds a
// secret, is not sent and said.
func TestFilesInAnswersOnEveryPlatform(t *testing.T) {
	for name, make := range phones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its platform's budget most of the time
			d := newOffice(t, make())
			d.do(&kernel.OpenSession{Goal: "site", Agent: "builder", Session: "s1"}, asBuilder)
			d.p.say("the numbers, please")
			m := d.next()
			stage := func(name string, data []byte) inbox.AnswerFile {
				sum := sha256.Sum256(data)
				f := inbox.AnswerFile{Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
				dir := filepath.Join(d.opt.Home.Dir, "files")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, f.SHA256), data, 0o600); err != nil {
					t.Fatal(err)
				}
				return f
			}
			one, two := bytes.Repeat([]byte("1;2;3\n"), 2000), []byte("# Report\n")
			large := bytes.Repeat([]byte{0, 1}, 11<<19)
			d.stop()
			d.offline(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted, Reply: "Here they are.",
				Files: []inbox.AnswerFile{stage("numbers.csv", one), stage("large.bin", large), stage("report.md", two)}}, asBuilder)
			d.start()
			d.shows("Here they are.")
			there := func(name string, want []byte) {
				t.Helper()
				d.until(name, func() bool { _, n := d.p.file(name); return n > 0 })
				if got, n := d.p.file(name); n != 1 || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes, %d times", name, len(got), n)
				}
			}
			there("numbers.csv", one)
			there("report.md", two)
			if d.p.config.Platform == "discord" {
				d.shows("large.bin (11.0 MB) could not be sent: files here have at most 10.0 MB")
			} else {
				there("large.bin", large)
			}
			d.shows("answered by builder")

			d.p.say("and the keys")
			m = d.next()
			d.do(&inbox.SettleMessage{Goal: "site", Agent: "builder", Message: m.ID, Outcome: inbox.Adopted, Reply: "Attached.",
				Files: []inbox.AnswerFile{stage("keys.txt", []byte("AKIA"+"IOSFODNN7EXAMPLE1 "+"ghp_0123456789abcdefghijABCDEFGHIJ012345\n"))}}, asBuilder)
			d.shows("Attached.")
			eventually(t, "the page says it was held back", func() bool { return strings.Contains(pageTexts(d), "was held back") })
			if _, n := d.p.file("keys.txt"); n != 0 {
				t.Error("a file with a secret was sent")
			}
		})
	}
}
