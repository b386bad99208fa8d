//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/history/driver"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// grid has the schedules with fixed times, and the distance of their nominal times.
var grid = map[string]time.Duration{
	"tick": time.Second, "tock": time.Second, "slow": time.Second, "flaky": 2 * time.Second,
}

// loops has the schedules that count from the finish of the run before.
var loops = []string{"loop", "rough"}

// narrow is the queue whose concurrency all nodes share.
const (
	narrow      = "narrow"
	narrowLimit = 3
)

// noteDown is the script of every command. One write to a file opened for appending
// is one line, even if others write at the same time.
const noteDown = `
	note() {
		read -r up _ < /proc/uptime
		printf '%s %s %s %s %s %s %s\n' "$1" "$BELFRY_TASK" "$BELFRY_JOB_ID" "$BELFRY_ATTEMPT" "$BELFRY_LEASE" "${BELFRY_NOMINAL_TIME:--}" "$up" >> "$HISTORY"
	}
	note start
	for _ in $BEATS; do sleep "$PACE"; note beat; done
	case "$BELFRY_TASK" in
	flaky) if [ "$BELFRY_ATTEMPT" -lt 3 ]; then note error; exit 1; fi ;;
	rough) if [ $((BELFRY_JOB_ID % 2)) = 0 ]; then note error; exit 1; fi ;;
	line) if [ "$BELFRY_ATTEMPT" -lt 2 ]; then note error; exit 1; fi ;;
	doomed) note error; exit 1 ;;
	esac
	note end
`

