package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// loadEnv makes this test binary a process that loads a store: a folder, a value
// of synchronous, a seed and a number of clients. What is acknowledged to a client
// is written to the standard output as "object state".
const loadEnv = "BELFRY_TEST_POWER_LOAD"

func loadFromEnv(value string) int {
	var seed uint64
	var clients int
	parts := strings.SplitN(value, ",", 3)
	if _, err := fmt.Sscanf(parts[2], "%d,%d", &seed, &clients); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := powerLoad(parts[0], parts[1], seed, clients); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fileIn is the database of a load: its folder does not exist before.
func fileIn(folder string) string { return filepath.Join(folder, "data", "belfry.db") }

// loadSteps is how many transitions a client makes in each of the two lives of a store.
const loadSteps = 60

func powerLoad(folder, synchronous string, seed uint64, clients int) error {
	clock := storetest.NewClock()
	all := make([]*loader, clients)
	for i := range all {
		all[i] = &loader{clock: clock, name: fmt.Sprint("c", i), rng: rand.New(rand.NewPCG(seed, uint64(i))), leads: i == 0}
	}
	for range 2 {
		st, err := sqlite.Open(context.Background(), fileIn(folder), sqlite.Options{Synchronous: synchronous, Options: store.Options{Clock: clock.Now}})
		if err != nil {
			return err
		}
		errs := make([]error, clients)
		var live sync.WaitGroup
		for i, l := range all {
			live.Go(func() { errs[i] = l.live(st) })
		}
		live.Wait()
		if err := errors.Join(append(errs, st.Close())...); err != nil {
			return err
		}
	}
	return nil
}

// loader is a client with a queue, a task and a worker of its own, so that nobody
// else changes its jobs. The one that leads moves the clock and fires schedules.
type loader struct {
	clock   *storetest.Clock
	name    string
	rng     *rand.Rand
	leads   bool
	st      *store.Store
	made    bool
	session string
	held    []job.Ref
	jobs    []int64
	keys    map[string]int64
	n       int
	acks    bytes.Buffer
}

// ack is written with others of its step at once: they have no order.
func (l *loader) ack(what string, is any) { fmt.Fprintf(&l.acks, "%s %v\n", what, is) }

func (l *loader) flush() error {
	defer l.acks.Reset()
	_, err := os.Stdout.Write(l.acks.Bytes())
	return err
}

func (l *loader) live(st *store.Store) error {
	ctx := context.Background()
	l.st, l.held = st, nil
	if !l.made {
		if err := l.define(ctx); err != nil {
			return err
		}
	}
	for _, id := range l.jobs { // those that ran were lost with the life before
		if err := l.saw(ctx, id); err != nil {
			return err
		}
	}
	if err := l.flush(); err != nil {
		return err
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: l.name, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{l.name}, Queues: map[string]int{l.name: 10}, TTL: core.Duration(10 * time.Minute)})
	if err != nil {
		return err
	}
	l.session = s.ID
	for range loadSteps {
		if err := errors.Join(l.step(ctx), l.flush()); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) define(ctx context.Context) error {
	l.made, l.keys = true, map[string]int64{}
	if _, err := l.st.SaveQueue(ctx, job.Queue{Name: l.name}); err != nil {
		return err
	}
	l.ack("queue:"+l.name, 1)
	if _, err := l.st.CreateTask(ctx, task.Task{Name: l.name, Queue: l.name, Retry: task.Retry{MaxAttempts: 3, Delay: core.Duration(time.Second), Jitter: -1}}); err != nil {
		return err
	}
	l.ack("task:"+l.name, 1)
	if !l.leads {
		return nil
	}
	for i := range 3 {
		name := fmt.Sprint("s", i)
		if _, err := l.st.CreateSchedule(ctx, schedule.Schedule{Name: name, Task: l.name, Rules: []schedule.Rule{{Every: core.Duration(time.Duration(i+1) * 5 * time.Second)}}}); err != nil {
			return err
		}
		l.ack("occurrences:"+name, 0)
	}
	return nil
}

func (l *loader) step(ctx context.Context) error {
	l.n++
	if l.leads && l.n%3 == 0 {
		return l.lead(ctx)
	}
	switch l.rng.IntN(8) {
	case 0, 1:
		return l.enqueue(ctx)
	case 2, 3:
		return l.claim(ctx)
	case 4:
		return l.cancel(ctx)
	case 5:
		return l.again(ctx)
	default:
		return l.finish(ctx)
	}
}

func (l *loader) lead(ctx context.Context) error {
	l.clock.Move(time.Duration(1+l.rng.IntN(5)) * time.Second)
	if _, err := l.st.Promote(ctx); err != nil {
		return err
	}
	if _, err := l.st.FireDue(ctx); err != nil {
		return err
	}
	for i := range 3 {
		name := fmt.Sprint("s", i)
		n, err := l.text(ctx, occurrencesSQL, name)
		if err != nil {
			return err
		}
		l.ack("occurrences:"+name, n)
	}
	if err := l.flush(); err != nil {
		return err
	}
	if l.n%9 == 0 { // what four thousand pages of log would bring about
		mode := []string{"passive", "restart", "truncate"}[l.rng.IntN(3)]
		_, err := l.st.DB().(*sqlite.DB).SQL().ExecContext(ctx, "pragma wal_checkpoint("+mode+")")
		return err
	}
	return nil
}

func (l *loader) enqueue(ctx context.Context) error {
	ns := make([]job.NewJob, 1+l.rng.IntN(4))
	for i := range ns {
		ns[i] = job.NewJob{Task: l.name, Input: []byte(fmt.Sprintf("%q", strings.Repeat("x", l.rng.IntN(3000))))}
		switch l.rng.IntN(3) {
		case 0:
			ns[i].Key = fmt.Sprint(l.name, "-", l.n, "-", i)
		case 1:
			ns[i].ActiveKey = fmt.Sprint(l.name, "-active-", l.rng.IntN(4))
		}
	}
	out, err := l.st.Enqueue(ctx, ns)
	if err != nil {
		return err
	}
	for i, e := range out {
		if k := ns[i].Key; k != "" {
			l.keys[k] = e.Job.ID
			l.ack("key:"+k, e.Job.ID)
		}
		if err := l.saw(ctx, e.Job.ID); err != nil {
			return err
		}
		l.jobs = append(l.jobs, e.Job.ID)
	}
	return nil
}

func (l *loader) claim(ctx context.Context) error {
	c, err := l.st.Claim(ctx, job.ClaimRequest{Session: l.session, Want: map[string]int{l.name: 1 + l.rng.IntN(3)}})
	if err != nil {
		return err
	}
	for _, j := range c.Jobs {
		l.held = append(l.held, job.Ref{JobID: j.Job.ID, Lease: c.Lease})
		if err := l.saw(ctx, j.Job.ID); err != nil {
			return err
		}
		if j.Job.ScheduleID > 0 {
			l.jobs = append(l.jobs, j.Job.ID)
		}
	}
	return nil
}

func (l *loader) finish(ctx context.Context) error {
	if len(l.held) == 0 {
		return l.claim(ctx)
	}
	fs := make([]job.Finish, 1+l.rng.IntN(len(l.held)))
	for i, ref := range l.held[:len(fs)] {
		fs[i] = job.Finish{Ref: ref, Outcome: []job.Outcome{job.OutcomeOK, job.OutcomeOK, job.OutcomeError, job.OutcomeSnoozed, job.OutcomeHandedBack}[l.rng.IntN(5)]}
		switch fs[i].Outcome {
		case job.OutcomeSnoozed:
			fs[i].Snooze = core.Duration(time.Second)
		case job.OutcomeOK:
			fs[i].Output = []byte(`{"done": true}`)
		}
	}
	l.held = l.held[len(fs):]
	if _, err := l.st.Finish(ctx, l.session, fs); err != nil {
		return err
	}
	for _, f := range fs {
		if err := l.saw(ctx, f.JobID); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) cancel(ctx context.Context) error {
	if len(l.jobs) == 0 {
		return nil
	}
	id := l.jobs[l.rng.IntN(len(l.jobs))]
	if _, err := l.st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{id}}); err != nil {
		return err
	}
	return l.saw(ctx, id)
}

