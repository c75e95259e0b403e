package demo

import (
	"context"
	"fmt"
	"time"
)

// frost are the scenes of the frost night: a watch looks and nothing costs, then
// it calls for work; the question comes while its owner sleeps, other work goes
// on, and in the morning one tap lets the rest go on.
type frost struct {
	*player
	r *running
}

func (p frost) scenes() []scene { return []scene{p.buys, p.night, p.morning} }

func (p frost) buys(ctx context.Context) error {
	before, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	if err := p.press(ctx, "fleece", "Buy it"); err != nil {
		return err
	}
	after, err := p.r.blocked(ctx)
	p.check(err == nil && before["fetch"] && !after["fetch"] && after["cut"], "an approval moves what it blocked, and what comes after that still waits")
	return err
}

// night lets the cold evening begin in the owner's quiet hours.
func (p frost) night(ctx context.Context) error {
	// All day but one minute, which is far from now in every zone: the clock of the
	// machine is the real one.
	m := time.Now().Minute()
	quiet := fmt.Sprintf("12:%02d-12:%02d", (m+8)%60, (m+7)%60)
	if (m+8)%60 == 0 {
		quiet = "13:00-12:59"
	}
	if _, err := p.cli.owner(ctx, "attention", "set", "--quiet", quiet); err != nil {
		return err
	}
	p.tell("owner", "Wei sleeps: quiet hours")
	if err := p.r.begin(ctx); err != nil {
		return err
	}
	for _, key := range []string{"cover", "ring"} {
		if err := p.done(ctx, p.r, key); err != nil {
			return err
		}
	}
	open, err := p.cli.run(ctx, "gate", "list", "--goal-id", p.r.Goal)
	if err != nil {
		return err
	}
	gates, _ := open["gates"].([]any)
	held, err := p.r.blocked(ctx)
	if err != nil {
		return err
	}
	p.check(p.count("water") == 0, "a question in the night wakes nobody")
	p.check(len(gates) == 1 && held["shut"], "and holds its todo back")
	p.check(true, "meanwhile the beds were covered and the members called")
	return nil
}

// morning ends the quiet hours. The play cannot wait for a real morning.
func (p frost) morning(ctx context.Context) error {
	if _, err := p.cli.owner(ctx, "attention", "set", "--quiet", "off"); err != nil {
		return err
	}
	p.tell("owner", "Wei is up: the quiet hours end")
	if err := p.press(ctx, "water", "Shut it off"); err != nil {
		return err
	}
	p.check(p.count("water") == 1, "after the quiet hours the question came once")
	err := p.done(ctx, p.r, "open")
	p.check(err == nil, "the rest of the night went on: shut, emptied, and opened again when the frost was over")
	return err
}
