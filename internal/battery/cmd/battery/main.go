// Command battery plants every fault of internal/battery and runs the tests that must find it. It prints a table, and
// fails when a fault is not found. Run it in the root of the project:
//
//	go run ./internal/battery/cmd/battery [name ...]
package main

import (
	"cmp"
	"context"
	"fmt"
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
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "battery:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
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
	fmt.Print("| fault | breaks | found by | after |\n|---|---|---|--:|\n")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var missed int
	for one := range plant(ctx, faults) {
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
		return fmt.Errorf("%d of %d faults were not found by a test that must find them", missed, len(faults))
	}
	fmt.Printf("%d faults planted, all found\n", len(faults))
	return nil
}

type result struct {
	findings []battery.Finding
	err      error
}

// plant plants faults, two at once, and returns what becomes of each in their order. A build has both processors at work
// for a part of its time, and a test waits for a part of its own.
func plant(ctx context.Context, faults []battery.Fault) <-chan chan result {
	all := make(chan chan result, len(faults))
	turns := make(chan struct{}, 2)
	go func() {
		defer close(all)
		for _, f := range faults {
			turns <- struct{}{}
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
