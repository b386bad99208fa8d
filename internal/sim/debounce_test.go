package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

const debounceShares = "Requests of a key within a window of each other share one debounced job, on any number of nodes. The last one counts, and no job that has begun is changed"

// calm is the debounce of the debounced task.
var calm = flow.Debounce{Key: inputKey, Window: core.Duration(3 * time.Second), Max: core.Duration(10 * time.Second)}

// request is one request for a debounced job.
type request struct {
	key         string
	n           uint64 // number in its input
	batch       uint64 // batch of requests in one call, in the order of n
	job         int64  // job in its answer
	from, acked time.Duration
}

// foundWindows sets up debounced tasks, quotas and bounds.
func (w *world) foundWindows(ctx context.Context) error {
	t := task.Task{Name: "calm", Kind: task.KindFunc, Debounce: &calm, Timeout: core.Duration(5 * time.Minute)}
	t.Retry = task.Retry{MaxAttempts: 3, Delay: core.Duration(2 * time.Second)}
	if _, err := w.file.CreateTask(ctx, t); err != nil {
		return err
	}
	return w.foundQuotas(ctx)
}

// windowSteps draws requests of users for debounced tasks, and under quotas and bounds.
func windowSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 10))
	kinds := []string{"calm", "calm", "calm", "tenant", "tenant", "tenant", "narrow", "narrow"}
	for range int(length / (30 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

// askCalm requests a debounced job of one key several times.
func (w *world) askCalm(ctx context.Context, st *store.Store, s step) (err error) {
	pick := int(s.n >> 20)
	r := rand.New(rand.NewPCG(s.n, 11))
	for i := range 1 + pick%6 {
		if err := sleep(ctx, nil, time.Duration(r.Int64N(int64(4*time.Second)))); err != nil {
			return err
		}
		var asked []*request
		var ns []job.NewJob
		named := r.IntN(2) == 0
		for k := range uint64(1 + r.IntN(3)) {
			batch := s.n + 8*uint64(i)
			one := &request{key: sequenceKeys[pick/6%2], n: batch + k, batch: batch, from: w.since()}
			n := job.NewJob{Task: "calm", Input: json.RawMessage(fmt.Sprintf(`{"k":%q,"n":%d}`, one.key, one.n))}
			if named {
				n.Key = fmt.Sprint("calm", one.n)
			}
			asked, ns = append(asked, one), append(ns, n)
		}
		w.mu.Lock()
		w.diary.requests = append(w.diary.requests, asked...)
		w.mu.Unlock()
		for try := 0; ; try++ {
			out, failed := st.Enqueue(ctx, ns)
			if err = failed; err == nil {
				for k := range out {
					w.answered(asked[k], out[k], ns[k].Key)
				}
				break
			}
			if !named || try == 3 || sleep(ctx, nil, 500*time.Millisecond) != nil { // a request without a key cannot be repeated
				break
			}
		}
	}
	return err
}

// answered records the answer to a request for a debounced job.
func (w *world) answered(r *request, e job.Enqueued, key string) {
	w.acknowledged(e, key)
	w.mu.Lock()
	r.job, r.acked = e.Job.ID, w.since()
	w.mu.Unlock()
	if w.script.clock {
		return
	}
	waiting := w.rows(`select id from belfry_jobs where task = 'calm' and state = 'scheduled' and attempt = 0 and due_at > $1 and json_extract(input, '$.k') = $2`,
		w.now().UnixMicro(), r.key)
	if len(waiting) > 1 {
		w.broken(debounceShares, "%d jobs wait for the window of key %s", len(waiting), r.key)
	}
}

// auditWindows checks debounced jobs, quotas and bounds at the end of a run.
func (w *world) auditWindows() {
	if !w.script.windows {
		return
	}
	byJob, first, joined := map[int64][]*request{}, map[int64]*stint{}, map[int64]int{}
	for _, r := range w.diary.requests {
		if r.acked > 0 {
			byJob[r.job] = append(byJob[r.job], r)
		}
	}
	for _, s := range w.diary.stints {
		switch f := first[s.job]; {
		case s.task != "calm":
		case f == nil:
			first[s.job] = s
		case f.n != s.n:
			w.broken(debounceShares, "job %d runs with request %d after it ran with request %d", s.job, s.n, f.n)
		}
	}
	for _, row := range w.rows(`select job_id, joined from belfry_debounced`) {
		joined[number(row[0])] = int(number(row[1]))
	}
	for id, requests := range byJob {
		if len(requests) > joined[id]+1 {
			w.broken(debounceShares, "job %d stands for %d requests, and %d were answered with it", id, joined[id]+1, len(requests))
		}
		if s := first[id]; s != nil {
			w.checkCalm(s, requests)
		}
	}
	w.auditQuotas()
}

// checkCalm compares the first run of a debounced job with the requests that got it as their answer.
func (w *world) checkCalm(s *stint, requests []*request) {
	ran := &request{} // the request with whose input it runs
	for _, r := range requests {
		if r.n == s.n {
			ran = r
		}
	}
	for _, r := range requests {
		switch starts := min(r.from+calm.Window.D(), s.created+calm.Max.D()); {
		case ran.acked > 0 && r.from > ran.acked, r.batch == ran.batch && r.n > ran.n:
			w.broken(debounceShares, "job %d runs with request %d, and request %d came later", s.job, s.n, r.n)
		case r.from > s.start:
			w.broken(debounceShares, "request %d joins job %d, which has begun", r.n, s.job)
		case s.start < starts && !w.script.clock && !w.diary.retried[s.job]:
			w.broken(debounceShares, "job %d begins at %s, and request %d has it wait until %s", s.job, s.start, r.n, starts)
		}
	}
}
