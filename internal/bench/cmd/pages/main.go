//go:build linux

// Command pages makes a large installation, by default of 1,000,000 schedules and 10,000,000 finished jobs, and measures
// the time of each page of the console and each read of the API. It prints a table of both, the slowest first, and marks
// those over 200 ms at p95.
//
//	go run ./internal/bench/cmd/pages -schedules 100000 -jobs 500000
//	go run ./internal/bench/cmd/pages -database PostgreSQL
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"strings"
	"syscall"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/pages"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		stop()
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	l := pages.Large()
	flag.IntVar(&l.Schedules, "schedules", l.Schedules, "schedules")
	flag.IntVar(&l.Jobs, "jobs", l.Jobs, "finished jobs")
	flag.IntVar(&l.Days, "days", l.Days, "days over which they ended")
	flag.IntVar(&l.Live, "live", l.Live, "jobs that wait")
	flag.IntVar(&l.Monitors, "monitors", l.Monitors, "monitors")
	flag.IntVar(&l.Pace, "paced", l.Pace, "schedules with a year of days")
	which := flag.String("database", "SQLite", "SQLite or PostgreSQL")
	times := flag.Int("times", 20, "how often each is asked for")
	folder := flag.String("folder", "", "where the file of SQLite is made; default: the folder for temporary files")
	keep := flag.Bool("keep", false, "say where it is and leave it: the file of SQLite for ever, PostgreSQL until an interrupt")
	again := flag.String("url", "", "measure what is there, as -keep said where, and make nothing")
	only := flag.String("only", "", "regular expression of what to ask for, such as ^/schedules; default: everything")
	profile := flag.String("cpuprofile", "", "file to write a CPU profile of the asking to")
	flag.Parse()
	looks := pages.Looks{Times: *times}
	if *only != "" {
		if looks.Only, err = regexp.Compile(*only); err != nil {
			return fmt.Errorf("-only: %w", err)
		}
	}
	d, err := openDatabase(ctx, *which, *folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	url := *again
	if url == "" {
		var s *database.Site
		if s, err = d.NewSite(ctx); err != nil {
			return err
		}
		url = s.URL
		if !*keep || s.Postgres() {
			defer func() { err = errors.Join(err, s.Close()) }()
		}
		if *keep {
			defer func() {
				fmt.Fprintln(os.Stderr, "kept:", url)
				if s.Postgres() {
					<-ctx.Done()
				}
			}()
		}
		if err = l.Build(ctx, s, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }); err != nil {
			return err
		}
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	looks.Of = d
	before := load()
	shown, reads, err := pages.Measure(ctx, url, looks)
	if err != nil {
		return err
	}
	conditions, err := d.Conditions(ctx)
	if err != nil {
		return err
	}
	if *again != "" {
		conditions = "what was made before, at " + *again
	}
	fmt.Printf("%s\n%d schedules, %d finished jobs, %d that wait, %d monitors; each asked for %d times, one after the other; load of the machine before and after: %s, %s\n", conditions, l.Schedules, l.Jobs, l.Live, l.Monitors, *times, before, load())
	slowPages, err := pages.Table(os.Stdout, "page", shown)
	if err != nil {
		return err
	}
	slowReads, err := pages.Table(os.Stdout, "read of the API", reads)
	fmt.Printf("\n%d pages and %d reads are over %s\n", slowPages, slowReads, pages.Limit)
	return err
}

func openDatabase(ctx context.Context, which, folder string) (*database.Database, error) {
	switch which {
	case "SQLite":
		return database.SQLite(which, folder, "FULL"), nil
	case "PostgreSQL":
		return database.StartPostgres(ctx, which, true)
	}
	return nil, fmt.Errorf("%q is not SQLite or PostgreSQL", which)
}

// startProfile writes a CPU profile to a file until stop is called.
func startProfile(name string) (stop func(), err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close() //nolint:errcheck // a profile
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close() //nolint:errcheck // a profile
	}, nil
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}
