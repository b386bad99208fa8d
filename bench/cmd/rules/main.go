// Command rules prints the speed of the rule engines: one table, ratios first, and the conditions.
//
// All libraries take turns in one process, round by round and in changing order, so that other load of the machine affects
// them equally. A figure is the median over the rounds, with the least and the greatest.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/bench"
	"github.com/belfry-run/belfry/cron"
)

var (
	rounds = flag.Int("rounds", 15, "how often each library has its turn")
	turn   = flag.Duration("turn", 20*time.Millisecond, "how long a turn is, at least")
)

// job is one cell of the table: something that a library does n times.
type job struct {
	do     func(n int)
	per    int // times computed by one n
	n      int // repetitions that fill a turn
	nanos  []float64
	allocs []float64
}

// row is one line of the table: the same work for each library that can do it.
type row struct {
	name string
	unit float64 // times per shown figure
	jobs map[string]*job
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	var rows []*row
	for _, zone := range []string{"UTC", "America/New_York"} {
		loc, err := cron.LoadZone(zone)
		if err != nil {
			log.Fatal(err)
		}
		rows = append(rows, walks(loc)...)
		rows = append(rows, starts(loc))
	}
	rows = append(rows, parses())
	for _, r := range rows {
		for _, j := range r.jobs {
			j.fit(*turn)
		}
	}
	began := time.Now()
	for i := range *rounds {
		for _, r := range rows {
			for k := range bench.Peers {
				if j := r.jobs[bench.Peers[(k+i)%len(bench.Peers)]]; j != nil {
					j.run()
				}
			}
		}
	}
	conditions(time.Since(began))
	table(rows)
	notes()
}

func walks(loc *time.Location) (rows []*row) {
	for _, r := range bench.Rules {
		line := &row{name: fmt.Sprintf("next 1,000 times, %s, %s", r.Name, loc), unit: 1000, jobs: map[string]*job{}}
		for _, peer := range bench.Peers {
			text := r.Text(peer)
			if text == "" {
				continue
			}
			s, err := bench.Parse(peer, text, loc)
			if err != nil {
				log.Fatal(err)
			}
			line.jobs[peer] = &job{per: 1000, do: func(n int) {
				for range n {
					s.Walk(1000)
				}
			}}
		}
		rows = append(rows, line)
	}
	return rows
}

// starts computes the next time of many schedules. rrule-go takes milliseconds for some, so a turn has only a part of them,
// with the same mix.
func starts(loc *time.Location) *row {
	line := &row{name: fmt.Sprintf("next time of 1,000,000 schedules, %s", loc), unit: 1e6, jobs: map[string]*job{}}
	now := bench.Now(loc)
	for _, peer := range bench.Peers {
		list, err := bench.Mix(peer, 10_000, loc)
		if err != nil {
			log.Fatal(err)
		}
		line.jobs[peer] = &job{per: 5, do: func(n int) {
			for i := range n * 5 { // five kinds of rule
				list[i%len(list)].After(now)
			}
		}}
	}
	return line
}

func parses() *row {
	line := &row{name: "read and check 1,000 rules", unit: 1000, jobs: map[string]*job{}}
	for _, peer := range bench.Peers {
		line.jobs[peer] = &job{per: 1000, do: func(n int) {
			for range n {
				if _, err := bench.Mix(peer, 1000, time.UTC); err != nil {
					log.Fatal(err)
				}
			}
		}}
	}
	return line
}

// fit finds the number of repetitions that fill a turn.
func (j *job) fit(turn time.Duration) {
	for j.n = 1; ; j.n *= 2 {
		began := time.Now()
		j.do(j.n)
		if took := time.Since(began); took >= turn/2 {
			return
		}
	}
}

func (j *job) run() {
	var before, after runtime.MemStats
	runtime.GC() // no peer pays for the garbage of another
	runtime.ReadMemStats(&before)
	began := time.Now()
	j.do(j.n)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	times := float64(j.n * j.per)
	j.nanos = append(j.nanos, float64(took.Nanoseconds())/times)
	j.allocs = append(j.allocs, float64(after.Mallocs-before.Mallocs)/times)
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func table(rows []*row) {
	fmt.Println("| work | robfig / Belfry | netresearch / Belfry | rrule-go / Belfry | Belfry | robfig/cron | netresearch/go-cron | rrule-go | allocations for each time |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range rows {
		ours := median(r.jobs["belfry"].nanos)
		cells := []string{r.name}
		for _, peer := range bench.Peers[1:] {
			cell := "-"
			if j := r.jobs[peer]; j != nil {
				cell = "**" + number(median(j.nanos)/ours) + " x**"
			}
			cells = append(cells, cell)
		}
		var allocs []string
		for _, peer := range bench.Peers {
			j := r.jobs[peer]
			if j == nil {
				cells, allocs = append(cells, "-"), append(allocs, "-")
				continue
			}
			cells = append(cells, span(j.nanos, r.unit))
			allocs = append(allocs, number(median(j.allocs)))
		}
		cells = append(cells, strings.Join(allocs, " / "))
		fmt.Println("| " + strings.Join(cells, " | ") + " |")
	}
}

// span returns the median of the rounds with the least and the greatest, as text.
func span(nanos []float64, unit float64) string {
	return fmt.Sprintf("%s (%s to %s)", period(median(nanos)*unit), period(slices.Min(nanos)*unit), period(slices.Max(nanos)*unit))
}

func period(nanos float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if nanos >= u.size {
			return number(nanos/u.size) + " " + u.name
		}
	}
	return number(nanos) + " ns"
}

// number writes about three digits.
func number(f float64) string {
	switch {
	case f < 0.005:
		return "0"
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

func conditions(took time.Duration) {
	fmt.Printf("%s %s/%s, %s, %d cores; %d rounds in turns of %s or more, %s in all. tzdata: %s\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, processor(), runtime.NumCPU(), *rounds, *turn, took.Round(time.Second), cron.ZoneVersion())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace == nil {
				fmt.Printf("%s %s\n", m.Path, m.Version)
			}
		}
	}
	fmt.Println()
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func notes() {
	fmt.Println("\nThe first three columns say how many times as long the library takes as Belfry. The last: Belfry / robfig / netresearch / rrule-go.")
	for _, r := range bench.Rules {
		if r.Why != "" {
			fmt.Printf("%s: %s.\n", r.Name, r.Why)
		}
	}
}
