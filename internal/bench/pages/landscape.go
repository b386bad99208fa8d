//go:build linux

package pages

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Landscape has the sizes of a large installation, for measures of pages and lists.
type Landscape struct {
	Schedules int
	Jobs      int // finished jobs
	Days      int // over which they ended
	Live      int // waiting jobs
	Running   int
	Monitors  int
	Pace      int // schedules with a year of daily totals
}

// Large is the landscape for the promise about the time of pages.
func Large() Landscape {
	return Landscape{Schedules: 1_000_000, Jobs: 10_000_000, Days: 30, Live: 10_000, Running: 200, Monitors: 300, Pace: 2_000}
}

// Bytes returns the most disk space that the build needs, with the temporary writes of the database: 10 GB for the large
// landscape on PostgreSQL, 5 GB of them its log, and 4 GB on SQLite.
func (l Landscape) Bytes() int64 {
	return 1<<30 + 1_000*int64(l.Jobs+l.Schedules+l.Live) + 1_000_000*int64(l.Monitors) + 50_000*int64(l.Pace)
}

// landTasks has the tasks of a landscape and their queues.
var landTasks = []struct{ name, queue string }{
	{"backup", "default"}, {"report", "default"}, {"invoice", "billing"}, {"charge", "billing"},
	{"thumbnail", "media"}, {"transcode", "media"}, {"mail", "default"}, {"sync", "default"},
}

// landRules has the rules of its schedules: many run once a day, some each minute.
var landRules = []string{
	"H H * * *", "0 2 * * *", "30 2 * * *", "0 3 * * *", "15 4 * * MON-FRI", "0 0 * * *", "0 6 * * SUN", "0 9 1 * *", "H 1 * * *", "45 23 * * *",
	"0 * * * *", "H * * * *", "30 * * * *", "*/15 * * * *", "0 */6 * * *", "0 9-17 * * MON-FRI", "*/5 * * * *", "H/10 * * * *", "0 12 * * *", "* * * * *",
}

const landPrefix = "land-"

