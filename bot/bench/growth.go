package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"loopx/bot/client"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

// growth measures a workspace of a hundred days with many todos and a long
// journal: what a command, a start, a copy, its check and a compaction cost then.
func (b *bench) growth(todos, records int) error {
	small, err := b.fill("growth-small", 1000)
	if err != nil {
		return err
	}
	home, err := b.fillLong(todos, records)
	if err != nil {
		return err
	}
	info, err := os.Stat(home.DB())
	if err != nil {
		return err
	}
	mib := float64(info.Size()) / (1 << 20)
	label := fmt.Sprintf("%d todos, %d records (%.0f MiB)", todos, records, mib)
	for _, daemon := range []bool{true, false} {
		var p50 [2]float64
		for i, h := range []client.Home{small, home} {
			if p50[i], err = b.grown(h, daemon); err != nil {
				return err
			}
		}
		b.add("should-run, "+mode(daemon)+", "+label, fmt.Sprintf("p50 %.2f ms", p50[1]), fmt.Sprintf("1000 todos %.2f ms", p50[0]), fmt.Sprintf("%.2fx", p50[1]/p50[0]), "<= 1.2x")
	}
	began := time.Now()
	d, err := b.start(home)
	if err != nil {
		return err
	}
	started := ms(time.Since(began))
	if err := d.settle(2 * time.Minute); err != nil {
		d.stop()
		return err
	}
	b.add("memory of the daemon once it has followed the journal, "+label, fmt.Sprintf("%.0f MiB anonymous", d.anonymous()), "-", "-", "<= 40 MiB")
	b.add("start of the daemon until it answers, "+label, fmt.Sprintf("%.0f ms", started), "-", "-", "<= 300 ms")
	copied := filepath.Join(b.dir, "growth-copy.db")
	took, err := process(b.loopx, environ(home), "backup", "create", "--output", copied)
	d.stop()
	if err != nil {
		return err
	}
	floor, err := plainCopy(home.DB(), filepath.Join(b.dir, "growth-plain.db"))
	if err != nil {
		return err
	}
	b.add("hot backup, "+label, fmt.Sprintf("%.0f MiB/s", mib/took*1000), fmt.Sprintf("copy and sync %.0f MiB/s", mib/floor*1000), fmt.Sprintf("%.2fx", took/floor), ">= 300 MiB/s")
	if took, err = process(b.loopx, environ(home), "backup", "verify", "--file", copied, "--timeout", "1h"); err != nil {
		return err
	}
	b.add("verify (pages, records, replay), "+label, fmt.Sprintf("%.1f s, %.2f s per 100 MiB", took/1000, took/1000/mib*100), "-", "-", "<= 1 s per 100 MiB")
	for _, f := range []string{copied, filepath.Join(b.dir, "growth-plain.db")} {
		_ = os.Remove(f)
	}
	if _, err := home.Token(); err != nil {
		return err
	}
	before := time.Now().Add(-40 * 24 * time.Hour).Format(time.DateOnly)
	if took, err = process(b.loopx, environ(home), "compact", "--before", before, "--execute", "--owner-token-file", home.TokenFile(), "--timeout", "1h"); err != nil {
		return err
	}
	if info, err = os.Stat(home.DB()); err != nil {
		return err
	}
	b.add("compact of 60 of 100 days, check included, "+label, fmt.Sprintf("%.1f s, %.0f MiB left", took/1000, float64(info.Size())/(1<<20)), "-", "-", "-")
	return os.RemoveAll(home.Dir)
}

func (b *bench) grown(home client.Home, daemon bool) (float64, error) {
	if daemon {
		stop, err := b.serve(home)
		if err != nil {
			return 0, err
		}
		defer stop()
	}
	s, err := repeat(b.n, b.loopx, environ(home), shouldRun(0)...)
	return s.at(0.5), err
}

// plainCopy is the floor of a backup: the same bytes, copied and synced.
func plainCopy(from, to string) (float64, error) {
	began := time.Now()
	_, err := process("/bin/sh", []string{"PATH=" + os.Getenv("PATH")}, "-c", "cp "+from+" "+to+" && sync "+to)
	return ms(time.Since(began)), err
}

// fillLong makes a state of a hundred days: todos first, then notes on them and,
// one command in twenty, whole turns. It is written without syncs, many commands
// in a transaction.
func (b *bench) fillLong(todos, records int) (client.Home, error) {
	home, err := client.FindHome(filepath.Join(b.dir, "growth"), os.Getenv)
	if err != nil {
		return home, err
	}
	if err := home.Ensure(); err != nil {
		return home, err
	}
	const span = 100 * 24 * time.Hour
	now := time.Now().Add(-span).UnixMilli()
	step := span.Milliseconds() / int64(records)
	st, err := bolt.Open(home.DB(), bolt.Options{NoSync: true, Clock: func() int64 { return now }})
	if err != nil {
		return home, err
	}
	defer st.Close()
	k, err := kernel.Open(b.ctx, st, nil)
	if err != nil {
		return home, err
	}
	opt := kernel.Options{By: kernel.Actor{Kind: kernel.ByCLI, Surface: "bench"}}
	slots := 1_000_000
	if _, err := k.Do(b.ctx, &kernel.CreateGoal{Goal: "g", Objective: "measure", Allowed: &slots, Agents: []string{"a0", "a1"}}, opt); err != nil {
		return home, err
	}
	var ids []string
	n := 1
	for n < records {
		now += step * 100
		err := st.Update(b.ctx, func(tx store.Tx) error {
			for range 100 {
				done, id, err := oneOfMany(k, tx, opt, ids, todos, n)
				if err != nil {
					return err
				}
				if id != "" {
					ids = append(ids, id)
				}
				n += done
			}
			return nil
		})
		if err != nil {
			return home, err
		}
	}
	return home, os.WriteFile(home.Config(), []byte("[page]\noff = true\n"), 0o600)
}

// oneOfMany is the n-th command: it says how many records it made, and the id of a
// new todo.
func oneOfMany(k *kernel.Kernel, tx store.Tx, opt kernel.Options, ids []string, todos, n int) (int, string, error) {
	if len(ids) < todos {
		p := n % 4
		rec, err := k.DoTx(tx, &kernel.AddTodo{Goal: "g", Title: fmt.Sprintf("todo %d of the measured plan", n), Priority: &p}, opt)
		if err != nil {
			return 0, "", err
		}
		id, err := addedIn(rec)
		return 1, id, err
	}
	if n%20 == 0 {
		turn := "t" + strconv.Itoa(n)
		_, err := k.DoTx(tx, &kernel.OpenTurn{Goal: "g", Agent: "a1", Turn: turn, Claim: true}, opt)
		if err == nil {
			_, err = k.DoTx(tx, &kernel.CommitTurn{Goal: "g", Agent: "a1", Turn: turn, Refresh: &kernel.Refresh{Outcome: kernel.Progress}}, opt)
		}
		return 3, "", err
	}
	note := "looked at again in step " + strconv.Itoa(n)
	opt.Key = "bench-" + strconv.Itoa(n)
	_, err := k.DoTx(tx, &kernel.UpdateTodo{Goal: "g", Agent: "a0", Todo: ids[(n*7919)%len(ids)], Note: &note}, opt)
	if e := kernel.AsError(err); e != nil && e.Code == "lease_held" {
		return 1, "", nil // a1 is at it
	}
	return 1, "", err
}

func addedIn(rec kernel.Receipt) (string, error) {
	var d struct {
		ID string `json:"todo_id"`
	}
	err := json.Unmarshal(rec.Result, &d)
	return d.ID, err
}
