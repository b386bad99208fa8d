//go:build linux

// Command monitors prints the cost of a check in Belfry, blackbox_exporter and Gatus: one table, and the conditions.
//
// All programs check the same targets equally often, in turns in one run. The target is a process of its own on loopback,
// over plain HTTP, so that the figures have no cost of TLS or of a network. CPU and memory are those of the program's
// process and its children, from /proc. Start-up does not count: a turn begins when each monitor has been checked once.
//
// Belfry is the built program on SQLite with its default settings. blackbox_exporter has no scheduler and no record: it
// gets the request for each probe over HTTP from this program, whose CPU does not count. Gatus waits 777 ms between the
// starts of any two of its endpoints, so few endpoints with a short interval replace many with a long one, at the same rate.
//
//	cd bench && go run ./cmd/monitors
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/target"
)

// settings has the values of the flags.
type settings struct {
	monitors int
	every    time.Duration
	many     int
	turn     time.Duration
	warm     time.Duration
	rounds   int
	only     string
}

func main() {
	target.Child()
	log.SetFlags(0)
	var s settings
	flag.IntVar(&s.monitors, "monitors", 167, "monitors of each contender")
	flag.DurationVar(&s.every, "every", time.Second, "time between two checks of a monitor")
	flag.IntVar(&s.many, "many", 10_000, "monitors of Belfry in a turn at the same rate, each less often; 0: none")
	flag.DurationVar(&s.turn, "turn", 30*time.Second, "how long each is measured")
	flag.DurationVar(&s.warm, "warm", 10*time.Second, "how long it runs before, after every monitor was checked once")
	flag.IntVar(&s.rounds, "rounds", 2, "how often each has its turn")
	flag.StringVar(&s.only, "only", "", "only contenders whose name holds this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		stop()
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "belfry-monitors-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := &field{settings: s, dir: dir, conditions: process.Machine()}
	if err := f.build(ctx); err != nil {
		return err
	}
	if f.target, err = target.Start(50); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.target.Close()) }()
	list := f.contenders()
	begun := time.Now()
	for round := range s.rounds {
		for i := range list {
			c := list[(i+round)%len(list)]
			if err := f.turn(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			log.Printf("%s round %d: %s", time.Now().Format("15:04:05"), round+1, c.last())
		}
	}
	f.print(os.Stdout, list, time.Since(begun))
	return nil
}

// field has the target and the programs of the comparison.
type field struct {
	settings
	dir        string
	conditions string
	target     *target.Target
	programs   map[string]string // the built programs
	versions   map[string]string
	refused    map[string]error // the errors of the others
}

func (f *field) path(name string) string { return filepath.Join(f.dir, name) }
