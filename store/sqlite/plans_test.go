package sqlite_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// wholeTable is a step that reads every row there is. Reading a partial index
// from its begin, and what was unpacked from a parameter, is none.
var wholeTable = regexp.MustCompile(`SCAN (?:belfry_)?(jobs|jobs_done|schedules|occurrences|sessions|tasks|attempts|logs|job_keys|audit|s|j|k|l|d)( |$)`)

// TestPlans pins the plans of the statements that run all the time: their cost
// follows what is due and not what exists.
func TestPlans(t *testing.T) {
	clock := storetest.NewClock()
	st := open(t, store.Options{Clock: clock.Now})
	rec := &storetest.Recorder{DB: st.DB()}
	st = store.New(rec, store.Options{Clock: clock.Now})
	ctx := t.Context()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := st.CreateTask(ctx, task.Task{Name: "t", Tags: []string{"red"}})
	try(err)
	for _, o := range []schedule.Overlap{schedule.OverlapBufferOne, schedule.OverlapCancelOther} {
		_, err = st.CreateSchedule(ctx, schedule.Schedule{Name: string(o), Task: "t", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Overlap: o})
		try(err)
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	try(err)
	m := monitor.Monitor{Name: "m", Every: core.Duration(time.Minute), Check: task.Task{Kind: task.KindTCP, TCP: &task.TCP{Address: "db.example:5432"}}}
	_, err = st.Apply(ctx, view.Manifest{Monitors: []monitor.Monitor{m}}, view.ApplyOptions{})
	try(err)
	inOrder := []string{"TEMP B-TREE"}
	try(st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(ctx, `update belfry.rolled set hour = $1 / 3600, day = $1 / 86400`, clock.Now().Unix())
		return err
	}))
	some, err := st.Schedules(ctx, schedule.Filter{Paging: core.Paging{Limit: 1}})
	try(err)
	// list reads the first page, and one behind something.
	list := func(f schedule.Filter) func() error {
		return func() error {
			_, err := st.Schedules(ctx, f)
			f.Cursor = some.Next
			_, behind := st.Schedules(ctx, f)
			return errors.Join(err, behind)
		}
	}
	var held []job.LeasedJob
	for _, hot := range []struct {
		name   string
		uses   []string // indexes that must appear
		unless []string // steps that must not
		do     func() error
	}{
		{"fire", []string{"schedules_due (next_at>? AND next_at<?)", "jobs_schedule (schedule_id=?)", "occurrences_buffered"}, []string{"schedules_due (next_at>? AND next_at<?)\n\tUSE TEMP B-TREE"}, func() error {
			clock.Move(time.Minute)
			_, err := st.FireDue(ctx)
			return err
		}},
		{"enqueue", []string{"k USING PRIMARY KEY (namespace=? AND name=?)"}, nil, func() error {
			_, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k", ActiveKey: "a"}, {Task: "t", Delay: 1e6}})
			return err
		}},
		{"claim", []string{"jobs_ready (queue=?)"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 3}})
			held = c.Jobs
			return err
		}},
		{"claim under a global limit", []string{"jobs_ready (queue=? AND priority=? AND turn>?)", "jobs_ready (queue=? AND priority>?)", "jobs_ready (queue=? AND priority<?)", "leases_slot"}, nil, func() error {
			if _, err := st.SaveQueue(ctx, job.Queue{Name: "default", GlobalLimit: 100}); err != nil {
				return err
			}
			_, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 3}})
			return err
		}},
		{"look at a queue", []string{"jobs_ready (queue=?)"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			_, err := st.Queue(ctx, "default")
			return err
		}},
		{"watch", []string{"jobs_done_finished (finished_at>?)"}, nil, func() error {
			_, cursor, err := st.Events(ctx, "default", "", 0)
			if err != nil {
				return err
			}
			_, _, err = st.Events(ctx, "default", cursor, 0)
			return err
		}},
		{"deliver and pull events", []string{"hook_events_pending (hook_id=? AND seq=? AND sent_at=?)", "hook_events_seq (hook_id=? AND seq>?)", "hook_events_seq (hook_id=? AND seq>? AND seq<?)"}, []string{"hook_events_hook"}, func() error {
			for _, h := range []hook.Hook{{Name: "posted", URL: "https://hooks.example.com/x", Secret: "0123456789abcdef"}, {Name: "pulled", Pull: true}} {
				if _, err := st.SaveHook(ctx, h); err != nil {
					return err
				}
				defer st.DeleteHook(ctx, "default", h.Name) //nolint:errcheck // others would record events for it
			}
			out, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
			if err != nil {
				return err
			}
			_, canceled := st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{out[0].Job.ID}})
			taken, err := st.TakeEvents(ctx, 32)
			if err == nil && len(taken.Messages) == 0 {
				err = errors.New("no event is taken")
			}
			pulled, pullErr := st.PullEvents(ctx, "default", "pulled", "", 0)
			if pullErr == nil && len(pulled.Events) == 0 {
				pullErr = errors.New("no event is pulled")
			}
			for _, state := range []hook.State{hook.Pending, hook.Sent} {
				_, listErr := st.HookEvents(ctx, hook.Filter{Hook: "pulled", State: state})
				pullErr = errors.Join(pullErr, listErr)
			}
			_, statusErr := st.HookStatus(ctx, "default", "posted")
			return errors.Join(canceled, err, pullErr, statusErr)
		}},
		{"promote", []string{"jobs_scheduled (due_at>? AND due_at<?)"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			clock.Move(time.Second)
			_, err := st.Promote(ctx)
			return err
		}},
		{"age", []string{"jobs_ready (queue=? AND priority<?)", "jobs_limited (queue=? AND id>?)"}, []string{"SCAN jobs"}, func() error {
			_, err := st.SaveQueue(ctx, job.Queue{Name: "default", Ageing: job.MinAgeing})
			if err != nil {
				return err
			}
			defer st.SaveQueue(ctx, job.Queue{Name: "default"}) //nolint:errcheck // others count what they ask for
			if _, err = st.Enqueue(ctx, []job.NewJob{{Task: "t", Priority: new(-9)}, {Task: "t", Priority: new(9)}}); err != nil {
				return err
			}
			clock.Move(time.Minute)
			_, err = st.AgeJobs(ctx)
			return err
		}},
		{"renew", []string{"leases_session (session=? AND number>?)"}, nil, func() error {
			_, err := st.Renew(ctx, s.ID, job.Held())
			return err
		}},
		{"append", []string{"logs_job", "l USING PRIMARY KEY (job_id=?) LEFT-JOIN", "jobs USING INTEGER PRIMARY KEY"}, nil, func() error {
			return st.Append(ctx, s.ID, []job.LogPiece{{Ref: job.Ref{JobID: held[0].Job.ID, Lease: held[0].Job.Lease}, Stream: job.Log, At: clock.Now(), Text: "x"}})
		}},
		{"finish", nil, nil, func() error {
			var fs []job.Finish
			for i, j := range held {
				outcome := []job.Outcome{job.OutcomeOK, job.OutcomeError}[i%2]
				fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: outcome})
			}
			_, err := st.Finish(ctx, s.ID, fs)
			return err
		}},
		{"release", []string{"sessions_living (expires_at<?)", "sessions_unsettled"}, nil, func() error {
			_, err := st.ReleaseLost(ctx)
			return err
		}},
		{"show", []string{"attempts_job (job_id=?)"}, nil, func() error {
			if _, err := st.Job(ctx, "default", held[0].Job.ID); err != nil {
				return err
			}
			_, err := st.Attempts(ctx, "default", held[0].Job.ID)
			return err
		}},
		{"logs", []string{"logs_job (job_id=?"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			_, err := st.Logs(ctx, "default", held[0].Job.ID, job.LogFilter{})
			return err
		}},
		{"dead jobs", []string{"jobs_done_failed"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			_, err := st.Jobs(ctx, job.Filter{States: []job.State{job.Failed}})
			return err
		}},
		{"search by task", []string{"jobs_done_task (task=?"}, []string{"TEMP B-TREE FOR ORDER BY"}, func() error {
			_, err := st.Jobs(ctx, job.Filter{Task: "t", States: job.States[4:]})
			return err
		}},
		{"count the dead", []string{"COVERING INDEX belfry_jobs_done_failed"}, nil, func() error {
			_, err := st.CountJobs(ctx, job.Filter{States: []job.State{job.Failed}}, view.CountOptions{})
			return err
		}},
		{"strips", []string{"jobs_done_schedule (schedule_id=?)", "occurrences_identity (schedule_id=?)"}, nil, func() error {
			_, err := st.Strips(ctx, view.StripQuery{Schedules: []string{string(schedule.OverlapBufferOne)}})
			return err
		}},
		{"days", []string{"schedule_days USING PRIMARY KEY (day=? AND schedule_id=?)"}, nil, func() error {
			_, err := st.ScheduleDays(ctx, view.DaysQuery{Schedule: string(schedule.OverlapBufferOne)})
			return err
		}},
		{"minutes", []string{"job_minutes USING PRIMARY KEY (minute>?)"}, nil, func() error {
			_, err := st.JobMinutes(ctx, job.MinuteQuery{})
			return err
		}},
		{"sample queues", []string{"jobs_lanes (lane>?)", "jobs_lanes (lane=? AND priority<?)", "jobs_lanes (lane=? AND priority=?)"}, []string{"SCAN belfry.jobs"}, func() error {
			_, err := st.SampleQueues(ctx)
			return err
		}},
		{"samples of a queue", []string{"queue_samples USING PRIMARY KEY (queue=? AND namespace=? AND span=? AND at>? AND at<?)"}, inOrder, func() error {
			_, err := st.QueueSamples(ctx, job.SampleQuery{Queues: []string{"default"}})
			return err
		}},
		{"samples of all queues", []string{"queue_samples_at (span=? AND at>? AND at<?)"}, nil, func() error {
			_, err := st.QueueSamples(ctx, job.SampleQuery{})
			return err
		}},
		{"forecast", []string{"schedules_due (next_at>? AND next_at<?)"}, nil, func() error {
			_, err := st.Forecast(ctx, schedule.Ahead{})
			return err
		}},
		{"upcoming", []string{"schedules_due (next_at>? AND next_at<?)"}, nil, func() error {
			_, err := st.Upcoming(ctx, schedule.Ahead{})
			return err
		}},
		{"queues", []string{"jobs_scheduled_in (queue=?)", "jobs_ready (queue=?)"}, nil, func() error { _, err := st.Queues(ctx); return err }},
		{"overview", []string{"schedules_due (next_at>?)", "jobs_done_failed", "job_minutes USING PRIMARY KEY (minute>?)", "jobs_ready (queue=?)", "workflow_runs_asked_in (namespace=? AND asked_at>?)"}, []string{"schedules_1 (namespace=?)"}, func() error {
			_, err := st.Overview(ctx, "")
			return err
		}},
		{"list schedules", []string{"sqlite_autoindex_belfry_schedules_1 (namespace=? AND name>?)"}, inOrder, list(schedule.Filter{})},
		{"list all schedules", []string{"USING INDEX sqlite_autoindex_belfry_schedules_1", "sqlite_autoindex_belfry_schedules_1 ((namespace,name)>(?,?))"}, inOrder, list(schedule.Filter{Namespace: core.AnyNamespace})},
		{"list paused schedules", []string{"schedules_resting (state=? AND namespace=? AND name>?)"}, inOrder, list(schedule.Filter{State: schedule.Paused})},
		{"list all completed schedules", []string{"schedules_resting (state=? AND (namespace,name)>(?,?))"}, inOrder, list(schedule.Filter{State: schedule.Completed, Namespace: core.AnyNamespace})},
		{"list active schedules", []string{"sqlite_autoindex_belfry_schedules_1 (namespace=? AND name>?)"}, inOrder, list(schedule.Filter{State: schedule.Active})},
		{"list schedules of a task", []string{"schedules_of_task (task_id=? AND name>?)"}, inOrder, list(schedule.Filter{Task: "t"})},
		{"list schedules of a tag", []string{"schedules_of_task (task_id=? AND name>?)"}, inOrder, list(schedule.Filter{Tag: "red"})},
		{"list paused schedules of a task", []string{"schedules_resting (state=? AND namespace=? AND name>?)"}, inOrder, list(schedule.Filter{Task: "t", State: schedule.Paused})},
		{"list schedules by a part of the name", []string{"sqlite_autoindex_belfry_schedules_1 (namespace=? AND name>?"}, inOrder, list(schedule.Filter{Part: "e", State: schedule.Active})},
		{"list occurrences", []string{"occurrences_identity (schedule_id=?)"}, inOrder, func() error {
			_, err := st.Occurrences(ctx, schedule.OccurrenceFilter{Schedule: string(schedule.OverlapBufferOne)})
			return err
		}},
		{"bars", []string{"rollups USING PRIMARY KEY (monitor_id=? AND span=? AND at>? AND at<?)", "results USING PRIMARY KEY (hour=? AND monitor_id=? AND at>? AND at<?)"}, inOrder, func() error {
			_, err := st.Bars(ctx, monitor.BarsQuery{Monitors: []string{"m"}})
			return err
		}},
	} {
		rec.Take()
		try(hot.do())
		plans := ""
		for _, s := range rec.Take() {
			plan := explain(t, st, s)
			plans += plan
			if found := plannedAnew.FindString(s.SQL); found != "" {
				t.Errorf("%s is planned for each value of %q: %s", hot.name, found, s.Line())
			}
			for _, step := range hot.unless {
				if strings.Contains(plan, step) && !strings.Contains(s.SQL, "from belfry.queues") {
					t.Errorf("%s does %s: %s\n%s", hot.name, step, s.Line(), plan)
				}
			}
			for _, line := range strings.Split(plan, "\n") {
				part := strings.HasSuffix(line, "SCAN s") && strings.Contains(plan, "CO-ROUTINE s\n") // what a query inside has found
				if wholeTable.MatchString(line) && !strings.Contains(line, "USING") && !part {
					t.Errorf("%s reads a whole table: %s\n%s", hot.name, s.Line(), plan)
				}
			}
		}
		for _, index := range hot.uses {
			if !strings.Contains(plans, index) {
				t.Errorf("%s does not use %s:\n%s", hot.name, index, plans)
			}
		}
		if testing.Verbose() {
			t.Logf("%s\n%s", hot.name, plans)
		}
	}
}

// plannedAnew are parameters that SQLite looks at when it plans, so that it does
// again for each value: a bare limit, and one that is compared like the condition
// of an index.
var plannedAnew = regexp.MustCompile(`limit \$\d+\s*(\)|$)|(next_at|wake_at) > \$\d`)

func explain(t *testing.T, st *store.Store, s storetest.Statement) (plan string) {
	t.Helper()
	db := st.DB().(*storetest.Recorder).DB.(*sqlite.DB)
	err := db.Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		rows, err := tx.Query(context.Background(), "explain query plan "+s.SQL, s.Args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int64
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan += "\t" + detail + "\n"
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.SQL)
	}
	return plan
}
