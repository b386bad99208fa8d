package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// history makes days of finished jobs, each with an attempt, a piece of log
// and an occurrence, and at the end one job that runs and one that waits.
func history(t *testing.T, st *store.Store, clock *storetest.Clock, days int) {
	t.Helper()
	ctx := t.Context()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := st.CreateTask(ctx, task.Task{Name: "t"})
	try(err)
	_, err = st.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Rules: []schedule.Rule{{Cron: "0 12 * * *"}}})
	try(err)
	_, err = st.Enqueue(ctx, []job.NewJob{{Task: "t", Delay: job.MaxDelay}})
	try(err)
	for day := range days {
		clock.Move(24 * time.Hour)
		_, err = st.FireDue(ctx)
		try(err)
		s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
		try(err)
		c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
		try(err)
		if len(c.Jobs) != 1 {
			t.Fatalf("day %d: %d jobs", day, len(c.Jobs))
		}
		ref := job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}
		try(st.Append(ctx, s.ID, []job.LogPiece{{Ref: ref, Stream: job.Log, At: clock.Now(), Text: fmt.Sprint("day ", day)}}))
		if day == days-1 {
			return // this one runs
		}
		_, err = st.Finish(ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeHandedBack}})
		try(err)
		c, err = st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
		try(err)
		_, err = st.Finish(ctx, s.ID, []job.Finish{{Ref: job.Ref{JobID: ref.JobID, Lease: c.Lease}, Outcome: job.OutcomeOK}})
		try(err)
		try(st.CloseSession(ctx, s.ID))
	}
}

func rollUp(t *testing.T, st *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = st.RollUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func prune(t *testing.T, st *store.Store) {
	t.Helper()
	rollUp(t, st)
	for more := true; more; {
		var err error
		if more, err = st.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func counts(t *testing.T, st *store.Store) string {
	t.Helper()
	return read(t, st, `select (select count(*) from belfry.jobs_done) || ' done, ' || (select count(*) from belfry.attempts) || ' attempts, ' || (select count(*) from belfry.logs) || ' logs, '
		|| (select count(*) from belfry.occurrences) || ' occurrences, ' || (select count(*) from belfry.jobs) || ' live, ' || (select count(*) from belfry.sessions) || ' sessions'`)
}

func TestRetentionByAge(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Age: 10*24*time.Hour + time.Hour}})
	history(t, st, clock, 41)
	prune(t, st)
	if got := counts(t, st); got != "10 done, 10 attempts, 11 logs, 11 occurrences, 2 live, 7 sessions" {
		t.Error(got)
	}
	clock.Move(1000 * 24 * time.Hour)
	prune(t, st)
	if got := counts(t, st); got != "0 done, 0 attempts, 0 logs, 0 occurrences, 2 live, 1 sessions" {
		t.Error("live jobs and the session that holds one are never pruned:", got)
	}
}

// More rows than a pass looks at were written while the clock was ahead.
func TestRetentionPassesRowsDatedInTheFuture(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Age: 10 * 24 * time.Hour}})
	if err := st.DB().Write(t.Context(), func(tx base.Tx, at base.Moment) error {
		_, err := tx.Exec(t.Context(), `with recursive many(i) as (select 1 union all select i + 1 from many where i < 2500)
			insert into belfry.logs (job_id, lease, attempt, seq, stream, at, size, body) select i, 1, 1, 1, 'log', $1, 0, x'00' from many`, at.Now.AddDate(100, 0, 0).UnixMicro())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	history(t, st, clock, 21)
	prune(t, st)
	if n := read(t, st, `select count(*) || '' from belfry.logs where job_id > 0 and size > 0`); n != "11" {
		t.Errorf("%s pieces of log are left of 21, want 11", n)
	}
}

func TestRetentionByCount(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Jobs: 5}})
	history(t, st, clock, 21)
	prune(t, st)
	if got := counts(t, st); got != "5 done, 5 attempts, 6 logs, 6 occurrences, 2 live, 7 sessions" {
		t.Error(got)
	}
	if err := st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), "delete from belfry.jobs_done where seq = (select min(seq) + 1 from belfry.jobs_done)") // as a retry does
		return err
	}); err != nil {
		t.Fatal(err)
	}
	prune(t, st)
	if got := read(t, st, "select count(*) from belfry.jobs_done"); got != "4" {
		t.Errorf("%s jobs after a gap", got)
	}
}

func TestRetentionByCountKeepsTheLogOfAJobThatRuns(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Jobs: 5}})
	history(t, st, clock, 21)
	clock.Move(time.Hour)
	if _, err := st.Enqueue(t.Context(), slices.Repeat([]job.NewJob{{Task: "t"}}, 20)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CancelJobs(t.Context(), "default", view.Selection{Filter: &job.Filter{States: []job.State{job.Ready}}}); err != nil {
		t.Fatal(err)
	}
	prune(t, st)
	if got := counts(t, st); got != "20 done, 0 attempts, 1 logs, 0 occurrences, 2 live, 7 sessions" {
		t.Error(got)
	}
}