// again makes definitions, for the tables that are written rarely.
func (l *loader) again(ctx context.Context) error {
	name := fmt.Sprint(l.name, "-", l.n)
	if _, err := l.st.CreateTask(ctx, task.Task{Name: name, Queue: l.name, Description: strings.Repeat("y", l.rng.IntN(4000))}); err != nil {
		return err
	}
	l.ack("task:"+name, 1)
	return nil
}

func (l *loader) saw(ctx context.Context, id int64) error {
	is, err := l.text(ctx, jobSQL, id)
	if err == nil {
		l.ack(fmt.Sprint("job:", id), is)
	}
	return err
}

func (l *loader) text(ctx context.Context, query string, arg any) (string, error) {
	return textOf(ctx, l.st.DB(), query, arg)
}

func textOf(ctx context.Context, db base.DB, query string, args ...any) (is string, err error) {
	err = db.Read(ctx, func(tx base.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&is); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return is, err
}

// What an acknowledgement names, as it can be read again. A job that waits for a
// time, or for a worker, is the same here: the time passes by itself.
const (
	jobSQL = `select replace(replace(state, 'scheduled', 'waits'), 'ready', 'waits') || '/' || attempt || '/' || failures || '/' || snoozes from (
		select id, case when job_id is null then state else 'running' end as state, attempt, failures, snoozes from belfry.live union all select id, state, attempt, failures, snoozes from belfry.jobs_done) where id = $1`
	occurrencesSQL = `select count(*) || '' from belfry.occurrences where schedule_id = (select id from belfry.schedules where name = $1)`
	taskSQL        = `select count(*) || '' from belfry.tasks where name = $1`
	queueSQL       = `select count(*) || '' from belfry.queues where name = $1`
	keySQL         = `select job_id || '' from belfry.job_keys where name = $1`
)