// Build makes the landscape in an empty database. No engine runs: nothing fires, and schedules that come due during the
// measures stay due.
func (l Landscape) Build(ctx context.Context, s *database.Site, tell func(format string, args ...any)) error {
	free, err := process.FreeBytes(s.Folder)
	if err != nil {
		return err
	}
	if need := l.Bytes(); free < need {
		return fmt.Errorf("it takes %d MB on disk, and %s has %d MB left", need>>20, s.Folder, free>>20)
	}
	err = s.With(ctx, store.Options{Keep: database.KeepAll, SessionTTL: job.MaxSessionTTL.D()}, func(st *store.Store) error {
		for _, step := range []struct {
			name string
			do   func(context.Context, *database.Site, *store.Store) error
		}{
			{"tasks, queues, calendars", l.define}, {"schedules", l.schedule}, {"finished jobs", l.finish}, {"a year of days", l.days},
			{"minutes", l.minutes}, {"monitors", l.watch}, {"their past", l.past}, {"live jobs", l.enqueue},
		} {
			begun := time.Now()
			if err := step.do(ctx, s, st); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			tell("%s: %s", step.name, time.Since(begun).Round(time.Millisecond))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Calm(ctx)
}

func (l Landscape) define(ctx context.Context, _ *database.Site, st *store.Store) error {
	m := view.Manifest{
		Queues:    []job.Queue{{Name: "billing", Concurrency: 20}, {Name: "media", Concurrency: 4}},
		Calendars: []schedule.Calendar{{Name: "nights", CalendarSpec: cron.CalendarSpec{Closings: []cron.Closing{{Weekly: "* 22:00-06:00"}}}}},
	}
	for _, t := range landTasks {
		m.Tasks = append(m.Tasks, task.Task{Name: t.name, Kind: task.KindFunc, Queue: t.queue, Tags: []string{"team-" + t.queue}, Retry: task.Retry{MaxAttempts: 2}})
	}
	_, err := st.Apply(ctx, m, view.ApplyOptions{})
	return err
}

func (l Landscape) schedule(ctx context.Context, s *database.Site, st *store.Store) error {
	var m view.Manifest
	for i, rule := range landRules {
		sc := schedule.Schedule{Name: fmt.Sprintf("%s%02d", landPrefix, i), Task: landTasks[i%len(landTasks)].name, Rules: []schedule.Rule{{Cron: rule}},
			Zone: []string{"UTC", "Europe/Sofia", "America/New_York"}[i%3]}
		if i == 12 {
			sc.Jitter = core.Duration(10 * time.Minute)
		}
		if i == 14 {
			sc.Blackout = []string{"nights"}
		}
		m.Schedules = append(m.Schedules, sc)
	}
	if _, err := st.Apply(ctx, m, view.ApplyOptions{}); err != nil {
		return err
	}
	if copies := l.Schedules/len(landRules) - 1; copies > 0 {
		return s.CloneSchedules(ctx, st, landPrefix, copies)
	}
	return nil
}

// landModels is the number of finished jobs that are copied. Most of them succeeded.
const landModels = 100

// finish runs the models through the store as workers do, and copies them.
func (l Landscape) finish(ctx context.Context, s *database.Site, st *store.Store) error {
	w, err := landWorker(ctx, st)
	if err != nil {
		return err
	}
	var jobs []job.NewJob
	for i := range landModels {
		jobs = append(jobs, job.NewJob{Task: landTasks[i%len(landTasks)].name, MaxAttempts: 1 + i%2, Input: json.RawMessage(fmt.Sprintf(`{"customer":%d,"dry":false}`, i))})
	}
	made, err := st.Enqueue(ctx, jobs)
	if err != nil {
		return err
	}
	var cancel []int64
	for i, j := range made {
		if i%25 == 7 {
			cancel = append(cancel, j.Job.ID)
		}
	}
	if _, err := st.CancelJobs(ctx, core.DefaultNamespace, view.Selection{IDs: cancel, Note: "not needed any more"}); err != nil {
		return err
	}
	if err := landWork(ctx, st, w, landModels-len(cancel)); err != nil {
		return err
	}
	return l.copyModels(ctx, s, st)
}

// landWork runs a number of models: one in 20 fails, and each has a log.
func landWork(ctx context.Context, st *store.Store, w job.Session, left int) error {
	for left > 0 {
		claim, err := st.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: landWant(landModels)})
		if err != nil {
			return err
		}
		if len(claim.Jobs) == 0 {
			return fmt.Errorf("%d models were not handed out", left)
		}
		var fs []job.Finish
		var logs []job.LogPiece
		for _, j := range claim.Jobs {
			ref := job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}
			f := job.Finish{Ref: ref, Outcome: job.OutcomeOK, Output: json.RawMessage(`{"rows":1042,"took":"1.2s"}`)}
			if j.Job.ID%20 == 3 {
				f = job.Finish{Ref: ref, Outcome: job.OutcomeError, Error: "connection refused: timed out after 30s", NoRetry: true}
			}
			fs = append(fs, f)
			for n := range 20 {
				logs = append(logs, job.LogPiece{Ref: ref, Seq: n, Stream: job.Log, At: time.Now().UTC(), Text: fmt.Sprintf("step %d of 20 took %dms\n", n+1, n*7)})
			}
		}
		if err := st.Append(ctx, w.ID, logs); err != nil {
			return err
		}
		if _, err := st.Finish(ctx, w.ID, fs); err != nil {
			return err
		}
		left -= len(fs)
	}
	return nil
}

