package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// The promises of quotas and bounds, in the words of docs/guarantees.md.
const (
	quotaHolds = "Jobs that are admitted never exceed the quota of their namespace, on any number of nodes"
	boundHolds = "New jobs that are admitted never exceed the max_waiting of their queue, on any number of nodes"
	dropsWell  = "A full queue drops jobs that have not begun alone, the oldest of the lowest priority first, and no more than new ones need room for"
	noneMade   = "What is refused is not there" // of quotas and bounds
)

// quotas are the quotas of namespaces: of waiting jobs, and of a rate.
var quotas = map[string]struct{ waiting, perMinute, burst int }{"full": {waiting: 8}, "fast": {perMinute: 20, burst: 6}}

const narrowest = 6 // most waiting jobs of queue narrow

// booking is a batch that a user enqueues, once or several times under the same keys.
type booking struct {
	namespace string
	keys      []string
	ids       []int64 // IDs in its answer
	unsure    bool    // a call neither succeeded nor was refused
}

func (w *world) foundQuotas(ctx context.Context) error {
	if _, err := w.file.SaveQueue(ctx, job.Queue{Name: "narrow", Concurrency: 2, MaxWaiting: narrowest, OnFull: job.OnFullDropOldest}); err != nil {
		return err
	}
	tasks := []task.Task{{Name: "narrow", Queue: "narrow"}}
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		q := quotas[name]
		limits := access.Quota{Waiting: q.waiting, EnqueueBurst: q.burst}
		if q.perMinute > 0 {
			limits.EnqueueRate = fmt.Sprintf("%d/1m", q.perMinute)
		}
		if _, err := w.file.SaveNamespace(ctx, access.Namespace{Name: name, Quota: limits}); err != nil {
			return err
		}
		tasks = append(tasks, task.Task{Namespace: name, Name: "booked"})
	}
	for _, t := range tasks {
		t.Kind, t.Timeout = task.KindFunc, core.Duration(5*time.Minute)
		t.Retry = task.Retry{MaxAttempts: 3, Delay: core.Duration(2 * time.Second)}
		if _, err := w.file.CreateTask(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// askQuota enqueues jobs under a quota or a bound.
func (w *world) askQuota(ctx context.Context, st *store.Store, s step) error {
	pick := int(s.n >> 20)
	// Calls of one actor would share a transaction. If that is refused, they are repeated alone, in a random order.
	ctx = access.WithActor(ctx, fmt.Sprint("user", s.n))
	for i := range 1 + pick%3 {
		ask := w.book
		if s.what == "narrow" {
			ask = w.squeeze
		}
		if err := ask(ctx, st, s.n+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

// squeeze enqueues jobs in a queue that drops the oldest jobs when it is full.
func (w *world) squeeze(ctx context.Context, st *store.Store, n uint64) error {
	priority := int(n % 3)
	ns := make([]job.NewJob, 1+n/3%8)
	for i := range ns {
		ns[i] = job.NewJob{Task: "narrow", Priority: &priority}
	}
	err := w.enqueue(ctx, st.Enqueue, ns...)
	w.checkRoom(boundHolds, narrowest, `queue = 'narrow'`)
	return err
}

// book enqueues a batch in a namespace with a quota, until there is room.
func (w *world) book(ctx context.Context, st *store.Store, n uint64) error {
	b := &booking{namespace: []string{"fast", "full"}[n%2]}
	var ns []job.NewJob
	for i := range 1 + n/2%6 {
		b.keys = append(b.keys, fmt.Sprintf("b%d-%d", n, i))
		ns = append(ns, job.NewJob{Namespace: b.namespace, Task: "booked", Key: b.keys[i], Input: json.RawMessage(fmt.Sprint(i))})
	}
	w.mu.Lock()
	w.diary.bookings = append(w.diary.bookings, b)
	w.mu.Unlock()
	if n/12%3 == 0 { // the same key in another namespace is a different key
		if err := w.enqueue(ctx, st.Enqueue, job.NewJob{Task: "quick", Key: b.keys[0]}); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		out, err := st.Enqueue(ctx, ns)
		w.mu.Lock()
		switch {
		case err == nil:
			b.ids = make([]int64, len(out))
			for i, e := range out {
				b.ids[i] = e.Job.ID
			}
		case core.CodeOf(err) != core.OverQuota:
			b.unsure = true
		}
		w.mu.Unlock()
		if most := quotas[b.namespace].waiting; most > 0 {
			w.checkRoom(quotaHolds, most, `namespace = '`+b.namespace+`'`)
		}
		if err == nil || try == 3 || sleep(ctx, nil, time.Duration(1+n%4)*time.Second) != nil {
			return err
		}
	}
}

// checkRoom checks the number of waiting jobs. Jobs that were leased before are not counted: they may always come back.
func (w *world) checkRoom(promise string, most int, where string) {
	if rows := w.rows(`select id from belfry_live j where job_id is null and lease = 0 and attempt = 0
		and not exists (select 1 from belfry_attempts a where a.job_id = j.id) and ` + where); len(rows) > most {
		w.broken(promise, "%d jobs wait that never ran where %s, of %d", len(rows), where, most)
	}
}

func (w *world) auditQuotas() {
	made, created := map[string][]int64{}, map[string][]int64{}
	for _, row := range w.rows(`select id, idem_key, created_at, namespace from belfry_jobs_done where task = 'booked' order by created_at`) {
		made[row[3]+row[1]] = append(made[row[3]+row[1]], number(row[0]))
		created[row[3]] = append(created[row[3]], number(row[2]))
	}
	for _, b := range w.diary.bookings {
		n := 0
		for i, key := range b.keys {
			ids := made[b.namespace+key]
			if n += len(ids); len(ids) > 1 || b.ids != nil && !slices.Contains(ids, b.ids[i]) {
				w.broken(oneKey, "key %s of namespace %s has jobs %v, and its batch was answered with %v", key, b.namespace, ids, b.ids)
			}
		}
		if b.ids == nil && n > 0 && (!b.unsure || n < len(b.keys)) {
			w.broken(noneMade, "%d of %d jobs are there whose batch was refused", n, len(b.keys))
		}
	}
	w.checkEnqueueRate("fast", created["fast"])
	dropped := map[int64]bool{}
	for _, row := range w.rows(`select id from belfry_jobs_done where reason = '` + string(job.ReasonDropped) + `'`) {
		dropped[number(row[0])] = true
	}
	for _, s := range w.diary.stints {
		if dropped[s.job] && !w.diary.retried[s.job] {
			w.broken(dropsWell, "job %d has run, and was dropped", s.job)
		}
	}
}

// checkEnqueueRate checks that no period has more new jobs of a namespace than its rate and burst admit.
func (w *world) checkEnqueueRate(namespace string, created []int64) {
	q := quotas[namespace]
	for i, from := range created {
		for n, to := range created[i:] {
			took := time.Duration(to-from) * time.Microsecond
			most := q.burst + 1 + int((took+100*time.Millisecond)*time.Duration(q.perMinute)/time.Minute)
			if n+1 > most && !w.script.clock {
				w.broken(quotaHolds, "%d jobs were let in within %s, of %d", n+1, took, most)
				return
			}
		}
	}
}
