package interleave

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/internal/portion"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// switches returns how often an order may switch between the actors. One switch finds most faults.
func switches(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BELFRY_INTERLEAVE_SWITCHES"), "1"))
	if err != nil || n < 1 {
		t.Fatalf("BELFRY_INTERLEAVE_SWITCHES must be a number of switches: %v", err)
	}
	return n
}

var number = regexp.MustCompile(`\d+`)

// outcome returns the observable result of a pair.
func (w *world) outcome(pair [2]transition, o order) (string, played) {
	w.t.Helper()
	w.start()
	var actors [2]*actor
	for i, tr := range pair {
		actors[i] = &actor{name: string(rune('A' + i)), do: func(ctx context.Context) string {
			answer, err := tr.do(ctx, w, w.nodes[i])
			if err != nil {
				return "error " + string(core.CodeOf(err)) + ": " + number.ReplaceAllString(strings.SplitN(err.Error(), "\n", 2)[0], "#")
			}
			return fmt.Sprint(answer)
		}}
	}
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	p, err := play(ctx, w.watch, actors, o)
	if err != nil {
		w.t.Fatalf("%s with %s: %v", pair[0].name, pair[1].name, err)
	}
	w.rest()
	return "A " + pair[0].name + ": " + actors[0].answer + "\nB " + pair[1].name + ": " + actors[1].answer + "\n" + w.rows(), p
}

// further returns an order, and all that begin with it and have up to a number of switches within so many steps.
func further(o order, steps, most int) []order {
	all := []order{o}
	if len(o.switches) < most {
		for s := o.switches[len(o.switches)-1] + 1; s < steps; s++ {
			all = append(all, further(order{o.first, append(slices.Clone(o.switches), s)}, steps, most)...)
		}
	}
	return all
}

// actorNames are the names of the actors of a pair.
var actorNames = [2]string{"A", "B"}

// serial plays the two orders in which the transitions do not meet.
func (w *world) serial(pair [2]transition) (ends [2]string, alone [2]played) {
	w.t.Helper()
	for first := range ends {
		ends[first], alone[first] = w.outcome(pair, order{first: first})
	}
	return ends, alone
}

// vary plays all other orders that can end differently, given the serial ones, until one is refused.
func (w *world) vary(pair [2]transition, alone [2]played, most int, accept func(o order, end string, p played) bool) {
	w.t.Helper()
	total := len(alone[0].stepsOf("A")) + len(alone[1].stepsOf("B"))
	for first, name := range actorNames {
		steps := alone[first].stepsOf(name)
		before := alone[1-first] // with a switch before its first step, the other goes first
		for s := 1; s < len(steps); s++ {
			if commutes(steps[:s], before.stepsOf(actorNames[1-first])) {
				continue
			}
			for i, o := range further(order{first, []int{s}}, total, most) {
				end, p := w.outcome(pair, o)
				if i == 0 {
					before = p
				}
				if !accept(o, end, p) {
					return
				}
			}
		}
	}
}

// explore plays a pair in all orders that can differ, and returns their number.
func (w *world) explore(t *testing.T, pair [2]transition, most int) (n int) {
	serial, alone := w.serial(pair)
	for first, name := range actorNames {
		if wrong := outOfOrder(alone[first].stepsOf(name)); wrong != "" {
			t.Errorf("%s with %s: %s", pair[0].name, pair[1].name, wrong)
		}
	}
	w.vary(pair, alone, most, func(o order, end string, p played) bool {
		n++
		if p.deadlock {
			t.Errorf("%s with %s, order %v: they wait for each other\n%s", pair[0].name, pair[1].name, o, strings.Join(p.trace, "\n"))
		}
		if slices.Contains(serial[:], end) {
			return true
		}
		t.Errorf("%s with %s, order %v: no serial order ends so\n%s\n\nA then B:\n%s\n\nB then A:\n%s\n\n%s",
			pair[0].name, pair[1].name, o, end, serial[0], serial[1], strings.Join(p.trace, "\n"))
		return false
	})
	return n
}

func TestInterleavingsOfEveryPair(t *testing.T) { everyPair(t, transitions, func(*world) {}) }

// everyPair plays every pair of the transitions.
func everyPair(t *testing.T, transitions []transition, prepare func(*world)) {
	t.Helper()
	var pairs [][2]transition
	for i, a := range transitions {
		for _, b := range transitions[i:] {
			pairs = append(pairs, [2]transition{a, b})
		}
	}
	pairsMeet(t, portion.Of(t, pairs), prepare)
}

// pairsMeet plays pairs, in two databases at the same time.
func pairsMeet(t *testing.T, all [][2]transition, prepare func(*world)) {
	t.Helper()
	most := switches(t)
	pairs := make(chan [2]transition)
	go func() {
		defer close(pairs)
		for _, pair := range all {
			select {
			case pairs <- pair:
			case <-t.Context().Done():
				return
			}
		}
	}()
	for i := range 2 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(w)
			met, played := 0, 0
			for pair := range pairs {
				w.t = t
				played += w.explore(t, pair, most)
				met++
			}
			t.Logf("%d pairs met in %d orders", met, played)
		})
	}
}

// The check of the lock order finds violations.
func TestLocksOutOfOrderAreFound(t *testing.T) {
	t.Parallel()
	good := []string{
		"A: begin; select 1", "A: update belfry.sessions set renewed_at = $1", "A: select id from belfry.jobs where id = any($1) order by id for update of jobs",
		"A: delete from belfry.leases where job_id = $1", "A: delete from belfry.jobs where id = $1", "A: commit",
		"A: begin; select 1", "A: update belfry.sessions set ended_at = $1",
	}
	if wrong := outOfOrder(good); wrong != "" {
		t.Error(wrong)
	}
	bad := []string{"A: begin; select 1", "A: delete from belfry.leases where job_id = $1", "A: update belfry.jobs set state = $1"}
	if wrong := outOfOrder(bad); !strings.Contains(wrong, "rows of jobs are locked after rows of leases") {
		t.Errorf("it says %q", wrong)
	}
}
