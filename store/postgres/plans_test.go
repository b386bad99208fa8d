package postgres_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

var wholeTable = regexp.MustCompile(`Seq Scan on (jobs|jobs_done\w*|schedules|schedule_days|occurrences\w*|attempts\w*|logs\w*|job_keys)\b`)

// eachWithEach compares every row of a batch with every row of a table that it is joined with.
var eachWithEach = regexp.MustCompile(`Join Filter: .*\bt\.`)

var sortOfDue = regexp.MustCompile(`Sort Key: .*next_at`)

// TestPlans pins the plans of the statements that run all the time, beside
// 100,000 jobs for later, 100,000 that are ready and 100,000 idle schedules.
func TestPlans(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st := openAt(t, dsn, postgres.Options{})
	rec := &storetest.Recorder{DB: st.DB()}
	st = store.New(rec, store.Options{})
	packing := store.New(rec, store.Options{PackFrom: 1})
	ctx := t.Context()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tk, err := st.CreateTask(ctx, task.Task{Name: "t", Tags: []string{"red"}})
	try(err)
	for _, of := range []task.Task{
		{Name: "step", Kind: task.KindFunc, Priority: 99},
		{Name: "steps", Workflow: &task.Workflow{Steps: []task.Step{{Name: "each", Task: "step", ForEach: "1..2"}}}},
	} {
		_, err := st.CreateTask(ctx, of)
		try(err)
	}
	sc, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "due", Task: "t", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Overlap: schedule.OverlapBufferOne})
	try(err)
	pool := rec.DB.(*postgres.DB).Pool()
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`insert into belfry.schedules select nextval('belfry.ids_definition'), namespace, 'idle' || n, task_id, doc, state, generation, next_at + 1000000000000 + n, high_water, 0, 0, 0, '', '', 0, 0
			from belfry.schedules, generate_series(1, 100000) as n where name = 'due'`, nil},
		{`update belfry.schedules set next_at = 1 where id = $1`, []any{sc.ID}},
		{`insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, trigger, schedule_id, due_at, created_at, max_attempts, timeout)
			select nextval('belfry.ids_job'), 'default', $1, 't', 'func', 'default', n % 3, case when n % 2 = 0 then 'ready' else 'scheduled' end, 'schedule', 1000000 + n, 4000000000000000 * (n % 2) + n, n, 3, 1000000
			from generate_series(1, 200000) as n`, []any{tk.ID}},
		// Spread over the table, where the planner would rather read all of one priority and sort it.
		{`insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, trigger, due_at, turn, created_at, max_attempts, timeout)
			select nextval('belfry.ids_job'), 'default', $1, 't', 'func', 'spread', n * 7919 % 6, 'ready', 'enqueue', n, n * 7919 % 100003, n, 3, 1000000
			from generate_series(1, 10000) as n`, []any{tk.ID}},
		{`insert into belfry.jobs_done select id, namespace, task_id, task, kind, queue, priority, 'succeeded', '', '', '', input, tags, trigger, schedule, schedule_id, generation, nominal, due_at, created_at, 0, 0,
			1, 0, 0, 3, 1000000, 1, '', null, '', (extract(epoch from now()) * 1000000)::bigint, null from belfry.jobs where state = 'ready'`, nil},
		{`update belfry.jobs_done set id = id + 10000000`, nil},
		{`insert into belfry.workflow_runs (job_id, task_id, namespace, ended_at, asked_at, plan, doc)
			select -n, 1, 'other' || n % 2, case when n % 10 > 0 then n else 0 end, case when n % 10 = 0 then n else 0 end, '{}', '{}' from generate_series(1, 20000) as n`, nil},
		{`insert into belfry.schedule_days select 20000 + n % 1000, n, 1, 0, 0, 0, 0 from generate_series(1, 100000) as n`, nil},
		{`insert into belfry.leases (job_id, number, session, claimed_at, deadline_at) select id, id, 'other' || id % 100, 1, 1 from belfry.jobs where state = 'ready' and id % 40 = 0`, nil},
	} {
		_, err := pool.Exec(ctx, s.sql, s.args...)
		try(err)
	}
	_, err = pool.Exec(ctx, "vacuum analyze")
	try(err)
	_, err = st.SaveQueue(ctx, job.Queue{Name: "spread"})
	try(err)
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t", "step"}, Queues: map[string]int{"default": 1}})
	try(err)
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
		name string
		uses []string // indexes, and | between those that are as good
		do   func() error
	}{
		{"fire", []string{"schedules_due", "jobs_schedule", "occurrences"}, func() error { _, err := st.FireDue(ctx); return err }},
		{"enqueue", []string{"job_keys_pkey"}, func() error {
			_, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k", ActiveKey: "a"}, {Task: "t", Delay: 1e6}})
			return err
		}},
		{"claim, and behind the mark", []string{"jobs_ready", "hashed SubPlan"}, func() error {
			for _, queue := range []string{"spread", "spread", "default", "default"} {
				c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{queue: 10}})
				if err != nil {
					return err
				}
				held = append(held, c.Jobs...)
			}
			return nil
		}},
		{"promote", []string{"jobs_scheduled"}, func() error { _, err := st.Promote(ctx); return err }},
		{"age", []string{"jobs_ready", "jobs_limited"}, func() error {
			_, err := st.SaveQueue(ctx, job.Queue{Name: "default", Ageing: job.MinAgeing})
			if err != nil {
				return err
			}
			defer st.SaveQueue(ctx, job.Queue{Name: "default"}) //nolint:errcheck // others count what they ask for
			if _, err = st.Enqueue(ctx, []job.NewJob{{Task: "t", Priority: new(-9)}, {Task: "t", Priority: new(9)}}); err != nil {
				return err
			}
			_, err = st.AgeJobs(ctx)
			return err
		}},
		{"queues", []string{"jobs_scheduled_in"}, func() error {
			if _, err := st.SaveQueue(ctx, job.Queue{Name: "quiet"}); err != nil {
				return err
			}
			_, err := st.Queue(ctx, "quiet")
			return err
		}},
		{"renew", []string{"leases_session"}, func() error { _, err := st.Renew(ctx, s.ID, job.Held()); return err }},
		{"append", nil, func() error {
			return st.Append(ctx, s.ID, []job.LogPiece{{Ref: job.Ref{JobID: held[0].Job.ID, Lease: held[0].Job.Lease}, Stream: job.Log, At: held[0].Job.ClaimedAt, Text: "x"}})
		}},
		{"finish", []string{"jobs_pkey"}, func() error {
			var fs []job.Finish
			for i, j := range held {
				fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: []job.Outcome{job.OutcomeOK, job.OutcomeError}[i%2]})
			}
			_, err := st.Finish(ctx, s.ID, fs)
			return err
		}},
		{"claim a pack", []string{"jobs_ready"}, func() error {
			if _, err := st.Enqueue(ctx, slices.Repeat([]job.NewJob{{Task: "t", Priority: new(100)}}, 50)); err != nil {
				return err
			}
			c, err := packing.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 50}})
			held = c.Jobs
			return err
		}},
		{"list beside a pack", []string{"leases_pkey"}, func() error {
			_, err := st.Jobs(ctx, job.Filter{States: job.States[:4]})
			return err
		}},
		{"finish a pack", []string{"jobs_pkey", "Full Join", "Hash Cond: (gone.id = t.job_id)"}, func() error {
			var fs []job.Finish
			for _, j := range held {
				fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK})
			}
			_, err := packing.Finish(ctx, s.ID, fs)
			return err
		}},
		{"end steps", []string{"workflow_items_job"}, func() error {
			if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "steps", Priority: new(100)}}); err != nil {
				return err
			}
			if _, err := st.StartWorkflows(ctx); err != nil {
				return err
			}
			c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 2}})
			if err != nil {
				return err
			}
			var fs []job.Finish
			for _, j := range c.Jobs {
				fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK})
			}
			_, err = st.Finish(ctx, s.ID, fs)
			return err
		}},
		{"release", nil, func() error { _, err := st.ReleaseLost(ctx); return err }},
		{"show", []string{"jobs_done"}, func() error { _, err := st.Attempts(ctx, "default", held[0].Job.ID); return err }},
		{"list", []string{"jobs_pkey"}, func() error { _, err := st.Jobs(ctx, job.Filter{}); return err }},
		{"dead jobs", []string{"id_namespace_trigger_idx"}, func() error {
			_, err := st.Jobs(ctx, job.Filter{States: []job.State{job.Failed}})
			return err
		}},
		{"search by task", []string{"task_id_idx"}, func() error {
			_, err := st.Jobs(ctx, job.Filter{Task: "t", States: job.States[4:]})
			return err
		}},
		{"count the dead", []string{"Index Only Scan", "id_namespace_trigger_idx"}, func() error {
			_, err := st.CountJobs(ctx, job.Filter{States: []job.State{job.Failed}}, view.CountOptions{})
			return err
		}},
		{"strips", []string{"schedule_id"}, func() error {
			_, err := st.Strips(ctx, view.StripQuery{Schedules: []string{"due"}})
			return err
		}},
		{"days", []string{"schedule_days_pkey"}, func() error {
			_, err := st.ScheduleDays(ctx, view.DaysQuery{Schedule: "due"})
			return err
		}},
		{"minutes", []string{"job_minutes"}, func() error {
			_, err := st.JobMinutes(ctx, job.MinuteQuery{})
			return err
		}},
		{"forecast", []string{"schedules_due"}, func() error {
			_, err := st.Forecast(ctx, schedule.Ahead{})
			return err
		}},
		{"upcoming", []string{"schedules_due"}, func() error {
			_, err := st.Upcoming(ctx, schedule.Ahead{})
			return err
		}},
		{"overview", []string{"schedules_due", "job_minutes", "workflow_runs_asked"}, func() error { _, err := st.Overview(ctx, ""); return err }},
		{"overview of all namespaces", []string{"workflow_runs_asked"}, func() error { _, err := st.Overview(ctx, core.AnyNamespace); return err }},
		{"list events of a pulled hook", []string{"hook_events_pending", "hook_events_seq"}, func() error {
			h, err := st.SaveHook(ctx, hook.Hook{Name: "pulled", Pull: true})
			if err != nil {
				return err
			}
			defer st.DeleteHook(ctx, "default", h.Name) //nolint:errcheck // others would record events for it
			for _, sql := range []string{
				`insert into belfry.hook_events (hook_id, type, at, seq, event) select ` + strconv.FormatInt(h.ID, 10) + `, 'job.failed', n, case when n <= 20000 then n else 0 end, '{}' from generate_series(1, 20100) as n`,
				`update belfry.hooks set last_seq = 20000, acked = 19900`,
				`analyze belfry.hook_events`,
			} {
				if _, err := pool.Exec(ctx, sql); err != nil {
					return err
				}
			}
			_, pending := st.HookEvents(ctx, hook.Filter{Hook: "pulled", State: hook.Pending, Paging: core.Paging{Limit: 150}})
			_, sent := st.HookEvents(ctx, hook.Filter{Hook: "pulled", State: hook.Sent})
			return errors.Join(pending, sent)
		}},
		{"list schedules", []string{"schedules_namespace_name_key"}, list(schedule.Filter{})},
		{"list all schedules", []string{"schedules_namespace_name_key"}, list(schedule.Filter{Namespace: core.AnyNamespace})},
		{"list paused schedules", []string{"schedules_resting"}, list(schedule.Filter{State: schedule.Paused})},
		{"list all completed schedules", []string{"schedules_resting"}, list(schedule.Filter{State: schedule.Completed, Namespace: core.AnyNamespace})},
		{"list active schedules", []string{"schedules_namespace_name_key"}, list(schedule.Filter{State: schedule.Active})},
		{"list schedules of a task", []string{"schedules_of_task"}, list(schedule.Filter{Task: "t"})},
		{"list schedules of a tag", []string{"schedules_of_task"}, list(schedule.Filter{Tag: "red"})},
		{"list schedules by a part of the name", []string{"schedules_namespace_name_key"}, list(schedule.Filter{Part: "e"})},
	} {
		rec.Take()
		try(hot.do())
		plans := ""
		for _, s := range rec.Take() {
			plan := explain(t, st, s)
			plans += plan
			if strings.HasPrefix(hot.name, "claim") && strings.Contains(plan, "Sort Key: jobs") {
				t.Errorf("%s: reads all that is ready before it takes the first: %s\n%s", hot.name, s.Line(), plan)
			}
			if eachWithEach.MatchString(plan) {
				t.Errorf("%s: compares each with each: %s\n%s", hot.name, s.Line(), plan)
			}
			if hot.name == "fire" && sortOfDue.MatchString(plan) {
				t.Errorf("%s: sorts all that is due before it takes the first: %s\n%s", hot.name, s.Line(), plan)
			}
			if strings.HasPrefix(hot.name, "list ") && strings.Contains(plan, "Sort Key: s.n") {
				t.Errorf("%s: sorts what is there: %s\n%s", hot.name, s.Line(), plan)
			}
			if strings.HasPrefix(hot.name, "list events") && strings.Contains(plan, "hook_events_hook") {
				t.Errorf("%s: walks the events of other states: %s\n%s", hot.name, s.Line(), plan)
			}
			if bad := wholeTable.FindString(plan); bad != "" && !strings.HasPrefix(bad, "Seq Scan on job_keys") && !empty(t, st, bad) {
				t.Errorf("%s: %s: %s\n%s", hot.name, bad, s.Line(), plan)
			}
		}
		for _, index := range hot.uses {
			if !slices.ContainsFunc(strings.Split(index, "|"), func(one string) bool { return strings.Contains(plans, one) }) {
				t.Errorf("%s does not use %s:\n%s", hot.name, index, plans)
			}
		}
		if testing.Verbose() {
			t.Logf("%s\n%s", hot.name, plans)
		}
	}
}

