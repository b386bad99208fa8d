//go:build linux

// Command node measures Belfry alone, on SQLite and on PostgreSQL, and prints one Markdown document: the conditions and
// a table. Progress goes to standard error. It needs PostgreSQL's programs and the go command, and a quiet machine.
//
//	go run ./internal/bench/cmd/node -short
//	go run ./internal/bench/cmd/node -measures horizon -databases postgres -horizon 1h -slice 3m -horizon-rate 5000 -horizon-burst 10s -horizon-calm 9m -horizons 2
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/belfry-run/belfry/internal/bench"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/target"
)

func main() {
	node.Child()
	target.Child()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := options()
	if err == nil {
		err = bench.Run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		stop()
		log.Fatal(err)
	}
}

// options returns the long or the short options, changed by flags. -short decides the defaults, so it is read first.
func options() (bench.Options, error) {
	o := bench.Long()
	short := flag.Bool("short", slices.Contains(os.Args[1:], "-short") || slices.Contains(os.Args[1:], "--short"), "run for about three minutes in all")
	if *short {
		o = bench.Short()
	}
	list(&o.Measures, "measures", bench.Measures)
	list(&o.Databases, "databases", bench.DatabaseNames)
	flag.StringVar(&o.Program, "program", o.Program, "a built belfry; default: it is built")
	flag.IntVar(&o.Rounds, "rounds", o.Rounds, "how often work and latency are repeated")
	flag.IntVar(&o.Slow, "slow-rounds", o.Slow, "how often firing, recovery, horizon, history and monitors are repeated")
	flag.IntVar(&o.Tuned.Slots, "slots", o.Tuned.Slots, "slots of a tuned worker")
	flag.IntVar(&o.Tuned.Prefetch, "prefetch", o.Tuned.Prefetch, "jobs that a tuned worker claims beyond them")
	flag.IntVar(&o.Jobs, "jobs", o.Jobs, "jobs of a burn-down")
	flag.DurationVar(&o.Singly, "singly", o.Singly, "how long jobs are enqueued one by one")
	flag.IntVar(&o.Probes, "probes", o.Probes, "jobs whose latency is taken")
	flag.DurationVar(&o.Offer, "offer", o.Offer, "how long each rate is tried")
	flag.IntVar(&o.Idle, "idle", o.Idle, "idle schedules")
	flag.IntVar(&o.Firing.PerSecond, "due", o.Firing.PerSecond, "schedules due each second")
	flag.IntVar(&o.Firing.Seconds, "seconds", o.Firing.Seconds, "for how many seconds")
	flag.IntVar(&o.Firing.Burst, "burst", o.Firing.Burst, "schedules due in one second")
	flag.IntVar(&o.Firing.Slots, "firing-slots", o.Firing.Slots, "slots of the node that fires; 0: default")
	flag.DurationVar(&o.Firing.Lead, "lead", o.Firing.Lead, "time to save the due schedules before the first is due")
	flag.IntVar(&o.Running, "running", o.Running, "jobs of the node that is killed")
	flag.DurationVar(&o.Horizon.For, "horizon", o.Horizon.For, "how long work goes on beside a long transaction")
	flag.DurationVar(&o.Horizon.Slice, "slice", o.Horizon.Slice, "over how long each of its rates is taken")
	flag.Float64Var(&o.Horizon.Rate, "horizon-rate", o.Horizon.Rate, "jobs per second that come; 0: as many as keep a backlog")
	flag.DurationVar(&o.Horizon.Burst, "horizon-burst", o.Horizon.Burst, "for how long at the end of each slice as many come as keep a backlog, of which alone the rate is taken; 0: always at one pace")
	flag.DurationVar(&o.Horizon.Calm, "horizon-calm", o.Horizon.Calm, "how long it goes on undisturbed, for comparison; 0: as long")
	holds := flag.Int("horizons", len(o.Holds), "how many kinds of long transactions, and none at all for comparison, are tried")
	flag.IntVar(&o.Watch.Monitors, "monitors", o.Watch.Monitors, "monitors of one node")
	flag.DurationVar(&o.Watch.Every, "every", o.Watch.Every, "time between two of their checks")
	flag.IntVar(&o.Watch.Hosts, "hosts", o.Watch.Hosts, "addresses that they look at")
	flag.DurationVar(&o.Watch.Warm, "warm", o.Watch.Warm, "how long they run before anything is counted")
	flag.DurationVar(&o.Watch.For, "watch", o.Watch.For, "how long they are counted, a multiple of -every")
	flag.DurationVar(&o.Watch.Away, "away", o.Watch.Away, "how long their node is stopped then")
	flag.DurationVar(&o.Watch.Back, "back", o.Watch.Back, "how long they are counted after it")
	flag.Func("workers", "numbers of worker processes of programs, with commas", func(text string) error {
		o.Programs.Workers = nil
		for one := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(one)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of workers", one)
			}
			o.Programs.Workers = append(o.Programs.Workers, n)
		}
		return nil
	})
	flag.IntVar(&o.Programs.Probes, "program-probes", o.Programs.Probes, "programs whose start is taken")
	flag.IntVar(&o.Programs.Lines, "program-lines", o.Programs.Lines, "of them at the same time, at most")
	flag.IntVar(&o.Past, "past", o.Past, "finished jobs in a history")
	flag.IntVar(&o.Days, "days", o.Days, "days over which they ended")
	flag.IntVar(&o.Fan.Steps, "steps", o.Fan.Steps, "parallel steps of a workflow")
	flag.IntVar(&o.Fan.Runs, "runs", o.Fan.Runs, "runs of it, one after another")
	flag.IntVar(&o.Asleep, "asleep", o.Asleep, "workflows that sleep beside a burn-down")
	flag.IntVar(&o.Keys, "keys", o.Keys, "keys of a limit")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag", flag.Arg(0))
	}
	if *holds < 1 || *holds > len(rates.Horizons) {
		return o, fmt.Errorf("-horizons must be 1 to %d", len(rates.Horizons))
	}
	o.Holds = rates.Horizons[:*holds]
	return o, nil
}

// list is a flag with some of the choices.
func list(to *[]string, name string, choices []string) {
	flag.Func(name, "some of "+strings.Join(choices, ",")+"; default: all, but for programs", func(text string) error {
		*to = strings.Split(text, ",")
		for _, one := range *to {
			if !slices.Contains(choices, one) {
				return fmt.Errorf("%q is none of %s", one, strings.Join(choices, ", "))
			}
		}
		return nil
	})
}
