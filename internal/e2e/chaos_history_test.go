//go:build linux

package e2e

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/internal/history/driver"
	"github.com/belfry-run/belfry/schedule"
)

// uptimeStep is the resolution of /proc/uptime, from which handlers take their times.
const uptimeStep = 10 * time.Millisecond

// sinceBoot reads the clock of /proc/uptime in microseconds. No fault changes this clock.
func sinceBoot() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // this clock exists since Linux 2.6
	}
	return ts.Nano() / int64(time.Microsecond)
}

// newRecorder records to a file of the site, or to the folder BELFRY_E2E_HISTORY, which is kept.
func newRecorder(t *testing.T, dir, source string) (w *history.Writer, file string) {
	t.Helper()
	before := sinceBoot()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	if shown, after := uptimeOf(t, strings.Fields(string(text))[0]), sinceBoot(); shown <= before-uptimeStep.Microseconds() || shown > after {
		t.Fatalf("/proc/uptime shows %d us, and the clock since boot %d to %d us", shown, before, after)
	}
	if kept := os.Getenv("BELFRY_E2E_HISTORY"); kept != "" {
		dir = kept
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return history.NewWriter(f, history.Header{Source: source, Clock: "since boot", Precision: uptimeStep.Microseconds()}, sinceBoot), file
}

// uptimeOf parses seconds with two decimals.
func uptimeOf(t testing.TB, text string) int64 {
	t.Helper()
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%q is not an uptime: %v", text, err)
	}
	return int64(math.Round(seconds*100)) * uptimeStep.Microseconds()
}

// recording is a client of a node that records its calls.
func (c *chaos) recording(n *place) driver.Client {
	return driver.Client{To: n.api, Writer: c.recorder, Process: n.id}
}

// executions returns the records of handlers as lines of a history.
func executions(t testing.TB, file string) (all []history.Execution) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(text), "\n")
	when := func(i int) int64 { // the last field of a line
		fields := strings.Fields(rows[i])
		return uptimeOf(t, fields[len(fields)-1])
	}
	open := map[try]int{} // the latest start
	for i, l := range readHistory(t, file) {
		at := try{l.job, l.lease}
		switch l.what {
		case "start":
			e := history.Execution{Job: l.job, Lease: l.lease, Attempt: l.attempt, Start: when(i)}
			if !l.nominal.IsZero() {
				e.Nominal = l.nominal.UnixMicro()
			}
			open[at] = len(all)
			all = append(all, e)
		case "end", "error", "snooze":
			n, began := open[at]
			if !began {
				t.Fatalf("line %d of what handlers wrote ends what did not begin: %+v", i+1, l)
			}
			all[n].Outcome = map[string]string{"end": "ok", "error": "error", "snooze": "snoozed"}[l.what]
			all[n].End = when(i)
		}
	}
	return all
}

// writeHistory adds the executions of handlers and the final record to the answers of clients.
func (c *chaos) writeHistory(r record, asked int64) {
	c.t.Helper()
	for _, e := range executions(c.t, c.history) {
		c.recorder.Add(e)
	}
	steps := c.flowLines(r)
	for id, j := range r.jobs {
		line := driver.JobOf(j, r.attempts[id], asked)
		line.Group = c.load.groups[id]
		line.Run, line.Step, line.Item = steps[id].Run, steps[id].Step, steps[id].Item
		c.recorder.Add(line)
	}
	for name, list := range r.occurrences {
		for _, o := range list {
			c.recorder.Add(driver.OccurrenceOf(name, o))
		}
		if len(list) == 0 {
			continue
		}
		last := list[len(list)-1]
		until := last.Nominal
		if !last.Until.IsZero() {
			until = last.Until
		}
		s := must[schedule.Schedule](c.t)(c.places[0].api.Schedule(c.t.Context(), "default", name))
		c.recorder.Add(driver.ScheduleOf(s, list[0].Nominal, until))
	}
	if err := c.recorder.Close(history.KindJob, history.KindExecution, history.KindOccurrence); err != nil {
		c.t.Fatal(err)
	}
}

// checkHistoryFile checks the file as belfry check-history does. It fails if the file has too little to check.
func checkHistoryFile(v *verdict, file string) history.Report {
	f, err := os.Open(file)
	if err != nil {
		v.errorf("%v", err)
		return history.Report{}
	}
	defer f.Close() //nolint:errcheck // it was only read
	h, err := history.Read(f)
	if err != nil {
		v.errorf("%s: %v", file, err)
		return history.Report{}
	}
	agreeOn(v, h)
	r := history.Check(h)
	for _, found := range r.Violations {
		v.errorf("history: %s: %s", found.Promise, found)
	}
	if err := r.Err(); err != nil {
		v.errorf("history: %v", err)
	}
	if n := r.Counts; n.Operations < 50 || n.Executions < 50 || n.Nominal < 10 {
		v.errorf("too little is in the history to prove anything: %+v", n)
	}
	return r
}
