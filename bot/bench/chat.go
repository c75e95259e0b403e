package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"loopx/bot/client"
	slacksim "loopx/fixtures/sim/slack"
	"loopx/kernel"
	"loopx/kernel/store"
	"loopx/kernel/store/bolt"
)

func put(ctx context.Context, st store.Store, i, j int) error {
	return st.Update(ctx, func(tx store.Tx) error {
		return tx.Put(store.Key("k", store.U64(uint64(i)), store.U64(uint64(j))), []byte("value"))
	})
}

func selected(rec kernel.Receipt) (string, error) { return selectedIn(rec.Result) }

func selectedIn(raw []byte) (string, error) {
	var d struct {
		Selected struct {
			ID string `json:"todo_id"`
		} `json:"selected_todo"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", err
	}
	if d.Selected.ID == "" {
		return "", errors.New("nothing was selected: " + d.Reason)
	}
	return d.Selected.ID, nil
}

func held(out []byte) bool { return bytes.Contains(out, []byte(`"lease_held"`)) }

const wei = "U0WEI"

// between is the pause between two presses: the outbox sends one a second into a
// conversation, and to wait for that is no part of what a press costs.
const between = 1200 * time.Millisecond

// rooms are the channels that a burst is spread over: what is said in one is taken
// in order, what is said in several at once.
const rooms = 64

func room(i int) string { return fmt.Sprintf("C0ROOM%02d", i%rooms) }

// chat measures the daemon on a simulated Slack: a message until its
// acknowledgement, a press until the card's update leaves.
func (b *bench) chat(messages int) error {
	opt := slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}}
	for i := range rooms {
		opt.Channels = append(opt.Channels, slacksim.Channel{ID: room(i), Name: fmt.Sprintf("room-%d", i), Members: []string{wei, "U0BOT"}})
	}
	sim := slacksim.New(opt)
	defer sim.Close()
	presses := max(b.n/15, 5)
	home, err := b.linked(sim, presses)
	if err != nil {
		return err
	}
	d, err := b.start(home, "APP="+sim.AppToken(), "BOT="+sim.BotToken())
	if err != nil {
		return err
	}
	defer d.stop()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := sim.Wait(ctx, func() bool { open, _ := sim.Connections(); return open > 0 && len(buttons(sim)) == presses }); err != nil {
		return fmt.Errorf("%d of %d cards arrived: %w", len(buttons(sim)), presses, err)
	}
	// Presses come first: behind hundreds of messages their cards would wait for
	// the answers to those, which go out as fast as Slack allows.
	updates, err := b.updates(ctx, sim)
	if err != nil {
		return err
	}
	b.add("press -> card update request arrives", updates.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", updates.at(0.5)/b.floorSync), "p50 <= 3, p99 <= 20 ms")
	acks, err := b.acks(ctx, sim)
	if err != nil {
		return err
	}
	b.add("event -> durable -> acknowledged, one every few ms", acks.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", acks.at(0.5)/b.floorSync), "p50 <= 2, p99 <= 10 ms")
	if err := b.outstanding(ctx, sim, 64); err != nil {
		return err
	}
	if err := b.flood(ctx, sim, d, messages); err != nil {
		return err
	}
	return b.crowd(b.span * 6)
}

// linked makes a folder with a linked owner and many open gates.
func (b *bench) linked(sim *slacksim.Server, gates int) (client.Home, error) {
	home, err := b.asked("chat", gates, link("slack", "work", sim.Team(), wei, sim.DM(wei)))
	if err != nil {
		return home, err
	}
	config := "[page]\noff = true\n\n[[connection]]\nname = \"work\"\nplatform = \"slack\"\napp_token_env = \"APP\"\nbot_token_env = \"BOT\"\nbase_url = \"" + sim.APIURL() + "\"\n"
	return home, os.WriteFile(home.Config(), []byte(config), 0o600)
}

// run runs commands on a folder that nobody serves.
func (b *bench) run(home client.Home, steps []step) error {
	st, err := bolt.Open(home.DB(), bolt.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	k, err := kernel.Open(b.ctx, st, client.SystemClock{})
	if err != nil {
		return err
	}
	for _, s := range steps {
		if _, err := k.Do(b.ctx, s.cmd, s.opt); err != nil {
			return err
		}
	}
	return nil
}

func buttons(sim *slacksim.Server) []slacksim.Message {
	var out []slacksim.Message
	for _, m := range sim.BotMessages(sim.DM(wei)) {
		if len(m.Buttons()) > 0 {
			out = append(out, m)
		}
	}
	return out
}

func (b *bench) acks(ctx context.Context, sim *slacksim.Server) (samples, error) {
	var ids []string
	for i := range b.n {
		ids = append(ids, sim.Say(wei, sim.DM(wei), fmt.Sprintf("a remark, number %d", i)).Envelopes...)
		time.Sleep(5 * time.Millisecond) // paced, as people type
	}
	err := sim.Wait(ctx, func() bool {
		for _, id := range ids {
			if !sim.Acked(id) {
				return false
			}
		}
		return true
	})
	var s samples
	for _, e := range sim.Envelopes() {
		for _, id := range ids {
			if e.ID == id && len(e.Sent) > 0 {
				s = append(s, ms(e.Acked.Sub(e.Sent[0])))
			}
		}
	}
	return s, err
}

func (b *bench) updates(ctx context.Context, sim *slacksim.Server) (samples, error) {
	var s samples
	for _, m := range buttons(sim) {
		time.Sleep(between)
		began := time.Now()
		if _, err := sim.PressButton(wei, m.Channel, m.TS, "Approve"); err != nil {
			return nil, err
		}
		var at time.Time
		err := sim.Wait(ctx, func() bool {
			for _, c := range sim.Calls("chat.update") {
				if strings.Contains(c.Args["ts"], m.TS) {
					at = c.At
					return true
				}
			}
			return false
		})
		if err != nil {
			return nil, err
		}
		s = append(s, ms(at.Sub(began)))
	}
	return s, nil
}
