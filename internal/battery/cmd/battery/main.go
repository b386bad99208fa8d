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
	fmt.Print("| fault | breaks | found by | after |\n|---|---|---|--:|\n")
	var missed, planted int
	for _, f := range faults {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		findings, err := battery.Run(ctx, ".", f)
		if err != nil {
			return err
		}
		planted++
		for _, one := range findings {
			by := one.Test.Package + " " + cmp.Or(one.By, one.Test.Run)
			if !one.Found {
				missed++
				by = "NOT FOUND by " + one.Test.String()
			}
			fmt.Printf("| %s | %s | `%s` | %.0f s |\n", strings.ReplaceAll(f.Name, "-", " "), f.Promise, by, one.Took.Round(time.Second).Seconds())
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d faults were not found by a test that must find them", missed, planted)
	}
	fmt.Printf("%d faults planted, all found\n", planted)
	return nil
}
