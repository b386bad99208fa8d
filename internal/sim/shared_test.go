package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// sharing is a limit of a namespace or queue, shared by all its jobs or by the jobs of a key.
type sharing struct {
	of    string // its name in the settings of the diary
	keyed bool
	has   func(s *stint) bool
}

// The namespace guests and the queue gated have limits with rates. Task visitor belongs to both.
var sharings = []sharing{
	{"guests", false, func(s *stint) bool { return s.task == "guest" || s.task == "visitor" }},
	{"gated", true, func(s *stint) bool { return s.queue == "gated" }},
}

// sharedTasks are the tasks under such limits.
var sharedTasks = []string{"gated", "guest", "visitor"}

var firstShares = map[string]allowance{"guests": {running: 3, perMinute: 20, burst: 4}, "gated": {running: 2, perMinute: 12, burst: 2}}

// saveShare saves the limits of a namespace or queue.
func saveShare(ctx context.Context, st *store.Store, of string, a allowance) (err error) {
	limits := a.limits()
	if of == "guests" {
		_, err = st.SaveNamespace(ctx, access.Namespace{Name: "guests", Limits: limits})
		return err
	}
	limits[0].Key = inputKey
	_, err = st.SaveQueue(ctx, job.Queue{Name: "gated", Concurrency: 2, Limits: limits})
	return err
}

// foundShared sets up tasks that share limits.
func (w *world) foundShared(ctx context.Context) error {
	for of, a := range firstShares {
		if err := saveShare(ctx, w.file, of, a); err != nil {
			return err
		}
		w.diary.settings[of] = []setting{{allowance: a, until: forever}}
	}
	for _, name := range sharedTasks {
		t := task.Task{Name: name, Kind: task.KindFunc, Timeout: core.Duration(5 * time.Minute)}
		t.Retry = task.Retry{MaxAttempts: 4, Delay: core.Duration(2 * time.Second), MaxDelay: core.Duration(20 * time.Second)}
		if name != "gated" {
			t.Namespace = "guests"
		}
		if name != "guest" {
			t.Queue = "gated"
		}
		if _, err := w.file.CreateTask(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// sharedSteps draws requests of users under limits of namespaces and queues.
func sharedSteps(seed uint64, length time.Duration) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 15))
	kinds := []string{"guest", "guest", "gated", "visitor", "visitor", "edit share"}
	for range int(length / (75 * time.Second)) {
		steps = append(steps, step{time.Duration(r.Int64N(int64(length))), kinds[r.IntN(len(kinds))], r.Uint64()})
	}
	return steps
}

// askShared carries out a step of a user about limits of namespaces and queues.
func (w *world) askShared(ctx context.Context, st *store.Store, s step) error {
	pick := int(s.n >> 20)
	if s.what == "edit share" {
		of := []string{"guests", "gated"}[pick%2]
		return w.edit(of, allowance{running: 1 + pick/2%4, perMinute: 10 << (pick / 8 % 3), burst: 1 + pick/24%4}, func(a allowance) error { return saveShare(ctx, st, of, a) })
	}
	namespace := ""
	if s.what != "gated" {
		namespace = "guests"
	}
	key := sequenceKeys[pick%2]
	ns := make([]job.NewJob, 1+pick/2%14)
	for i := range ns {
		ns[i] = job.NewJob{Namespace: namespace, Task: s.what, Input: json.RawMessage(`{"k":"` + key + `"}`)}
		if pick/32%4 == 0 { // the job is delayed
			ns[i].Delay = core.Duration(time.Duration(1+pick%20) * time.Second)
		}
	}
	return w.enqueue(ctx, st.Enqueue, ns...)
}

// checkShared checks whether a handler that has just begun may run, as [world.checkFlow] does.
func (w *world) checkShared(s *stint) (promise, why string) {
	for _, l := range sharings {
		if !w.script.shared || s.deaf || !l.has(s) {
			continue
		}
		running, newest := w.beside(s, func(o *stint) bool { return l.has(o) && (!l.keyed || o.key == s.key) })
		if w.script.clock {
			newest = 0 // the rows have times of another clock
		}
		if most, _ := w.most(l.of, newest, w.since(), func(a allowance) int { return a.running }); running > most {
			return limitRunning, fmt.Sprintf("job %d of %s with key %q begins as number %d at once, of %d", s.job, l.of, s.key, running, most)
		}
	}
	return "", ""
}

// auditShared checks rates at the end of a run.
func (w *world) auditShared() {
	if !w.script.shared || w.script.clock {
		return
	}
	for _, l := range sharings {
		claims := map[string][]time.Duration{}
		for _, s := range w.diary.stints {
			if l.has(s) && s.attempt == 1 { // others may have kept the place that they had
				key := ""
				if l.keyed {
					key = s.key
				}
				claims[key] = append(claims[key], s.claimed)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(claims)) {
			w.checkRate(l.of, key, claims[key])
		}
	}
}
