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

// chat measures the daemon on a simulated Slack: a message until its
// acknowledgement, a press until the card's update leaves.
func (b *bench) chat() error {
	sim := slacksim.New(slacksim.Options{People: []slacksim.Person{{ID: wei, Name: "Wei", Kind: slacksim.Member}}})
	defer sim.Close()
	presses := max(b.n/3, 10)
	home, err := b.linked(sim, presses)
	if err != nil {
		return err
	}
	stop, err := b.serve(home, "APP="+sim.AppToken(), "BOT="+sim.BotToken())
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Minute)
	defer cancel()
	if err := sim.Wait(ctx, func() bool { open, _ := sim.Connections(); return open > 0 && len(buttons(sim)) == presses }); err != nil {
		return fmt.Errorf("%d of %d cards arrived: %w", len(buttons(sim)), presses, err)
	}
	acks, err := b.acks(ctx, sim)
	if err != nil {
		return err
	}
	b.add("event -> durable -> acknowledged, one every few ms", acks.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", acks.at(0.5)/b.floorSync), "p50 <= 2, p99 <= 10 ms")
	updates, err := b.updates(ctx, sim)
	if err != nil {
		return err
	}
	b.add("press -> card update request arrives", updates.String(), fmt.Sprintf("two fdatasyncs %.2f ms", b.floorSync), fmt.Sprintf("%.1fx", updates.at(0.5)/b.floorSync), "p50 <= 3, p99 <= 20 ms")
	return nil
}

// linked makes a folder with a linked owner and many open gates.
func (b *bench) linked(sim *slacksim.Server, gates int) (client.Home, error) {
	home, err := b.fill("chat", gates)
	if err != nil {
		return home, err
	}
	st, err := bolt.Open(home.DB(), bolt.Options{})
	if err != nil {
		return home, err
	}
	defer st.Close()
	k, err := kernel.Open(b.ctx, st, client.SystemClock{})
	if err != nil {
		return home, err
	}
	owner := kernel.Options{By: kernel.Actor{Kind: kernel.ByOwner, ID: "owner", Surface: "bench"}}
	bot := kernel.Options{By: kernel.Actor{Kind: kernel.ByBot, Surface: "bench"}}
	sum := kernel.CodeDigest("abcde-fghjk")
	steps := []struct {
		cmd kernel.Command
		opt kernel.Options
	}{
		{&kernel.CreateLinkCode{Digest: sum, Person: "Wei"}, owner},
		{&kernel.RedeemLinkCode{Digest: sum, Platform: "slack", Connection: "work", Tenant: sim.Team(), User: wei, Private: sim.DM(wei)}, bot},
		{&kernel.SettleLink{Platform: "slack", Connection: "work", Tenant: sim.Team(), User: wei}, owner},
		// At whatever time of day this is measured.
		{&kernel.SetAttention{Person: "owner", QuietFrom: new(0), QuietTo: new(0), Budget: new(1000)}, owner},
	}
	for i := range gates {
		steps = append(steps, struct {
			cmd kernel.Command
			opt kernel.Options
		}{&kernel.OpenGate{Goal: "g", Question: fmt.Sprintf("Question %d?", i), Kind: "direction", Advisory: true}, owner})
	}
	for _, s := range steps {
		if _, err := k.Do(b.ctx, s.cmd, s.opt); err != nil {
			return home, err
		}
	}
	config := "[page]\noff = true\n\n[[connection]]\nname = \"work\"\nplatform = \"slack\"\napp_token_env = \"APP\"\nbot_token_env = \"BOT\"\nbase_url = \"" + sim.APIURL() + "\"\n"
	return home, os.WriteFile(home.Config(), []byte(config), 0o600)
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