// copyModels copies the models that have ended, as jobs of all schedules.
func (l Landscape) copyModels(ctx context.Context, s *database.Site, st *store.Store) error {
	var lo, hi int64
	err := st.DB().Read(ctx, func(tx base.Tx) (err error) {
		if lo, err = database.Number(ctx, tx, "select min(id) from belfry.schedules"); err == nil {
			hi, err = database.Number(ctx, tx, "select max(id) from belfry.schedules")
		}
		return err
	})
	if err != nil {
		return err
	}
	// Seven of ten jobs come from a schedule, each from another one.
	const from, due = "m.place % 10 < 7", "r.due_at + $5 - m.finished_at - ($6 - g.n) * $3 * $7 + m.place * $7"
	id := fmt.Sprintf("%d + (g.n * %d + m.place) * 7919 %% %d", lo, landModels, hi-lo+1)
	err = s.CloneHistoryAs(ctx, st, l.Jobs, time.Duration(l.Days)*24*time.Hour, map[string]string{
		"schedule_id": "case when " + from + " then " + id + " else 0 end",
		"schedule":    "case when " + from + " then coalesce((select s.name from belfry.schedules s where s.id = " + id + "), '') else '' end",
		"trigger":     "case when " + from + " then 'schedule' else r.trigger end",
		"nominal":     "case when " + from + " then " + due + " else 0 end",
	})
	if err != nil {
		return err
	}
	return database.Change(ctx, st, func(tx base.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into belfry.occurrences (schedule_id, nominal, decision, job_id, due_at, decided_at)
			select schedule_id, nominal, 'job', id, due_at, created_at
			from belfry.jobs_done
			where schedule_id > 0 and id / 7 % 10 = 0`)
		return err
	})
}

func landWorker(ctx context.Context, st *store.Store) (job.Session, error) {
	info := job.WorkerInfo{Name: "land", Kinds: []task.Kind{task.KindFunc}, Queues: landWant(1000), TTL: job.MaxSessionTTL}
	for _, t := range landTasks {
		info.Funcs = append(info.Funcs, t.name)
	}
	session, err := st.OpenSession(ctx, info)
	if err != nil {
		return session, err
	}
	// The worker is remote, or the next process on SQLite would give up its jobs.
	return session, database.Change(ctx, st, func(tx base.Tx) error {
		_, err := tx.Exec(ctx, `update belfry.sessions set remote = 1 where id = $1`, session.ID)
		return err
	})
}

func landWant(n int) map[string]int { return map[string]int{"default": n, "billing": n, "media": n} }

// days gives the first schedules a year of daily totals.
func (l Landscape) days(ctx context.Context, s *database.Site, st *store.Store) error {
	today := time.Now().Unix() / 86400
	for from := int64(1); from <= 365; from += 50 {
		err := database.Change(ctx, st, func(tx base.Tx) error {
			_, err := tx.Exec(ctx, `
				insert into belfry.schedule_days (day, schedule_id, ok, failed, canceled, skipped, ran)
				select $1 - g.n, s.id, 20 + (s.id + g.n) % 5, (s.id * g.n) % 3, 0, (s.id + g.n) % 2, 60000000
				from (select id from belfry.schedules order by id limit $2) as s
				cross join `+s.Numbers("$3", "$4")+`
				order by 1, 2`, today, l.Pace, from, min(from+49, 365))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// minutes gives each queue two days of rates.
func (l Landscape) minutes(ctx context.Context, s *database.Site, st *store.Store) error {
	return database.Change(ctx, st, func(tx base.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into belfry.job_minutes (minute, namespace, queue, ok, failed, canceled, skipped, ran, started, lag, lag_most)
			select $3 - g.n, 'default', q.name, 200 + g.n % 50, g.n % 7, 0, 0, 900000000, 207, 50000000, 900000
			from belfry.queues q
			cross join `+s.Numbers("$1", "$2"), 1, 2880, time.Now().Unix()/60)
		return err
	})
}

// watch makes monitors with a few checks each.
func (l Landscape) watch(ctx context.Context, _ *database.Site, st *store.Store) error {
	var m view.Manifest
	for i := range l.Monitors {
		m.Monitors = append(m.Monitors, monitor.Monitor{Name: fmt.Sprintf("shop-%03d", i), Every: core.Duration(time.Minute), Confirm: monitor.Confirm{Failures: 1},
			Check: task.Task{Kind: task.KindHTTP, HTTP: &task.HTTP{URL: fmt.Sprintf("https://shop-%03d.example/", i)}}})
	}
	if _, err := st.Apply(ctx, m, view.ApplyOptions{}); err != nil {
		return err
	}
	w, err := st.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{task.ChecksQueue: l.Monitors}, TTL: job.MaxSessionTTL})
	if err != nil {
		return err
	}
	for round := range 3 {
		for _, one := range m.Monitors {
			if _, err := st.CheckMonitor(ctx, core.DefaultNamespace, one.Name); err != nil {
				return err
			}
		}
		for done := 0; done < l.Monitors; {
			c, err := st.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: l.Monitors}})
			if err != nil {
				return err
			}
			if len(c.Jobs) == 0 {
				return errors.New("checks were not handed out")
			}
			var fs []job.Finish
			for i, j := range c.Jobs {
				seen := task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(time.Duration(50+i) * time.Millisecond)}
				if i%20 == 0 && round == 2 {
					seen = task.CheckResult{Outcome: task.CheckFail, Code: task.CodeConnectRefused, Message: "nothing listens there"}
				}
				fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK, Check: &seen})
			}
			if _, err := st.Finish(ctx, w.ID, fs); err != nil {
				return err
			}
			done += len(fs)
		}
	}
	return nil
}

