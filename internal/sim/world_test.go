package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/jitter"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// world is one run: a database, its nodes, their users, and the diary.
type world struct {
	script script
	plant  *plant // a fault of the product that the run must find; nil: none
	begun  time.Time
	gate   *gate
	file   *store.Store // its database is shared by the nodes
	nodes  []*node
	all    sync.WaitGroup // all goroutines of the run

	mu    sync.Mutex
	off   time.Duration // by how much the clock was set
	sum   hash.Hash
	at    time.Duration
	fresh []string // lines of the instant at
	lines []string // the trace, if it is kept
	keep  bool
	names map[string]string // names of sessions in the trace
	diary diary
	wrong []string     // violated promises
	calm  atomic.Bool  // the faults are over
	under atomic.Int64 // requests of users under way, and repeated requests
	over  atomic.Bool  // no node starts any more
}

var (
	errDead = errors.New("the process has ended")
	errAway = core.Errorf(core.Unavailable, "the database cannot be reached")
)

// result is the result of a run.
type result struct {
	hash   string
	lines  []string
	wrong  []string
	took   time.Duration // simulated time
	passed int
	runs   int
}

// simulate runs a script. The clock of the bubble always begins at the same instant.
func simulate(t *testing.T, s script, p *plant, keep bool) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{script: s, plant: p, keep: keep, begun: time.Now(), gate: newGate(s.seed), sum: fnv.New128a(), names: map[string]string{}}
		w.diary = diary{open: map[int64][]*stint{}, leases: map[int64]int64{}, touched: map[int64]bool{},
			retried: map[int64]bool{}, asked: map[int64]asking{}, settings: map[string][]setting{}, lines: map[string]int64{},
			good: map[place]bool{}, parts: map[place][]*stint{}, durables: map[int64]*durable{}, parents: map[int64]int64{}, hooks: map[string]*mail{}}
		defer jitter.Fix(func(n time.Duration) time.Duration { return time.Duration(w.draw("jitter", uint64(n)) % uint64(n)) })()
		r = w.run(t)
	})
	return r
}

func (w *world) run(t *testing.T) (r result) {
	file, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{Options: store.Options{Clock: w.now, Monotonic: w.monotonic}})
	if err != nil {
		t.Fatal(err)
	}
	w.file = file
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); w.gate.run(stop) }()
	w.play(t)
	w.all.Wait()
	took := w.since()
	w.audit()
	close(stop)
	<-ended
	w.flush()
	r = result{took: took, wrong: w.wrong, lines: w.lines, passed: w.gate.passed, runs: len(w.diary.stints)}
	if w.gate.twice != "" {
		t.Error(w.gate.twice)
	}
	r.hash = fmt.Sprintf("%x", w.sum.Sum(nil))
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	return r
}

// now returns the time of the reference clock, which faults may set. monotonic is a clock that is never set.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.off)
}

func (w *world) monotonic() time.Duration { return time.Since(w.begun) }

// since returns the simulated time since the start of the run.
func (w *world) since() time.Duration { return time.Since(w.begun) }

// draw returns a random number of the seed. It depends on the name and the time, not on earlier draws.
func (w *world) draw(what string, more ...uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what))
	x := h.Sum64() ^ w.script.seed*0x9e3779b97f4a7c15
	for _, m := range append(more, uint64(w.since())) {
		x = mix(x ^ m)
	}
	return x
}

func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0xe7037ed1a0b428db, 0xa0761d6478bd642f)
	hi2, lo2 := bits.Mul64(hi^lo, 0x8ebc6af09c88c6e3)
	return hi2 ^ lo2
}

// chance is true once in n times.
func (w *world) chance(n uint64, what string, more ...uint64) bool {
	return w.draw(what, more...)%n == 0
}

// trace records a transition with its time. Transitions of one instant are sorted by their text: handlers that start together
// begin in an order of the Go scheduler, on which nothing depends.
func (w *world) trace(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.since(); at != w.at {
		w.flush()
		w.at = at
	}
	w.fresh = append(w.fresh, line)
}

// flush adds the lines of the instant to the trace.
func (w *world) flush() {
	slices.Sort(w.fresh)
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(w.at))
	for _, line := range w.fresh {
		_, _ = w.sum.Write(at[:])
		_, _ = w.sum.Write([]byte(line))
		if w.keep {
			w.lines = append(w.lines, fmt.Sprintf("%14s %s", w.at, line))
		}
	}
	w.fresh = w.fresh[:0]
}