// note does the same in Go.
func note(history, what, task string, job int64, attempt int, lease int64) error {
	f, err := os.OpenFile(history, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %d %d %d - %.2f\n", what, task, job, attempt, lease, float64(sinceBoot()/10_000)/100)
	return errors.Join(err, f.Close())
}

// mayFail has the tasks whose jobs may use up their attempts.
var mayFail = []string{"doomed", "rough"}

// definitions cover every overlap policy and every catch-up policy.
func definitions(history string) view.Manifest {
	tk := func(name, pace, beats string) task.Task {
		return task.Task{
			Name: name, Timeout: task.MaxTimeout, // or an attempt that was claimed while the clock was set back for a moment would have no time left
			Retry:   task.Retry{MaxAttempts: 90, Delay: core.Duration(100 * time.Millisecond), Backoff: task.BackoffFixed},
			Command: &task.Command{Shell: noteDown, Env: map[string]string{"PACE": pace, "BEATS": beats, "HISTORY": history}},
		}
	}
	few := func(t task.Task, attempts int) task.Task {
		t.Retry.MaxAttempts = attempts
		return t
	}
	strait := tk("strait", "0.1", "1 2 3 4")
	strait.Queue = narrow
	nap := tk("nap", "", "")
	nap.Command, nap.Kind, nap.Queue = nil, task.KindFunc, "naps"
	cron := []schedule.Rule{{Cron: "* * * * * *"}}
	every := func(d time.Duration) []schedule.Rule { return []schedule.Rule{{Every: core.Duration(d)}} }
	finish := []schedule.Rule{{Every: core.Duration(time.Second), Anchor: schedule.AnchorFinish}}
	return view.Manifest{ // with the definitions of chaos_flow_test.go
		Queues: []job.Queue{{Name: narrow, GlobalLimit: narrowLimit}, {Name: "naps"}},
		Tasks: append(flowTasks(tk),
			tk("quick", "0", ""), tk("middling", "0.1", "1 2 3"), tk("long", "0.35", "1 2 3 4"), tk("flaky", "0", ""), strait, nap,
			few(tk("doomed", "0", ""), 2), few(tk("rough", "0.2", "1"), 1),
		),
		Schedules: []schedule.Schedule{
			{Name: "tick", Task: "quick", Rules: cron, Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupLatest},
			{Name: "tock", Task: "middling", Rules: every(time.Second), Overlap: schedule.OverlapBufferAll, Catchup: schedule.CatchupAll, CatchupMax: 20},
			{Name: "slow", Task: "long", Rules: every(time.Second), Overlap: schedule.OverlapSkip, Catchup: schedule.CatchupAll, CatchupMax: 20},
			{Name: "flaky", Task: "flaky", Rules: every(2 * time.Second), Overlap: schedule.OverlapAllow, Catchup: schedule.CatchupNone},
			{Name: "loop", Task: "quick", Rules: finish},
			{Name: "rough", Task: "rough", Rules: finish},
		},
	}
}

// load makes the requests of clients and keeps their answers.
type load struct {
	c    *chaos
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	acked    map[string]int64 // acknowledged: key -> job
	keyless  []int64          // acknowledged without a key
	doomed   []int64          // jobs that fail
	canceled map[int64]bool   // jobs with a request to cancel
	refused  []string         // wrong refusals
	groups   map[int64]string // of limits and sequences, by job
	runs     []int64          // of workflows
}

func startLoad(c *chaos) *load {
	ctx, stop := context.WithCancel(c.t.Context())
	l := &load{c: c, stop: stop, acked: map[string]int64{}, canceled: map[int64]bool{}, groups: map[int64]string{}}
	c.t.Cleanup(l.end)
	for i, do := range []func(context.Context, *rand.Rand){l.single, l.batches, l.plain, l.meddle, l.others, l.flows, l.orders} {
		random := rand.New(rand.NewPCG(c.seed, uint64(2+i)))
		l.done.Go(func() { do(ctx, random) })
	}
	// Longer than the load, so that all requests are completed.
	l.nap(c)
	return l
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// some draws a random part of a span.
func some(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// drawJob draws a job with a key, whose window is longer than the steps of the clock.
func drawJob(r *rand.Rand, key string) job.NewJob {
	tasks := []string{"quick", "quick", "middling", "flaky", "strait", "nap", "doomed"}
	j := job.NewJob{Task: tasks[r.IntN(len(tasks))], Key: key, KeyWindow: job.MaxKeyWindow}
	if r.IntN(4) == 0 {
		j.Delay = core.Duration(some(r, 2*time.Second))
	}
	return j
}

// single enqueues one job after the other. It repeats each request until a node has
// acknowledged it.
func (l *load) single(ctx context.Context, r *rand.Rand) {
	for i := range forever(ctx, 80*time.Millisecond) {
		l.insist(ctx, r, drawJob(r, fmt.Sprintf("key-%d", i)))
	}
}

// batches does the same with several jobs at once.
func (l *load) batches(ctx context.Context, r *rand.Rand) {
	for i := range forever(ctx, time.Second) {
		var list []job.NewJob
		for n := range 2 + r.IntN(6) {
			list = append(list, drawJob(r, fmt.Sprintf("batch-%d-%d", i, n)))
		}
		l.insist(ctx, r, list...)
	}
}

func (l *load) insist(ctx context.Context, r *rand.Rand, list ...job.NewJob) {
	for range forever(ctx, 80*time.Millisecond) {
		if l.ask(ctx, r, list...) {
			return
		}
	}
}

// plain enqueues jobs without a key, with one request each.
func (l *load) plain(ctx context.Context, r *rand.Rand) {
	for range forever(ctx, 400*time.Millisecond) {
		l.ask(ctx, r, job.NewJob{Task: "quick"})
	}
}

// ask enqueues jobs and reports whether they were acknowledged.
func (l *load) ask(ctx context.Context, r *rand.Rand, list ...job.NewJob) bool {
	var made []job.Enqueued
	told := l.tell(ctx, r, "enqueue", func(ctx context.Context, api driver.Calls) (err error) {
		made, err = api.Enqueue(ctx, list)
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range made {
		l.noteFlow(list[i], m.Job.ID)
		if list[i].Task == "doomed" {
			l.doomed = append(l.doomed, m.Job.ID)
		}
		if list[i].Key == "" {
			l.keyless = append(l.keyless, m.Job.ID)
		} else {
			l.acked[list[i].Key] = m.Job.ID
		}
	}
	return told
}

// tell makes a request to any node, and reports whether it succeeded. The node may
// be away, but it must not refuse.
func (l *load) tell(ctx context.Context, r *rand.Rand, what string, do func(context.Context, driver.Calls) error) bool {
	api := l.c.recording(l.c.places[r.IntN(len(l.c.places))])
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	err := do(ctx, api)
	if err != nil && ctx.Err() == nil && !away(err) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused = append(l.refused, fmt.Sprintf("%s: %s: %v", what, core.CodeOf(err), err))
	}
	return err == nil
}

// away reports that a node or its database was not reached, or that the outcome is
// unknown.
func away(err error) bool {
	code := core.CodeOf(err)
	return code == core.Unavailable || code == core.Unknown
}

// meddle cancels a job, or pauses a schedule or queue for a moment.
func (l *load) meddle(ctx context.Context, r *rand.Rand) {
	for range forever(ctx, 1300*time.Millisecond) {
		switch r.IntN(3) {
		case 0:
			if id := l.drawAcked(r); id > 0 {
				l.tell(ctx, r, "cancel", func(ctx context.Context, api driver.Calls) error {
					_, err := api.CancelJobs(ctx, "default", view.Selection{IDs: []int64{id}, Note: "chaos"})
					return err
				})
			}
		case 1:
			l.tell(ctx, r, "pause queue", func(ctx context.Context, api driver.Calls) error {
				_, err := api.PauseQueue(ctx, narrow, "chaos")
				return err
			})
			l.resume(ctx, r, "resume queue", func(ctx context.Context, api driver.Calls) error {
				_, err := api.ResumeQueue(ctx, narrow)
				return err
			})
		case 2:
			l.tell(ctx, r, "pause schedule", func(ctx context.Context, api driver.Calls) error {
				_, err := api.PauseSchedule(ctx, "default", "tick", "chaos")
				return err
			})
			catchUp := r.IntN(2) == 0
			l.resume(ctx, r, "resume schedule", func(ctx context.Context, api driver.Calls) error {
				_, err := api.ResumeSchedule(ctx, "default", "tick", catchUp)
				return err
			})
		}
	}
}

// resume repeats its request until it succeeds, or the pause would stay.
func (l *load) resume(ctx context.Context, r *rand.Rand, what string, do func(context.Context, driver.Calls) error) {
	for range forever(ctx, 200*time.Millisecond) {
		if l.tell(ctx, r, what, do) {
			return
		}
	}
}

// others reads a job, retries it, runs it again, or enqueues a job with an active key.
func (l *load) others(ctx context.Context, r *rand.Rand) {
	for range forever(ctx, 300*time.Millisecond) {
		id := l.recent(r, 40)
		if id == 0 {
			continue
		}
		tasks := []string{"quick", "middling", "long"}
		pair := []job.NewJob{{Task: "quick"}, {Task: tasks[r.IntN(len(tasks))], ActiveKey: fmt.Sprintf("active-%d", r.IntN(3))}}
		do := []func(context.Context, driver.Calls) error{
			func(ctx context.Context, api driver.Calls) error {
				_, err := api.Enqueue(ctx, pair)
				return err
			},
			func(ctx context.Context, api driver.Calls) error {
				_, err := api.Job(ctx, "default", id)
				return err
			},
			func(ctx context.Context, api driver.Calls) error {
				_, err := api.RetryJobs(ctx, "default", view.Selection{IDs: l.toRetry(r, id), Note: "chaos"})
				return err
			},
			func(ctx context.Context, api driver.Calls) error {
				_, err := api.RunJobAgain(ctx, "default", id, job.RunAgain{Note: "chaos"})
				if core.CodeOf(err) == core.Conflict { // the job has not ended
					return nil
				}
				return err
			},
		}
		l.tell(ctx, r, "one of the other calls", do[r.IntN(len(do))])
	}
}

// toRetry draws a job, and a job that fails.
func (l *load) toRetry(r *rand.Rand, id int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := []int64{id}
	if len(l.doomed) > 0 {
		ids = append(ids, l.doomed[r.IntN(len(l.doomed))])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// drawAcked draws a recent job to cancel.
func (l *load) drawAcked(r *rand.Rand) int64 {
	id := l.recent(r, 5)
	l.mu.Lock()
	defer l.mu.Unlock()
	if id > 0 {
		l.canceled[id] = true
	}
	return id
}

// recent draws one of the last n jobs with a key, or returns 0.
func (l *load) recent(r *rand.Rand, n int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.acked) == 0 {
		return 0
	}
	ids := slices.Sorted(maps.Values(l.acked))
	return ids[len(ids)-1-r.IntN(min(len(ids), n))]
}

// nap runs a remote worker with a handler that snoozes its jobs twice.
func (l *load) nap(c *chaos) {
	var h worker.Handlers
	worker.Handle(&h, "nap", func(ctx context.Context, _ struct{}) (struct{}, error) {
		j, _ := worker.JobFrom(ctx)
		tell := func(what string) error { return note(c.history, what, j.Task, j.ID, j.Attempt, j.Lease) }
		if err := tell("start"); err != nil {
			return struct{}{}, err
		}
		if j.Snoozes < 2 {
			return struct{}{}, errors.Join(tell("snooze"), worker.Snooze(300*time.Millisecond))
		}
		return struct{}{}, tell("end")
	})
	w, err := worker.New(worker.Options{
		Leaser: driver.Leaser{Leaser: c.places[0].api, Writer: c.recorder, Process: "napper"}, Name: "napper", Handlers: &h, Queues: map[string]int{"naps": 4}, Lease: sessionTTL, Grace: time.Second,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(c.t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = w.Run(ctx) })
	c.t.Cleanup(func() {
		stop()
		done.Wait()
	})
}

// forever counts from 0, at a pace, until the context ends.
func forever(ctx context.Context, pace time.Duration) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil && yield(i); i++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
}
