//go:build linux

// Command peers compares Belfry with the best queues of the field, on one machine
// and in one run, and prints one Markdown document: a table for each topic, ratios
// first, with the conditions.
//
//	cd bench && ./setup.sh && go run ./cmd/peers -o peers.md
//
// In each round and phase all contenders take turns, in an order that changes
// from round to round, each on an empty database. A figure is the median over
// the rounds, with the least and the greatest; a ratio is one of medians.
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
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	isShort = flag.Bool("short", false, "everything in about three minutes: one round of few jobs, which says that it works and little more")
	only    = flag.String("only", "", "measure only contenders whose name matches this regular expression")
	part    = flag.String("phase", "", "measure only phases that match this regular expression: enqueue, burn-down, end to end, idle, load (which needs burn-down and end to end)")
	without = flag.String("without", "", "leave out who needs these, separated by commas: redis, graphile, river-sqlite")
	rounds  = flag.Int("rounds", 0, "how often everybody has a turn (default 3; 1 with -short)")
	jobs    = flag.Int("jobs", 0, "jobs of a burn-down (default 100000 on a server and 20000 on SQLite; 2000 and 1000 with -short)")
	out     = flag.String("o", "", "write the document to this file instead of the terminal")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("peers: ", err)
	}
}

func run(ctx context.Context) (err error) {
	size := sizesOf(*isShort, *rounds, *jobs)
	list, left, err := choose(contenders(), *only, *without)
	if err != nil {
		return err
	}
	parts, err := choosePhases(*part)
	if err != nil {
		return err
	}
	s, err := newSite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.check(ctx, list); err != nil {
		return err
	}
	begun := time.Now()
	m := measured{samples{}, map[string]string{}}
	if err := m.rounds(ctx, s, size, list, parts); err != nil {
		return err
	}
	doc := m.document(ctx, s, size, list, left, time.Since(begun))
	if *out == "" {
		fmt.Print(doc)
	} else if err := os.WriteFile(*out, []byte(doc), 0o644); err != nil {
		return err
	}
	if len(m.failed) > 0 {
		return fmt.Errorf("%d contenders failed", len(m.failed))
	}
	return nil
}

func sizesOf(isShort bool, rounds, jobs int) sizes {
	size := long
	if isShort {
		size = short
	}
	if rounds > 0 {
		size.rounds = rounds
	}
	if jobs > 0 {
		size.jobs = map[bool]int{true: jobs, false: jobs}
	}
	return size
}

// choose returns the contenders that take part, and those that are left out.
func choose(all []contender, only, without string) (list []contender, left []string, err error) {
	name, err := regexp.Compile(only)
	if err != nil {
		return nil, nil, err
	}
	lacking := strings.Split(without, ",")
	for _, l := range lacking {
		if l != "" && !slices.ContainsFunc(all, func(c contender) bool { return c.needs == l }) {
			return nil, nil, fmt.Errorf("-without %s: no contender needs this", l)
		}
	}
	for _, c := range all {
		if !name.MatchString(c.name) || c.needs != "" && slices.Contains(lacking, c.needs) {
			left = append(left, c.name)
			continue
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("-only %s: no contender has this name", only)
	}
	return list, left, nil
}

func choosePhases(text string) (list []phase, err error) {
	name, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	for _, p := range phases {
		if name.MatchString(p.name) {
			list = append(list, p)
		}
	}
	chosen := func(name string) bool {
		return slices.ContainsFunc(list, func(p phase) bool { return p.name == name })
	}
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("-phase %s: no phase has this name", text)
	case chosen("load") && !(chosen("burn-down") && chosen("end to end")):
		return nil, fmt.Errorf("-phase %s: the loads of load are parts of what burn-down and end to end find: add them", text)
	}
	return list, nil
}

// measured has the results of a run.
type measured struct {
	samples samples
	failed  map[string]string // contender -> error
}

// rounds gives all peers their turns, in each round phase by phase, so that compared
// figures are measured close together. A peer that fails is out, which the document
// says, and the others continue.
func (m measured) rounds(ctx context.Context, s *site, size sizes, list []contender, parts []phase) error {
	for round := range size.rounds {
		first := round * len(list) / size.rounds
		for _, p := range parts {
			for i := range list {
				c := list[(first+i)%len(list)]
				if m.failed[c.name] != "" {
					continue
				}
				begun := time.Now()
				err := p.take(ctx, s, size, c, m.samples)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					m.failed[c.name] = err.Error()
				}
				log.Printf("round %d/%d %-10s %-42s %5.1f s %s", round+1, size.rounds, p.name, c.name, time.Since(begun).Seconds(), m.brief(c, p))
			}
		}
	}
	return nil
}

// brief returns the results of a phase for the log.
func (m measured) brief(c contender, p phase) string {
	if why := m.failed[c.name]; why != "" {
		return "failed: " + why
	}
	var parts []string
	for _, measure := range p.brief {
		v := m.samples.last(c.name, measure)
		if strings.HasPrefix(measure, "idle") || strings.HasPrefix(measure, "half") {
			v /= 1e6
		}
		parts = append(parts, measure+" "+number(v))
	}
	return strings.Join(parts, ", ")
}

func (m measured) document(ctx context.Context, s *site, size sizes, list []contender, left []string, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Belfry and its peers\n\n%s, %d round(s) in %s. A figure is the median of the rounds (least to greatest), a ratio one of medians.\n\n",
		time.Now().UTC().Format("2 January 2006"), size.rounds, took.Round(time.Second))
	if *isShort {
		b.WriteString("**This was a short run: it shows that everything works. Its figures are noise.**\n\n")
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "Left out by the command line: %s.\n\n", strings.Join(left, "; "))
	}
	for _, t := range topics {
		b.WriteString(t.table(list, m.samples, m.failed))
	}
	b.WriteString("## Conditions\n\n")
	fmt.Fprintf(&b, "- burn-down of %s jobs on a server and %s on SQLite; in each round and phase all take turns, beginning with another in each round, each on an empty database\n",
		number(float64(size.jobs[true])), number(float64(size.jobs[false])))
	b.WriteString(s.conditions(ctx, list))
	for _, c := range list {
		if why := m.failed[c.name]; why != "" {
			fmt.Fprintf(&b, "\n%s failed:\n\n```\n%s\n```\n", c.name, why)
		}
	}
	return b.String()
}