// The log of a job that runs stays, and so does its part of the quota.
func TestRetentionByCountCountsTheLogsThatItKeeps(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Jobs: 5}})
	history(t, st, clock, 21)
	if _, err := st.SaveNamespace(t.Context(), access.Namespace{Name: "default", Quota: access.Quota{LogBytes: 1000}}); err != nil {
		t.Fatal(err)
	}
	used := func() string { return read(t, st, `select cast(sum(bytes) as text) from belfry.log_use`) }
	if got := used(); got != "116" { // day 0 to day 20
		t.Errorf("%s bytes of logs are counted before, want 116", got)
	}
	clock.Move(3 * time.Hour)
	if _, err := st.Enqueue(t.Context(), slices.Repeat([]job.NewJob{{Task: "t"}}, 20)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CancelJobs(t.Context(), "default", view.Selection{Filter: &job.Filter{States: []job.State{job.Ready}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		prune(t, st)
		if got := used(); got != "6" {
			t.Errorf("%s bytes of logs are counted, want those of the job that runs", got)
		}
	}
}

func TestRetentionKeepsTheNewestOfOneInstant(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Jobs: 5}})
	ns := make([]job.NewJob, 20)
	for i := range ns {
		ns[i] = job.NewJob{Task: "t", Kind: task.KindFunc}
	}
	if _, err := st.Enqueue(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CancelJobs(t.Context(), "default", view.Selection{Filter: &job.Filter{}}); err != nil {
		t.Fatal(err)
	}
	prune(t, st)
	if got := read(t, st, "select count(*) >= 5 from belfry.jobs_done"); got != "1" {
		t.Error("fewer than the newest five are left")
	}
}

func TestPruningIsDoneInSteps(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Age: time.Hour}})
	ns := make([]job.NewJob, 2500)
	for i := range ns {
		ns[i] = job.NewJob{Task: "t", Kind: task.KindFunc, Key: fmt.Sprint(i)}
	}
	if _, err := st.Enqueue(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CancelJobs(t.Context(), "default", view.Selection{Filter: &job.Filter{}}); err != nil {
		t.Fatal(err)
	}
	clock.Move(48 * time.Hour)
	rollUp(t, st)
	more, err := st.Prune(t.Context())
	if err != nil || !more {
		t.Fatal(more, err)
	}
	if n := read(t, st, "select count(*) from belfry.jobs_done"); n != "500" {
		t.Errorf("%s left after one step", n)
	}
	prune(t, st)
	if n := read(t, st, "select (select count(*) from belfry.jobs_done) + (select count(*) from belfry.job_keys)"); n != "0" {
		t.Errorf("%s left", n)
	}
}

// A piece of log that is out of order stays behind newer ones, and counts in its quota as long as it is there.
func TestLogsThatAreLeftBehindCount(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now, Keep: store.Keep{Age: 20 * time.Minute}})
	ctx := t.Context()
	clock.Move(30 * time.Minute)
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := st.SaveNamespace(ctx, access.Namespace{Name: "default", Quota: access.Quota{LogBytes: 1 << 20}})
	try(err)
	_, err = st.CreateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc})
	try(err)
	_, err = st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
	try(err)
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	try(err)
	c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
	try(err)
	ref := job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Jobs[0].Job.Lease}
	const more = 2500 // than a pass looks at
	for seq := 0; seq <= more; seq += 500 {
		pieces := make([]job.LogPiece, 500)
		for i := range pieces {
			pieces[i] = job.LogPiece{Ref: ref, Seq: seq + i, Stream: job.Log, At: clock.Now(), Text: "x"}
			if seq+i >= more {
				pieces[i].At = clock.Now().Add(-50 * time.Minute)
			}
		}
		try(st.Append(ctx, s.ID, pieces))
	}
	rollUp(t, st) // or nothing is old enough to go
	_, err = st.Prune(ctx)
	try(err)
	kept, counted := read(t, st, `select sum(size) || '' from belfry.logs`), read(t, st, `select coalesce(sum(bytes), 0) || '' from belfry.log_use`)
	if kept != counted {
		t.Errorf("%s bytes are kept, and %s counted", kept, counted)
	}
	clock.Move(3 * time.Hour)
	prune(t, st)
	if got := read(t, st, `select (select count(*) from belfry.logs) || ' pieces, ' || (select count(*) from belfry.log_use) || ' hours'`); got != "0 pieces, 0 hours" {
		t.Error(got)
	}
}
