//go:build linux || darwin

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Two jobs of a task that may run once at a time: the first is lost with its node
// A, and retried on B.
func crowded() (record, []line) {
	try := func(n int, lease int64, session, worker string, o job.Outcome) job.Attempt {
		return job.Attempt{Number: n, Lease: lease, Session: session, Worker: worker, Outcome: o}
	}
	r := record{
		jobs: map[int64]job.Job{
			1: {ID: 1, Task: "strait", State: job.Succeeded, Attempt: 2},
			2: {ID: 2, Task: "strait", State: job.Succeeded, Attempt: 1},
		},
		attempts: map[int64][]job.Attempt{
			1: {try(1, 10, "a", "A", job.OutcomeLost), try(2, 12, "b", "B", job.OutcomeOK)},
			2: {try(1, 11, "b", "B", job.OutcomeOK)},
		},
		limits: map[string]int{"strait": 1},
	}
	at := func(what string, job int64, attempt int, lease int64) line {
		return line{what, "strait", job, attempt, lease, time.Time{}}
	}
	return r, []line{
		at("start", 1, 1, 10), at("beat", 1, 1, 10),
		at("start", 2, 1, 11), at("beat", 2, 1, 11), at("end", 2, 1, 11),
		at("start", 1, 2, 12), at("end", 1, 2, 12),
	}
}

func TestTheCheckerFindsOverlaps(t *testing.T) {
	t.Parallel()
	zombie := line{"beat", "strait", 1, 1, 10, time.Time{}}
	mark := func(what, who string) line { return line{what, who, 0, 0, 0, time.Time{}} }
	insert := func(h []line, at int, l line) []line {
		return append(append(append([]line{}, h[:at]...), l), h[at:]...)
	}
	for name, c := range map[string]struct {
		spoil func(r *record, h []line) []line
		says  string // empty: no fault
	}{
		"a good history": {func(_ *record, h []line) []line { return h }, ""},
		"one more than may be": {func(_ *record, h []line) []line { return insert(h, 4, zombie) },
			"2 of strait at the same time"},
		"one more, whose node was frozen and given up": {func(_ *record, h []line) []line {
			return insert(insert(insert(h, 4, zombie), 2, mark(markLapse, "A")), 1, mark(markFreeze, "A"))
		}, ""},
		"one more, whose node was frozen and not given up": {func(_ *record, h []line) []line {
			return insert(insert(h, 4, zombie), 1, mark(markFreeze, "A"))
		}, "2 of strait at the same time"},
		"one more, while another node was frozen": {func(_ *record, h []line) []line {
			return insert(insert(h, 4, zombie), 2, mark(markLapse, "B"))
		}, "2 of strait at the same time"},
		"one more, that was not lost": {func(r *record, h []line) []line {
			r.attempts[1][0].Outcome = job.OutcomeError
			return insert(insert(h, 4, zombie), 2, mark(markLapse, "A"))
		}, "2 of strait at the same time"},
		"an attempt that outlives the next": {func(_ *record, h []line) []line { return insert(h, 6, zombie) },
			"came after lease 12"},
		"an attempt that outlives the next, of a node that was frozen": {func(_ *record, h []line) []line {
			return insert(insert(h, 6, zombie), 2, mark(markLapse, "A"))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := crowded()
			h = c.spoil(&r, h)
			var found complaints
			judge(&verdict{t: &found}, r, h)
			all := strings.Join(found, "\n")
			if c.says == "" && len(found) > 0 || !strings.Contains(all, c.says) {
				t.Errorf("verdict: got %q, want %q", all, c.says)
			}
		})
	}
}

func TestTheCheckerFindsBrokenPromises(t *testing.T) {
	t.Parallel()
	good := func() (record, promises) {
		r := record{jobs: map[int64]job.Job{
			1: {ID: 1, State: job.Succeeded, Key: "a"},
			2: {ID: 2, State: job.Succeeded},
			3: {ID: 3, State: job.Canceled, Key: "c"},
		}}
		return r, promises{map[string]int64{"a": 1, "c": 3}, []int64{2}, map[int64]bool{3: true}}
	}
	for name, c := range map[string]struct {
		spoil func(r *record, p *promises)
		says  string
	}{
		"a good record":             {func(*record, *promises) {}, ""},
		"a lost job":                {func(r *record, _ *promises) { delete(r.jobs, 1) }, "job 1 was acknowledged for a"},
		"a lost job without a key":  {func(r *record, _ *promises) { delete(r.jobs, 2) }, "job 2 was acknowledged"},
		"two jobs for one key":      {func(r *record, _ *promises) { r.jobs[4] = job.Job{ID: 4, Key: "a"} }, "key a has jobs"},
		"one job for two requests":  {func(_ *record, p *promises) { p.keyless = []int64{2, 2} }, "told of before: true"},
		"canceled by nobody":        {func(_ *record, p *promises) { p.canceled = nil }, "nobody asked"},
		"another's job for the key": {func(_ *record, p *promises) { p.acked["a"] = 2 }, "job 2 was acknowledged for a"},
	} {
		t.Run(name, func(t *testing.T) {
			r, p := good()
			c.spoil(&r, &p)
			var found complaints
			checkPromises(&verdict{t: &found}, r, p)
			all := strings.Join(found, "\n")
			if c.says == "" && len(found) > 0 || !strings.Contains(all, c.says) {
				t.Errorf("verdict: got %q, want %q", all, c.says)
			}
		})
	}
}
