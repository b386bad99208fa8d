//go:build linux

package main

import (
	"fmt"
	"strings"
)

// column is one measure of a table.
type column struct {
	measure string
	title   string
	unit    float64 // the divisor of shown samples; 0: 1
	alone   bool    // no ratio: a condition of the other columns
}

// topic is one table.
type topic struct {
	title   string
	better  string // higher or lower
	text    string
	columns []column
}

// topics has all tables, in order.
var topics = []topic{
	{"Enqueue", "higher",
		"Jobs per second that callers can ask for while nothing works. In bulk: 1,000 jobs in a call, one caller; fastest is the quickest documented call, ordinary the one that first comes to hand. asynq has no call for many.",
		[]column{{measure: "enqueue/1", title: "one by one, 1 caller"}, {measure: "enqueue/32", title: "one by one, 32 callers"}, {measure: "enqueue/bulk", title: "bulk, ordinary"}, {measure: "enqueue/fast", title: "bulk, fastest"}}},
	{"Burn-down", "higher",
		"Jobs per second of a worker that finds all of them waiting, from before its start: until the record has every job as finished, and until the last handler has begun.",
		[]column{{measure: "burn/settled", title: "settled"}, {measure: "burn/started", title: "started"}}},
	{"What the burn-down costs", "lower",
		"Per job. Client is the process of the worker, server all processes of PostgreSQL or Redis; without a server all is in the client. Dead rows are those left in all tables at the end, after whatever autovacuum did meanwhile.",
		[]column{{measure: "burn/cpu", title: "CPU, both, µs"}, {measure: "burn/client", title: "CPU, client, µs"}, {measure: "burn/server", title: "CPU, server, µs"}, {measure: "burn/wal", title: "WAL, bytes"}, {measure: "burn/dead", title: "dead rows", alone: true}}},
	{"End to end", "higher",
		"Jobs per second from the first call until all are settled, with callers and worker at the same time.",
		[]column{{measure: "both/32", title: "one by one, 32 callers"}, {measure: "both/fast", title: "bulk of 1,000, fastest, 1 caller"}}},
	{"Latency when idle", "lower",
		"From the begin of the enqueue call to the handler's first line, one job about every 20 ms, in ms.",
		[]column{{measure: "idle/p50", title: "p50", unit: 1e6}, {measure: "idle/p99", title: "p99", unit: 1e6}, {measure: "idle/max", title: "max", unit: 1e6}}},
	{"Latency at 50 % load", "lower",
		"The same at half of what the contender did end to end with 32 callers or in its burn-down, whichever is less, and at most 5,000 jobs per second. Each has its own load, so the ratios compare unlike with unlike.",
		[]column{{measure: "half/p50", title: "p50", unit: 1e6}, {measure: "half/p99", title: "p99", unit: 1e6}, {measure: "half/max", title: "max", unit: 1e6}, {measure: "half/rate", title: "offered, jobs/s", alone: true}}},
	{"Sustained rate", "higher",
		"The highest offered rate found, in jobs per second, at which 99 % of the jobs start within 100 ms of when they were to be enqueued. Four callers send all that has come due for them in one call, and then wait 5 ms. 0: at none of the rates tried.",
		[]column{{measure: "sustained/rate", title: "jobs/s"}}},
}

// table renders a topic: for each class Belfry first, and then each peer with the
// ratio of Belfry's figure to the peer's. It is empty if no peer was measured.
func (t topic) table(list []contender, s samples, failed map[string]string) string {
	var b strings.Builder
	measured := false
	head := []string{"contender"}
	for _, c := range t.columns {
		if !c.alone {
			head = append(head, "Belfry ÷ it: "+c.title)
		}
	}
	for _, c := range t.columns {
		head = append(head, c.title)
	}
	fmt.Fprintf(&b, "## %s\n\n%s Belfry's ratios are its default settings' / its tuned settings', **%s is better for Belfry**.\n\n", t.title, t.text, t.better)
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("--:|", len(head)-1))
	for _, class := range classes {
		bases := map[base]string{}
		for _, c := range list {
			if c.class == class && c.base != peer {
				bases[c.base] = c.name
			}
		}
		for _, c := range list {
			if c.class != class {
				continue
			}
			row := []string{c.name}
			if failed[c.name] != "" {
				row[0] += " (failed, see below)"
			}
			for _, col := range t.columns {
				its := s[c.name][col.measure]
				if !col.alone {
					row = append(row, ratio(s[bases[belfryDefault]][col.measure], its)+" / "+ratio(s[bases[belfryTuned]][col.measure], its))
				}
				measured = measured || len(its) > 0
			}
			for _, col := range t.columns {
				unit := col.unit
				if unit == 0 {
					unit = 1
				}
				row = append(row, span(s[c.name][col.measure], unit))
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	if !measured {
		return ""
	}
	return b.String() + "\n"
}
