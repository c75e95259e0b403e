package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// sample is a healthy file with branches, overflow pages and free pages.
type sample struct {
	used     int // bytes below the high-water mark
	file     []byte
	content  []string // key, value, key, value, ...
	previous []string // as it was one commit earlier
	pageSize int
}

func makeSample(t *testing.T, records int) sample {
	t.Helper()
	path := dbPath(t.TempDir())
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	for from := 0; from < records; from += 100 {
		put(func(tx store.Tx) error {
			for i := from; i < min(from+100, records); i++ {
				if err := tx.Put(store.Key("t", store.U64(uint64(i))), bytes.Repeat([]byte{byte(i)}, i*31%700)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	put(func(tx store.Tx) error {
		for i := range records / 5 {
			if err := tx.Delete(store.Key("t", store.U64(uint64(i*3)))); err != nil {
				return err
			}
		}
		return tx.Put([]byte("big"), bytes.Repeat([]byte("big "), 5000))
	})
	sm := sample{pageSize: os.Getpagesize(), previous: contentOf(t, s)}
	put(func(tx store.Tx) error { return tx.Put([]byte("last"), []byte("commit")) })
	sm.content = contentOf(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if sm.file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	at := newestMeta(sm)*sm.pageSize + 16 + 40 // page header, then the field in the meta
	sm.used = int(binary.NativeEndian.Uint64(sm.file[at:])) * sm.pageSize
	return sm
}

func contentOf(t *testing.T, s store.Store) []string {
	t.Helper()
	kv, err := readAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func readAll(s store.Store) (kv []string, err error) {
	err = s.View(context.Background(), func(tx store.ReadTx) error {
		return tx.Scan(store.Range{Limit: 1 << 30}, func(k, v []byte) bool {
			kv = append(kv, string(k), string(v))
			return true
		})
	})
	return kv, err
}

// outcome of opening and using a damaged file.
type outcome struct {
	open, verify, scan, get error
	content                 []string
	missed                  int // records that a read called absent
	wrong                   string
}

func (o outcome) detected() bool {
	return errors.Join(o.open, o.verify, o.scan, o.get) != nil
}

// try opens file and reads everything in every way. It fails the test when that
// hangs; a panic that escapes fails it anyway.
func try(t *testing.T, sm sample, file []byte, what string) outcome {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loopx.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan outcome, 1)
	go func() { done <- use(sm, path) }()
	var o outcome
	select {
	case o = <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: it hangs", what)
	}
	for _, err := range []error{o.open, o.verify, o.scan, o.get} {
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("%s: got %v, want ErrCorrupt", what, err)
		}
	}
	if o.open != nil {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, file) {
			t.Fatalf("%s: the refused file was changed (%v)", what, err)
		}
	}
	if o.wrong != "" {
		t.Fatalf("%s: a read gave what was never written: %s", what, o.wrong)
	}
	return o
}

func use(sm sample, path string) (o outcome) {
	// Read-only, as doctor does: the file must be judged, not repaired.
	s, err := bolt.Open(path, bolt.Options{ReadOnly: true, LockTimeout: -1})
	if err != nil {
		o.open = err
		return o
	}
	defer func() { _ = s.Close() }()
	o.verify = s.Verify(context.Background())
	o.content, o.scan = readAll(s)
	truth := make(map[string]string)
	for i := 0; i < len(sm.content); i += 2 {
		truth[sm.content[i]] = sm.content[i+1]
	}
	for i := 0; i < len(o.content); i += 2 {
		if v, ok := truth[o.content[i]]; !ok || v != o.content[i+1] {
			o.wrong = fmt.Sprintf("%.60q", o.content[i])
		}
	}
	o.get = s.View(context.Background(), func(tx store.ReadTx) error {
		var errs []error
		for k, want := range truth {
			v, err := tx.Get([]byte(k))
			switch {
			case err != nil:
				errs = append(errs, err)
			case v == nil:
				o.missed++
			case string(v) != want:
				o.wrong = fmt.Sprintf("%.60q", k)
			}
		}
		return errors.Join(errs...)
	})
	return o
}

func TestTheSampleIsHealthy(t *testing.T) {
	sm := makeSample(t, 900)
	if o := try(t, sm, sm.file, "healthy"); o.detected() || !slices.Equal(o.content, sm.content) || o.missed > 0 {
		t.Fatalf("%+v", o)
	}
}

func TestTruncatedFileIsRefused(t *testing.T) {
	sm := makeSample(t, 900)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d, file of %d bytes", seed, len(sm.file))
	var lengths []int
	for n := 0; n < sm.used+3*sm.pageSize; n += sm.pageSize {
		lengths = append(lengths, n, n+1)
	}
	for range rounds(t, 60) {
		lengths = append(lengths, rng.IntN(len(sm.file)))
	}
	refused := 0
	for _, n := range lengths {
		o := try(t, sm, sm.file[:n], fmt.Sprintf("cut to %d bytes", n))
		if o.open != nil {
			refused++
		} else if o.detected() || !slices.Equal(o.content, sm.content) {
			t.Fatalf("cut to %d bytes: it opened, and then: %+v", n, o)
		}
	}
	t.Logf("%d lengths: %d refused, %d cut only unused pages", len(lengths), refused, len(lengths)-refused)
}

func TestFlippedByteIsFoundOrHarmless(t *testing.T) {
	sm := makeSample(t, 900)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	n := rounds(t, 400)
	found, atOpen, harmless, silent := 0, 0, 0, 0
	for range n {
		at, bit := rng.IntN(sm.used), byte(1)<<rng.IntN(8)
		if rng.IntN(3) == 0 { // pages' headers and element tables are where it hurts
			at = at/sm.pageSize*sm.pageSize + rng.IntN(200)
		}
		damaged := slices.Clone(sm.file)
		damaged[at] ^= bit
		what := fmt.Sprintf("byte %d of page %d, bit %#x (seed %d)", at%sm.pageSize, at/sm.pageSize, bit, seed)
		o := try(t, sm, damaged, what)
		switch {
		case o.open != nil:
			atOpen++
			found++
		case o.verify != nil:
			found++
			if errors.Join(o.scan, o.get) == nil && (o.missed > 0 || !slices.Equal(o.content, sm.content)) {
				silent++
			}
		case slices.Equal(o.content, sm.content) && o.missed == 0 && o.scan == nil && o.get == nil:
			harmless++
		default:
			t.Fatalf("%s: Verify is content, but %d records are missing, scan %v, get %v", what, o.missed, o.scan, o.get)
		}
	}
	t.Logf("%d flips: %d found (%d when opened), %d harmless; %d times a read missed records without Verify", n, found, atOpen, harmless, silent)
	if found == 0 || harmless == 0 {
		t.Fatalf("the test has no teeth: %d found, %d harmless", found, harmless)
	}
}

func TestReplacedPageIsFoundOrHarmless(t *testing.T) {
	sm := makeSample(t, 900)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	pages := sm.used / sm.pageSize
	for range rounds(t, 100) {
		to, from := rng.IntN(pages), rng.IntN(pages)
		damaged := slices.Clone(sm.file)
		page := damaged[to*sm.pageSize : (to+1)*sm.pageSize]
		if rng.IntN(2) == 0 {
			clear(page)
		} else {
			copy(page, sm.file[from*sm.pageSize:])
		}
		what := fmt.Sprintf("page %d replaced (%d) (seed %d)", to, from, seed)
		if o := try(t, sm, damaged, what); !o.detected() && (o.missed > 0 || !slices.Equal(o.content, sm.content)) {
			t.Fatalf("%s: not found, but %d records are missing", what, o.missed)
		}
	}
}

func newestMeta(sm sample) int {
	txid := func(slot int) byte { return sm.file[slot*sm.pageSize+16+48] } // low byte is enough here
	if txid(0) == txid(1)+1 {
		return 0
	}
	return 1
}

func TestBothMetasLost(t *testing.T) {
	sm := makeSample(t, 50)
	damaged := slices.Clone(sm.file)
	clear(damaged[:2*sm.pageSize])
	if o := try(t, sm, damaged, "both metas"); o.open == nil {
		t.Fatal("it opened")
	}
}

func TestOneMetaLost(t *testing.T) {
	sm := makeSample(t, 50)
	for slot, what := range []string{"first", "second"} {
		damaged := slices.Clone(sm.file)
		clear(damaged[slot*sm.pageSize : (slot+1)*sm.pageSize])
		want := sm.content
		if slot == newestMeta(sm) {
			want = sm.previous // the last commit went with it
		}
		o := try(t, sm, damaged, what)
		if o.open != nil || !slices.Equal(o.content, want) {
			t.Fatalf("%s meta: open %v, %d strings, want %d", what, o.open, len(o.content), len(want))
		}
		if o.verify == nil {
			t.Fatalf("%s meta: Verify does not say that a commit may be missing", what)
		}

		// It is said at every start, and the next commits make the file whole.
		path := dbPath(t.TempDir())
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s, err := bolt.Open(path, bolt.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(log.Bytes(), []byte("meta pages is damaged")) {
			t.Fatalf("nothing was logged: %q", log.String())
		}
		for range 2 {
			if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put([]byte("x"), nil) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Verify(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsNoStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	healthy := filepath.Join(dir, "healthy")
	if err := os.WriteFile(healthy, makeSample(t, 10).file, 0o600); err != nil {
		t.Fatal(err)
	}
	make := map[string]func(path string) error{
		"empty file": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"text":       func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("not a database\n"), 3000), 0o600) },
		"folder":     func(p string) error { return os.Mkdir(p, 0o700) },
		"link":       func(p string) error { return os.Symlink(healthy, p) },
		"link to nothing": func(p string) error {
			return os.Symlink(filepath.Join(dir, "nothing"), p)
		},
	}
	for name, fn := range make {
		for _, readOnly := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "loopx.db")
			if err := fn(path); err != nil {
				t.Fatal(err)
			}
			if _, err := bolt.Open(path, bolt.Options{ReadOnly: readOnly}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s (read-only %v): got %v, want ErrCorrupt", name, readOnly, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a store was made behind a link")
	}
	if _, err := bolt.Open(filepath.Join(dir, "absent"), bolt.Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read-only open of nothing: %v", err)
	}
	if _, err := bolt.Open(filepath.Join(dir, "no", "folder"), bolt.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("open in no folder: %v", err)
	}
}

func TestFileCutOffUnderAnOpenStore(t *testing.T) {
	sm := makeSample(t, 900)
	path := dbPath(t.TempDir())
	if err := os.WriteFile(path, sm.file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(4*sm.pageSize)); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(s); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("read: got %v, want ErrCorrupt", err)
	}
	if err := s.Verify(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("verify: got %v, want ErrCorrupt", err)
	}
	err = s.Update(t.Context(), func(tx store.Tx) error { return tx.Put(store.Key("t", store.U64(7)), nil) })
	if err == nil {
		t.Error("a write to the cut file was acknowledged")
	}
	_ = s.Close() // must return; what it says does not matter
}

func TestVerifyInAChildProcess(t *testing.T) {
	sm := makeSample(t, 300)
	dir := t.TempDir()
	if err := os.WriteFile(dbPath(dir), sm.file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(t, "verify", dir).Wait(); err != nil {
		t.Fatalf("healthy file: %v", err)
	}
	// Every copy of the value: older ones lie in free pages, where they do not matter.
	damaged := bytes.ReplaceAll(sm.file, bytes.Repeat([]byte{13}, 100), bytes.Repeat([]byte{12}, 100))
	if err := os.WriteFile(dbPath(dir), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, "verify", dir, "LOOPX_QUIET=1")
	if err := c.Wait(); err == nil {
		t.Fatal("the child found nothing")
	}
	err := bolt.VerifyFile(t.Context(), dbPath(dir))
	key := fmt.Sprintf("%q", store.Key("t", store.U64(13)))
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte(key)) {
		t.Fatalf("the error does not name the record %s: %v", key, err)
	}
}