// broken records a violated promise.
func (w *world) broken(promise, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) < 20 {
		w.wrong = append(w.wrong, fmt.Sprintf("%s (at %s): %s", promise, w.since(), fmt.Sprintf(format, args...)))
	}
}

func (w *world) isBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wrong) > 0
}

// sessionName returns the name of a session in the trace, because IDs are random.
func (w *world) sessionName(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[id] == "" {
		w.names[id] = fmt.Sprintf("s%d", len(w.names)+1)
	}
	return w.names[id]
}

// spawn starts a goroutine of the run.
func (w *world) spawn(fn func()) { w.all.Go(fn) }

// sleep waits, unless the context or the process ends.
func sleep(ctx context.Context, dead <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-dead:
		return errDead
	}
}

// dump writes the final rows into the trace.
func (w *world) dump() {
	for _, query := range []string{
		`select id, task, queue, state, attempt, failures, snoozes, lease, created_at, claimed_at, finished_at, outcome, nominal, error from belfry_jobs_done order by seq`,
		`select id, task, queue, state, attempt, due_at from belfry_jobs order by id`,
		`select job_id, number, lease, session, claimed_at, started_at, ended_at, outcome from belfry_attempts order by seq`,
		`select schedule_id, nominal, until, count, decision, reason, job_id, decided_at from belfry_occurrences order by schedule_id, nominal`,
		`select name, state, generation, next_at, high_water, runs from belfry_schedules order by id`,
		`select job_id, number, name, kind, lease, saved_at, wake_at, ended_at, told, child, result from belfry_steps order by job_id, number`,
		`select id, hook_id, at, sent_at, seq, event from belfry_hook_events order by id`,
		`select id, started_at, renewed_at, ended_at, lost from belfry_sessions order by id`,
	} {
		for _, row := range w.rows(query) {
			w.trace("%s", strings.Join(row, "|"))
		}
	}
}

// rows queries the database directly, not through a node.
func (w *world) rows(query string, args ...any) (all [][]string) {
	db := w.file.DB().(*sqlite.DB).SQL() //nolint:forcetypeassert // it was opened as SQLite
	rows, err := db.Query(query, args...)
	if err != nil {
		w.broken(itself, "%s: %v", query, err)
		return nil
	}
	defer func() { _ = rows.Close() }()
	columns, _ := rows.Columns()
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			w.broken(itself, "%s: %v", query, err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = fmt.Sprint(v)
			if name := w.names[row[i]]; name != "" {
				row[i] = name
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		w.broken(itself, "%s: %v", query, err)
	}
	return all
}

// diary records the observations of handlers and users.
type diary struct {
	stints  []*stint
	open    map[int64][]*stint // running handlers, by job
	leases  map[int64]int64    // largest lease under which a job ran
	touched map[int64]bool     // jobs whose end a user has requested
	known   []known            // acknowledged jobs, in order
	pauses  []pausing

	retried  map[int64]bool       // jobs that a user has retried
	asked    map[int64]asking     // jobs with a key of a limit, a sequence or turns
	settings map[string][]setting // allowances that may have been in force
	lines    map[string]int64     // last job that began, by sequence

	runs    []running // runs of workflows
	signals []signaled
	parts   map[place][]*stint // ended parts
	good    map[place]bool     // parts whose success was acknowledged

	durables   map[int64]*durable
	durableIDs []int64         // IDs of durable jobs that users know
	parents    map[int64]int64 // parent jobs, by child

	hooks    map[string]*mail
	requests []*request // requests for debounced jobs
	bookings []*booking
	ranked   []*ranked // jobs of queue aged
}

// known is a job that was acknowledged to a user.
type known struct {
	id  int64
	key string // idempotency key
}

// stint is one run of a handler.
type stint struct {
	node, task string
	job, lease int64
	schedule   string
	queue      string
	start, end time.Duration
	planned    bool // its job has a nominal time
	ended      bool
	ok         bool
	deaf       bool // it ignores its context

	key              string // key of limits, sequences and turns
	attempt          int
	created, claimed time.Duration // times of the job, by the rows
	duty             duty          // for a part of a workflow
	n                uint64        // number of the debounced request
}

var _ base.DB = (*nodeDB)(nil)
