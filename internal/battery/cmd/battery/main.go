// Command battery plants every fault of internal/battery and runs the tests that must find it. It prints a table, and
// fails when a fault is not found. Run it in the root of the project:
//
//	go run ./internal/battery/cmd/battery [-within 20m] [-seed n] [name ...]
//
// With a seed it plants them in a random order, and with a bound it begins none after it: one run after the other reaches
// all.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/internal/battery"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	within := flag.Duration("within", 0, "begin no fault after this time; 0: plant all")
	seed := flag.Uint64("seed", 0, "of a random order; 0: by name")
	flag.Parse()
	if err := run(ctx, *within, *seed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "battery:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, within time.Duration, seed uint64, names []string) error {
	faults, err := battery.Read(filepath.Join("internal", "battery", "faults"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(faults, func(f battery.Fault) bool { return f.Name == name }) {
			return fmt.Errorf("there is no fault %s", name)
		}
	}
	if len(names) > 0 {
		faults = slices.DeleteFunc(faults, func(f battery.Fault) bool { return !slices.Contains(names, f.Name) })
	}
	if seed != 0 {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	}
	var until time.Time
	if within > 0 {
		until = time.Now().Add(within)
	}
	fmt.Print("| fault | breaks | found by | after |\n|---|---|---|--:|\n")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var planted, missed int
	for one := range plant(ctx, faults, until) {
		planted++
		r := <-one
		if r.err != nil {
			if err == nil {
				err = r.err
			}
			cancel() // the others end, and are waited for
			continue
		}
		for _, one := range r.findings {
			by := one.Test.Package + " " + cmp.Or(one.By, one.Test.Run)
			if !one.Found {
				missed++
				by = "NOT FOUND by " + one.Test.String()
			}
			fmt.Printf("| %s | %s | `%s` | %.0f s |\n", strings.ReplaceAll(one.Fault.Name, "-", " "), one.Fault.Promise, by, one.Took.Round(time.Second).Seconds())
		}
	}
	if err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d faults were not found by a test that must find them", missed, planted)
	}
	fmt.Printf("%d of %d faults planted, all found\n", planted, len(faults))
	return nil
}

type result struct {
	findings []battery.Finding
	err      error
}

// plant plants faults, two at a time, and returns the result of each in their order. It begins none after until, unless that is
// zero. A build uses both processors for a part of its time, and a test waits for a part of its own.
func plant(ctx context.Context, faults []battery.Fault, until time.Time) <-chan chan result {
	all := make(chan chan result, len(faults))
	turns := make(chan struct{}, 2)
	go func() {
		defer close(all)
		for _, f := range faults {
			turns <- struct{}{}
			if !until.IsZero() && time.Now().After(until) {
				return
			}
			one := make(chan result, 1)
			all <- one
			go func() {
				findings, err := battery.Run(ctx, ".", f)
				<-turns
				one <- result{findings: findings, err: err}
			}()
		}
	}()
	return all
}
