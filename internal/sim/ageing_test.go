package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// The promises of ageing, in the words of docs/guarantees.md.
const (
	agesOn     = "In a queue with ageing a flood of a higher priority holds up a job for no longer than it takes to be level with it"
	agesNoMore = "In a queue with ageing a job is raised by one priority for each period that it has waited, and a higher priority goes first"
)

const (
	agePeriod = 10 * time.Second // ageing period of queue aged
	// agesWithin is how late the engine may raise a job while one node works. It includes the start of a node.
	agesWithin = 20 * time.Second
)

// ranked is a job of queue aged.
type ranked struct {
	id, priority int64
	from, acked  time.Duration
	claimed      time.Duration // time of the first claim, by the rows; 0: never
}

// foundAgeing sets up a queue whose jobs age.
func (w *world) foundAgeing(ctx context.Context) error {
	if _, err := w.file.SaveQueue(ctx, job.Queue{Name: "aged", Concurrency: 1, Ageing: core.Duration(agePeriod)}); err != nil {
		return err
	}
	t := task.Task{Name: "aged", Kind: task.KindFunc, Queue: "aged", Timeout: core.Duration(5 * time.Minute)}
	t.Retry = task.Retry{MaxAttempts: 3, Delay: core.Duration(2 * time.Second)}
	_, err := w.file.CreateTask(ctx, t)
	return err
}

// ageingSteps draws floods of jobs.
func ageingSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 14))
	for range 1 + int(length/(15*time.Minute)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), "flood", r.Uint64()})
	}
	return steps
}

// flood enqueues more jobs than the workers can run for a while, and some jobs of a lower priority at its start. It retries
// until it succeeds.
func (w *world) flood(s step) error {
	pick := int(s.n >> 20)
	ctx := label(context.Background(), fmt.Sprint("flood", s.n))
	high := 1 + pick%2
	for i := range 7 {
		ranks := map[bool][]int{true: {high, high, high, high, high, high, 0, high - 1}, false: {high, high, high, high, high, high, high}}[i == 0]
		if err := w.enqueueRanked(ctx, w.someone(pick/2+i), ranks); err != nil && i == 0 {
			return err
		}
		time.Sleep(agePeriod)
	}
	return nil
}

// enqueueRanked enqueues a job of each priority.
func (w *world) enqueueRanked(ctx context.Context, l *life, priorities []int) error {
	if l == nil {
		return errAway
	}
	ns := make([]job.NewJob, len(priorities))
	for i := range ns {
		ns[i] = job.NewJob{Task: "aged", Priority: &priorities[i]}
	}
	begun := w.since()
	out, err := l.store.Enqueue(ctx, ns)
	for i, e := range out {
		w.acknowledged(e, "")
		w.mu.Lock()
		w.diary.ranked = append(w.diary.ranked, &ranked{id: e.Job.ID, priority: int64(priorities[i]), from: begun, acked: w.since()})
		w.mu.Unlock()
	}
	return err
}

// auditAgeing compares the order of claims with the rule: the higher priority first, raised by one for each period that a job
// has waited.
func (w *world) auditAgeing() {
	if !w.script.ageing || w.script.clock {
		return
	}
	first := map[int64]time.Duration{}
	for _, row := range w.rows(`select id, min(claimed_at) from (
		select id, claimed_at from belfry_jobs_done where task = 'aged' union all
		select a.job_id, a.claimed_at from belfry_attempts a join belfry_jobs_done j on j.id = a.job_id where j.task = 'aged') as claims
		where claimed_at > 0 group by id`) {
		first[number(row[0])] = time.UnixMicro(number(row[1])).Sub(w.begun)
	}
	for _, r := range w.diary.ranked {
		r.claimed = first[r.id]
	}
	for _, low := range w.diary.ranked {
		for _, high := range w.diary.ranked {
			if high.priority > low.priority && low.claimed > 0 && high.claimed > 0 && !w.retried(low.id) && !w.retried(high.id) {
				w.checkRanks(low, high)
			}
		}
	}
}

func (w *world) checkRanks(low, high *ranked) {
	level := time.Duration(high.priority-low.priority) * agePeriod
	switch {
	case high.claimed < low.claimed && high.from > w.levelAt(low, high.priority)+agesWithin && !w.allInTrouble(low.acked, low.claimed):
		w.broken(agesOn, "job %d of priority %d waits from %s to %s, and job %d of priority %d, asked for at %s, is claimed at %s",
			low.id, low.priority, low.acked, low.claimed, high.id, high.priority, high.from, high.claimed)
	case low.claimed < high.claimed && high.acked < low.claimed && low.claimed < low.from+level:
		w.broken(agesNoMore, "job %d of priority %d, asked for at %s, is claimed at %s, while job %d of priority %d waits from %s to %s",
			low.id, low.priority, low.from, low.claimed, high.id, high.priority, high.acked, high.claimed)
	}
}

// levelAt returns when a job is level with others of a priority: when it has waited long enough and one of them waits. Before
// that the engine does not raise it.
func (w *world) levelAt(low *ranked, priority int64) time.Duration {
	waited, at := low.acked+time.Duration(priority-low.priority)*agePeriod, forever-agesWithin
	for _, r := range w.diary.ranked {
		if r.priority >= priority && r.claimed > waited {
			at = min(at, max(waited, r.acked))
		}
	}
	return at
}

// allInTrouble reports whether at some instant no node may have worked without a fault.
func (w *world) allInTrouble(from, to time.Duration) bool {
	on := func(f fault, at time.Duration) bool {
		return f.what != "clock" && f.at <= at && at <= f.at+f.last+5*time.Second
	}
	for _, f := range w.script.faults {
		nodes := map[int]bool{}
		for _, g := range w.script.faults {
			if on(g, f.at) {
				nodes[g.node] = true
			}
		}
		if len(nodes) == w.script.nodes && from <= f.at+f.last+5*time.Second && f.at <= to {
			return true
		}
	}
	return false
}