// empty reports that the table of a step has so few rows that reading all of
// them is the best plan there is.
func empty(t *testing.T, st *store.Store, step string) bool {
	t.Helper()
	table := strings.TrimPrefix(step, "Seq Scan on ")
	var n int64
	if err := st.DB().(*storetest.Recorder).DB.(*postgres.DB).Pool().QueryRow(t.Context(), "select count(*) from belfry."+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n < 100
}

// explain shows the plan as the statement runs: in a transition by the plan for
// all values, in a read by one for these.
func explain(t *testing.T, st *store.Store, s storetest.Statement) (plan string) {
	t.Helper()
	db := st.DB().(*storetest.Recorder).DB
	simply := append([]any{pgx.QueryExecModeSimpleProtocol}, s.Args...)
	ctx := t.Context()
	var err error
	if !s.Writes {
		err = db.Read(ctx, func(tx base.Tx) error {
			plan, err = lines(tx.Query(ctx, "explain "+s.SQL, simply...))
			return err
		})
	} else {
		looked := errors.New("looked")
		err = db.Write(ctx, func(tx base.Tx, _ base.Moment) error {
			if _, err := tx.Exec(ctx, "prepare looked as "+s.SQL); err != nil {
				return err
			}
			given := ""
			for i := range s.Args {
				given += fmt.Sprintf(", $%d", i+1)
			}
			if given != "" {
				given = "(" + given[2:] + ")"
			}
			if plan, err = lines(tx.Query(ctx, "explain execute looked"+given, simply...)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "deallocate looked")
			return errors.Join(err, looked)
		})
		if errors.Is(err, looked) {
			err = nil
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, s.SQL)
	}
	return plan
}

func lines(rows base.Rows, err error) (all string, _ error) {
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		all += "\t" + line + "\n"
	}
	return all, rows.Err()
}

// TestNoPlanIsCompiled: what compiling takes is a hundred times what it saves.
// It is turned off for the transaction alone, because behind a pooler nothing
// else is ours.
func TestNoPlanIsCompiled(t *testing.T) {
	t.Parallel()
	db := open(t, store.Options{}).DB()
	ctx := t.Context()
	setting := func(tx base.Tx) error {
		rows, err := tx.Query(ctx, `select current_setting('jit')`)
		if err != nil {
			return err
		}
		defer rows.Close()
		var jit string
		for rows.Next() {
			if err := rows.Scan(&jit); err != nil {
				return err
			}
		}
		if jit != "off" {
			t.Errorf("jit is %q", jit)
		}
		return rows.Err()
	}
	if err := db.Read(ctx, setting); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(ctx, func(tx base.Tx, _ base.Moment) error { return setting(tx) }); err != nil {
		t.Fatal(err)
	}
}