// past gives each monitor a day of checks each minute, a hundred days of hourly totals, 400 daily totals, and an outage
// every nine days, rolled up as a node would have done.
func (l Landscape) past(ctx context.Context, s *database.Site, st *store.Store) error {
	var sum job.Histogram
	for i := range 60 {
		sum.Add(time.Duration(40+3*i) * time.Millisecond)
	}
	packed, err := sum.MarshalBinary()
	if err != nil {
		return err
	}
	now := time.Now()
	const minute, hour, day = int64(60_000_000), 60 * int64(60_000_000), 24 * 60 * int64(60_000_000)
	hours, days := now.Truncate(time.Hour).UnixMicro(), now.Truncate(24*time.Hour).UnixMicro()
	statements := []struct {
		sql  string
		args []any
	}{
		{`insert into belfry.results (hour, monitor_id, at, outcome, latency, dns, connect, tls, first_byte, transfer, status)
			select ($3 - g.n * $4) / $5, m.id, $3 - g.n * $4, 'ok', 60000 + g.n % 900 * 100, 1000, 2000, 9000, 40000, 8000, 200
			from belfry.monitors m cross join ` + s.Numbers("$1", "$2") + ` order by 1, 2, 3`, []any{1, 24 * 60, now.UnixMicro(), minute, hour}},
		{`update belfry.rolled set hour = $1, day = $2`, []any{hours / hour, days / day}},
		{`insert into belfry.spans (monitor_id, at, state)
			select m.id, $3 - g.n * $4 + m.id % 3 * $5, 'down'
			from belfry.monitors m cross join ` + s.Numbers("$1", "$2"), []any{1, 44, now.UnixMicro(), 9 * day, hour}},
		{`insert into belfry.spans (monitor_id, at, state) select monitor_id, at + $1, 'up' from belfry.spans where state = 'down' and at < $2`, []any{minute * 10, now.UnixMicro() - day}},
	}
	for _, r := range []struct{ span, n, until int64 }{{hour, 100 * 24, hours}, {day, 400, days}} {
		statements = append(statements, struct {
			sql  string
			args []any
		}{`insert into belfry.rollups (monitor_id, span, at, ok, degraded, fail, error, total, least, most, latency)
			select m.id, cast($3 as bigint) / 1000000, $4 - g.n * cast($3 as bigint), cast($3 as bigint) / 60000000, 0, 0, 0, cast($3 as bigint) / 600, 40000, 217000, $5
			from belfry.monitors m cross join ` + s.Numbers("$1", "$2"), []any{1, r.n, r.span, r.until, base64.StdEncoding.EncodeToString(packed)}})
	}
	for _, one := range statements {
		if err := database.Change(ctx, st, func(tx base.Tx) error { _, err := tx.Exec(ctx, one.sql, one.args...); return err }); err != nil {
			return fmt.Errorf("%s: %w", one.sql, err)
		}
	}
	return nil
}

// enqueue makes running, waiting and scheduled jobs.
func (l Landscape) enqueue(ctx context.Context, _ *database.Site, st *store.Store) error {
	for done := 0; done < l.Live; {
		var jobs []job.NewJob
		for i := range min(1000, l.Live-done) {
			j := job.NewJob{Task: landTasks[i%len(landTasks)].name}
			if i%3 == 0 {
				j.Delay = core.Duration(time.Duration(i+1) * time.Hour)
			}
			jobs = append(jobs, j)
		}
		if _, err := st.Enqueue(ctx, jobs); err != nil {
			return err
		}
		done += len(jobs)
	}
	w, err := landWorker(ctx, st)
	if err != nil {
		return err
	}
	_, err = st.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{"default": l.Running}})
	return err
}
