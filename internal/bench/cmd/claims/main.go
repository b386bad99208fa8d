//go:build linux

// Command claims measures the gain of each mechanism of the claim path, in turns with and without it. It prints the ratio
// of without to with, as median and quartiles. Its figures are in docs/decisions/0023-claim-path.md.
//
//	go run ./internal/bench/cmd/claims -database postgres -rounds 7
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

var (
	kind    = flag.String("database", "sqlite", "sqlite or postgres")
	without = flag.String("without", "", "fields of mechanisms, with commas between; default: all")
	rounds  = flag.Int("rounds", 7, "how often each is measured")
	jobs    = flag.Int("jobs", 60_000, "jobs of a burn-down")
	probes  = flag.Int("probes", 100, "jobs whose idle latency is taken")
	rate    = flag.Float64("rate", 4000, "jobs per second of the load whose latency is taken")
)

// figures has the names of the results of a measure, in their order.
var figures = []string{"burn-down, jobs/s", "burn-down, CPU/job", "load, CPU/job", "load, p99", "32 callers, CPU/job", "idle, p50"}

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "belfry-claims-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := database.SQLite(*kind, dir, "FULL")
	if *kind == "postgres" {
		if d, err = database.StartPostgres(ctx, *kind, true); err != nil {
			return err
		}
	}
	return errors.Join(compare(ctx, d), d.Close())
}

// mechanisms has the switches of the claim path and of the SQLite writer.
type mechanisms struct {
	store.Claims
	NoGroups, NoBatches bool
}

// switches has the chosen fields of [mechanisms].
func switches() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[mechanisms]()) {
		if !f.Anonymous && (*without == "" || slices.Contains(strings.Split(*without, ","), f.Name)) {
			names = append(names, f.Name)
		}
	}
	return names
}

// compare measures in turns: with all mechanisms, without one, with all, without the next.
func compare(ctx context.Context, d *database.Database) error {
	ratios := map[string][][]float64{}
	for range *rounds {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		before, err := measure(ctx, s, mechanisms{})
		for _, name := range switches() {
			var off mechanisms
			reflect.ValueOf(&off).Elem().FieldByName(name).SetBool(true)
			got, failed := measure(ctx, s, off)
			after, failedAfter := measure(ctx, s, mechanisms{})
			if err = errors.Join(err, failed, failedAfter); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", name, err), s.Close())
			}
			of := make([]float64, len(got))
			for i := range got {
				of[i] = got[i] / ((before[i] + after[i]) / 2)
			}
			ratios[name], before = append(ratios[name], of), after
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
	}
	fmt.Printf("| %s | %s |\n|---|%s\n", d.Name, strings.Join(figures, " | "), strings.Repeat("--:|", len(figures)))
	for _, name := range switches() {
		fmt.Printf("| %s |", name)
		for i := range figures {
			var of []float64
			for _, r := range ratios[name] {
				of = append(of, r[i])
			}
			slices.Sort(of)
			fmt.Printf(" %.2f (%.2f-%.2f) |", report.SpreadOf(of).Median, of[len(of)/4], of[len(of)-1-len(of)/4])
		}
		fmt.Println()
	}
	return nil
}

func measure(ctx context.Context, s *database.Site, off mechanisms) (got []float64, err error) {
	if err := s.Calm(ctx); err != nil {
		return nil, err
	}
	s.NoGroups, s.NoBatches = off.NoGroups, off.NoBatches
	err = s.With(ctx, store.Options{Claims: off.Claims}, func(st *store.Store) error {
		if _, err := rates.EnqueueBulk(ctx, s, st, *jobs); err != nil {
			return err
		}
		burn, err := rates.Burn(ctx, s, st, *jobs, node.Tuning{})
		if err != nil {
			return err
		}
		m, err := s.Meter(ctx)
		if err != nil {
			return err
		}
		load, err := rates.Offer(ctx, st, *rate, time.Second, node.Tuning{})
		if err != nil {
			return err
		}
		used, err := m.Read(ctx)
		if err != nil {
			return err
		}
		singly, err := rates.EnqueueSingly(ctx, s, st, 32, 300*time.Millisecond)
		if err != nil {
			return err
		}
		if _, err := rates.Burn(ctx, s, st, singly.Jobs, node.Tuning{}); err != nil {
			return err
		}
		idle, err := rates.Latency(ctx, st, st, *probes, 0, node.Tuning{})
		got = []float64{burn.Rate(), burn.Per(float64(burn.CPU())), float64(used.CPU()) / float64(max(load.N, 1)), float64(load.P99),
			singly.Per(float64(singly.CPU())), float64(idle.P50)}
		return err
	})
	return got, err
}
