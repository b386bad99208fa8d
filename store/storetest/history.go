package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// rollUp rolls up all complete minutes and hours.
func (b *bench) rollUp() {
	b.Helper()
	for n := 0; must(b.st.RollUp(b.ctx))(b); n++ {
		if n > 10_000 {
			b.Fatal("the roll-up reports more work without end")
		}
	}
}

// became returns the totals of a schedule's days, as text.
func (b *bench) became(schedule string) (text string) {
	b.Helper()
	out := must(b.st.ScheduleDays(b.ctx, view.DaysQuery{Schedule: schedule}))(b)
	if out.Partial {
		b.Fatal("days of the schedule: got a partial answer")
	}
	for _, d := range out.Days {
		text += fmt.Sprintf("%s %d/%d/%d/%d %s; ", d.Day.Format("02"), d.OK, d.Failed, d.Canceled, d.Skipped, d.Ran)
	}
	return text
}

func init() {
	add("jobs that end after a clock that was ahead is set right are rolled up", caseEndsAfterAClockThatWasAheadAreRolledUp)
	add("the database's health: backlog, overdue schedules, history and estimates of rows, and what is wrong", caseTheDatabasesHealth)
	add("the days of a schedule are the same before and after they were rolled up, and outlive its jobs", caseTheDaysOfAScheduleAreTheSameBefore)
	add("a job that ran while the clock was set back takes nothing off the time that jobs ran", caseAClockThatIsSetBackLeavesDurations)
	add("a run counts on its nominal day in the schedule's zone, before and after it was rolled up", caseARunCountsOnItsNominalDayInThe)
	add("the days of tasks count what ended, each once, and outlive the jobs", caseTheDaysOfTasks)
	add("nothing is pruned that was not rolled up", caseNothingIsPrunedThatWasNotRolledUp)
	add("minutes say what ended, fresh and once more when they are final", caseMinutesSayWhatEnded)
	add("strips show the last of each schedule: jobs, skips and what is under way", caseStripsShowTheLastOfEachSchedule)
	add("an overview shows what runs, failed, waits and comes", caseAnOverviewShowsWhatRuns)
	add("an overview lists faults, and the figures of a day", caseAnOverviewListsFaults)
	add("an overview lists tasks that failed after they last succeeded, also of jobs that were retried", caseAnOverviewListsRetriedFaults)
	add("an overview is of its namespace, however busy another is", caseAnOverviewIsNotOfABusyNamespace)
	add("an overview lists runs that wait for an approval", caseAnOverviewListsApprovals)
	add("an overview lists outages outside of maintenance first, and says if there are more", caseAnOverviewListsOutages)
	add("an overview says that more tasks fail and more schedules are late than it lists", caseAnOverviewSaysThatMoreNeedsAttention)
}

func caseEndsAfterAClockThatWasAheadAreRolledUp(b *bench) {
	w := b.checker()
	b.monitor("site")
	b.task("t")
	b.schedule("s", "t", cron("0 0 1 1 *"))
	run := func() {
		b.Helper()
		must(b.st.TriggerSchedule(b.ctx, "default", "s", job.RunNow{}))(b)
		s := b.session("t")
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
		must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
		for _, j := range w.checks() {
			w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { m := passed; f.Check = &m })
		}
	}
	run()
	b.clock.Move(3 * time.Hour)
	b.rollUp()
	b.clock.Move(72 * time.Hour)
	b.rollUp()
	b.clock.Move(-72 * time.Hour)
	hour := b.clock.Now().Truncate(time.Hour)
	b.rollUp()
	run()
	b.clock.Move(4 * time.Hour)
	b.rollUp()
	want(b, "hours of results", b.count(`select count(*) from belfry.rollups where span = 3600 and at = $1`, hour.UnixMicro()), 1)
	want(b, "days", b.became("s"), "02 2/0/0/0 0s; ")
}

func caseTheDatabasesHealth(b *bench) {
	h := must(b.st.DatabaseHealth(b.ctx))(b)
	if h.Size <= 0 || h.Database == "" || len(h.Tables) == 0 || !h.ReadyAt.IsZero() || !h.DueAt.IsZero() || !h.OldestAt.IsZero() {
		b.Fatalf("health of an empty database: got %+v", h)
	}
	for _, c := range h.Checks {
		if !c.OK && c.Name != "oldest transaction" { // a test in parallel may hold one open
			b.Errorf("check of health: got %+v, want it to hold", c)
		}
	}
	b.task("t")
	b.schedule("s", "t", cron("0 13 * * *"))
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	ended := b.clock.Now()
	b.enqueue(job.NewJob{Task: "t"})
	ready := b.clock.Now()
	b.clock.Move(2 * time.Hour)
	h = must(b.st.DatabaseHealth(b.ctx))(b)
	want(b, "ready queue", h.ReadyQueue, "default")
	want(b, "ready", h.ReadyAt, ready)
	want(b, "due", h.DueAt, Epoch.Add(time.Hour))
	want(b, "oldest", h.OldestAt, ended)
	for _, c := range h.Checks {
		if c.Name == "backlog" || c.Name == "schedules" {
			want(b, c.Name, c.OK, false)
		}
		if !c.OK && c.Fix == "" {
			b.Errorf("check %+v has no fix", c)
		}
	}
	must(b.st.PauseQueue(b.ctx, "default", "for a while"))(b)
	want(b, "a paused queue is no backlog", must(b.st.DatabaseHealth(b.ctx))(b).ReadyAt, time.Time{})
}

func caseTheDaysOfAScheduleAreTheSameBefore(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("s", "t", every(6*time.Hour))
	b.schedule("other", "t", every(24*time.Hour))
	for i := range 12 {
		b.fire()
		s := b.session("t")
		for _, j := range b.claim(s, 5).Jobs {
			if j.Job.Schedule == "s" && i%4 == 2 {
				continue // overlaps the next time, which is skipped
			}
			b.clock.Move(2 * time.Second)
			b.finish(s, j, []job.Outcome{job.OutcomeOK, job.OutcomeError}[i%2])
			b.clock.Move(-2 * time.Second)
		}
		if i%4 == 3 {
			for _, j := range b.jobsOf("s", job.Ready, job.Scheduled) { // includes the lost job that waits for its retry
				b.cancel(j.ID)
			}
		}
		b.clock.Move(6 * time.Hour)
		b.release()
		b.promote()
	}
	live := b.became("s")
	b.rollUp()
	b.clock.Move(10 * time.Minute)
	b.rollUp()
	b.rollUp()
	want(b, "rolled up", b.became("s"), live)
	if live == "" {
		b.Fatal("days of the schedule: got none")
	}
	b.clock.Move(100 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "jobs left in history", b.count(`select count(*) from belfry.jobs_done`), 0)
	want(b, "after the jobs have gone", b.became("s"), live)
	b.clock.Move(320 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "after more than a year", b.count(`select count(*) from belfry.schedule_days`), 0)
}

func caseAClockThatIsSetBackLeavesDurations(b *bench) {
	b.task("t")
	b.schedule("s", "t", cron("0 0 1 1 *"))
	must(b.st.TriggerSchedule(b.ctx, "default", "s", job.RunNow{}))(b)
	s := b.session("t")
	j := b.claim(s, 1).Jobs[0]
	b.clock.Move(-time.Hour)
	b.finish(s, j, job.OutcomeOK)
	want(b, "live", b.became("s"), "02 1/0/0/0 0s; ")
	b.clock.Move(time.Hour)
	b.rollUp()
	want(b, "rolled up", b.became("s"), "02 1/0/0/0 0s; ")
	want(b, "least time of tasks", b.count(`select min(ran) from belfry.task_days`), 0)
}

func caseARunCountsOnItsNominalDayInThe(b *bench) {
	b.task("t")
	b.schedule("s", "t", cron("30 0 * * *"), func(s *schedule.Schedule) { s.Zone = "Europe/Sofia" }) // 22:30 UTC, in winter
	backfills{b}.backfill("s", -4*24*time.Hour, -24*time.Hour, sideBySide)
	backfills{b}.refill()
	s := b.session("t")
	for _, j := range b.claim(s, 5).Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	b.clock.Move(10*time.Hour + 45*time.Minute) // the third, in Sofia
	must(b.st.TriggerSchedule(b.ctx, "default", "s", job.RunNow{}))(b)
	s = b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	live := b.became("s")
	b.clock.Move(time.Hour)
	b.rollUp()
	want(b, "rolled up", b.became("s"), live)
	want(b, "days", live, "27 1/0/0/0 0s; 28 1/0/0/0 0s; 01 1/0/0/0 0s; 03 1/0/0/0 0s; ")
}

func caseNothingIsPrunedThatWasNotRolledUp(b *bench) {
	b.task("t")
	b.schedule("s", "t", every(time.Hour))
	b.fire()
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	b.clock.Move(100 * 24 * time.Hour)
	for range 3 {
		must(b.st.Prune(b.ctx))(b)
	}
	want(b, "jobs before the roll-up", b.count(`select count(*) from belfry.jobs_done`), 1)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "jobs after it", b.count(`select count(*) from belfry.jobs_done`), 0)
	want(b, "day of the run", b.became("s"), "02 1/0/0/0 0s; ")
}

func caseMinutesSayWhatEnded(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("t")
	for i := range 4 {
		b.enqueue(job.NewJob{Task: "t"})
		b.clock.Move(time.Second)
		j := b.claim(s, 1).Jobs[0]
		b.clock.Move(2 * time.Second)
		b.finish(s, j, []job.Outcome{job.OutcomeOK, job.OutcomeError}[i/3])
	}
	overview := func(when string) {
		b.Helper()
		for _, ns := range []string{"", core.AnyNamespace} {
			o := must(b.st.Overview(b.ctx, ns))(b)
			if o.Failures != 1 || len(o.Minutes) != 1 || len(o.Day) != 1 {
				b.Fatalf("overview %s: got %d failures, minutes %+v and days %+v, want 1 of each", when, o.Failures, o.Minutes, o.Day)
			}
			for _, m := range []job.MinuteTotals{o.Minutes[0], o.Day[0]} {
				if !m.Minute.Equal(Epoch) || m.OK != 3 || m.Failed != 1 || m.Started != 4 || m.Ran.D() != 8*time.Second || m.Lag.D() != 4*time.Second || m.LagMost.D() != time.Second {
					b.Fatalf("totals %s: got %+v, want 3 ok and 1 failed", when, m)
				}
			}
		}
		o := must(b.st.Overview(b.ctx, "other"))(b)
		want(b, when+", of another namespace", int(o.Failures)+len(o.Minutes)+len(o.Day), 0)
	}
	overview("at once")
	b.rollUp()
	overview("within its minute")
	want(b, "minutes before the end of the minute", len(must(b.st.JobMinutes(b.ctx, job.MinuteQuery{}))(b)), 0)
	check := func(when string) {
		b.Helper()
		ms := must(b.st.JobMinutes(b.ctx, job.MinuteQuery{Namespace: core.AnyNamespace, Queue: "default"}))(b)
		if len(ms) != 1 || !ms[0].Minute.Equal(Epoch) || ms[0].OK != 3 || ms[0].Failed != 1 || ms[0].Started != 4 || ms[0].Ran.D() != 8*time.Second ||
			ms[0].Lag.D() != 4*time.Second || ms[0].LagMost.D() != time.Second {
			b.Fatalf("minutes %s: got %+v, want 1 with 3 ok and 1 failed", when, ms)
		}
	}
	b.clock.Move(time.Minute)
	overview("before it is rolled up")
	check("before it is rolled up")
	rate := func(when string) {
		b.Helper()
		for _, ns := range []string{"default", core.AnyNamespace, "other"} {
			got := 0
			for _, q := range must(b.st.Overview(b.ctx, ns))(b).Queues {
				got += int(q.Rate.OK + q.Rate.Failed)
				if n := q.Rate.OK + q.Rate.Failed; n > 0 && (q.Queue != "default" || ns == "other" || q.Rate.Lag.D() != 4*time.Second) {
					b.Fatalf("rate %s of queue %s in namespace %s: got %+v", when, q.Queue, ns, q.Rate)
				}
			}
			want(b, "ended within five minutes "+when+", in namespace "+ns, got, map[bool]int{false: 4}[ns == "other"])
		}
	}
	rate("before it is rolled up")
	b.rollUp()
	overview("fresh")
	check("fresh")
	rate("fresh")
	b.clock.Move(4 * time.Minute)
	rate("in the last of its minutes")
	b.clock.Move(time.Minute)
	b.rollUp()
	b.rollUp()
	check("final")
	overview("final")
	want(b, "minutes of another namespace", len(must(b.st.JobMinutes(b.ctx, job.MinuteQuery{Namespace: "other"}))(b)), 0)
	_, err := b.st.JobMinutes(b.ctx, job.MinuteQuery{Within: 72 * time.Hour})
	wantCode(b, err, core.Invalid, "within")
	o := must(b.st.Overview(b.ctx, ""))(b)
	if o.Failures != 1 || len(o.Failed) != 1 || len(o.Minutes) != 1 || o.Minutes[0].OK != 3 {
		b.Fatalf("overview: got %+v, want 1 failure and 1 minute with 3 ok", o)
	}
	b.clock.Move(72 * time.Hour)
	b.rollUp()
	must(b.st.Prune(b.ctx))(b)
	want(b, "kept for two days", b.count(`select count(*) from belfry.job_minutes`), 0)
}

func caseStripsShowTheLastOfEachSchedule(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("a", "t", every(time.Hour))
	b.schedule("b", "t", every(time.Hour))
	b.schedule("never", "t", func(s *schedule.Schedule) { s.Rules = nil })
	for i := range 3 {
		b.fire()
		s := b.session("t")
		var held []job.LeasedJob
		for _, j := range b.claim(s, 5).Jobs {
			if j.Job.Schedule == "a" && i == 2 {
				held = append(held, j)
				continue
			}
			b.finish(s, j, []job.Outcome{job.OutcomeOK, job.OutcomeError}[i%2])
		}
		for range 3 * 60 {
			b.clock.Move(20 * time.Second)
			b.renew(s, held...)
		}
	}
	b.fire()
	show := func(n int) (text string) {
		for _, st := range must(b.st.Strips(b.ctx, view.StripQuery{Schedules: []string{"b", "a", "never", "nobody"}, N: n}))(b) {
			text += st.Schedule + ":"
			for _, r := range st.Results {
				text += " " + string(r.State)
				if r.Reason == schedule.ReasonOverlap {
					text += "!"
				}
			}
			text += "; "
		}
		return text
	}
	want(b, "all", show(30), "a: running skipped! failed succeeded; b: ready succeeded failed succeeded; never:; ")
	want(b, "last two runs", show(2), "a: running skipped!; b: ready succeeded; never:; ")
	_, err := b.st.Strips(b.ctx, view.StripQuery{})
	wantCode(b, err, core.Invalid, "schedule")
}

func caseAnOverviewShowsWhatRuns(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("s", "t", every(time.Hour), func(s *schedule.Schedule) { s.Start = Epoch.Add(time.Hour) })
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	first := b.enqueue(job.NewJob{Task: "t"}).ID
	held := b.claim(s, 1).Jobs
	b.clock.Move(10 * time.Second)
	b.enqueue(job.NewJob{Task: "t"})
	held = append(held, b.claim(s, 1).Jobs...)
	b.enqueue(job.NewJob{Task: "t"})
	for range 6 {
		b.clock.Move(20 * time.Second)
		b.renew(s, held...)
	}
	b.enqueue(job.NewJob{Task: "t"})
	o := must(b.st.Overview(b.ctx, "default"))(b)
	if len(o.Running) != 2 || o.Running[0].ID != first || o.Running[0].Elapsed.D() != 130*time.Second || o.Runs.Count != 2 {
		b.Fatalf("running jobs: got %+v of %+v, want 2, the older first", o.Running, o.Runs)
	}
	if len(o.Failed) != 1 || o.Failed[0].Error != "it broke" {
		b.Fatalf("failed jobs: got %+v, want 1 with its error", o.Failed)
	}
	if q := o.Queues[0]; q.Queue != "default" || !q.Behind || q.Ready.Count != 2 || !q.OldestAt.Equal(Epoch.Add(10*time.Second)) {
		b.Fatalf("queues: got %+v, want default behind, with 2 ready jobs", o.Queues)
	}
	if len(o.Next) != 1 || !o.Next[0].NextAt.Equal(Epoch.Add(time.Hour)) {
		b.Fatalf("next runs: got %+v, want 1 in an hour", o.Next)
	}
	o = must(b.st.Overview(b.ctx, "other"))(b)
	if len(o.Running)+len(o.Failed)+len(o.Next)+o.Runs.Count != 0 {
		b.Fatalf("overview of another namespace: got %+v, want none of these jobs", o)
	}
}

// The jobs of a task count on the day in UTC on which they ended. Checks of monitors do not count, and a second roll-up adds
// nothing.
func caseTheDaysOfTasks(b *bench) {
	b.clock.Move(b.clock.Now().Truncate(24 * time.Hour).Add(36 * time.Hour).Sub(b.clock.Now())) // noon, so that a few hours later is the next day
	b.task("good")
	b.task("bad", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.task("idle")
	w := b.checker()
	b.monitor("site")
	days := func(names ...string) (text string) {
		b.Helper()
		for _, d := range must(b.st.TaskDays(b.ctx, view.TaskDaysQuery{Tasks: names}))(b).Items {
			text += d.Task
			for _, d := range d.Days {
				text += fmt.Sprintf(" %s %d/%d/%d/%d %s", d.Day.Format("02"), d.OK, d.Failed, d.Canceled, d.Skipped, d.Ran)
			}
			text += "; "
		}
		return text
	}
	s := b.session("good", "bad")
	run := func(name string, outcome job.Outcome) {
		b.Helper()
		b.enqueue(job.NewJob{Task: name})
		j := b.claim(s, 1).Jobs[0]
		b.clock.Move(10 * time.Second)
		b.finish(s, j, outcome)
	}
	first := b.clock.Now().UTC().Format("02")
	run("good", job.OutcomeOK)
	run("good", job.OutcomeOK)
	run("bad", job.OutcomeError)
	b.cancel(b.enqueue(job.NewJob{Task: "good"}).ID)
	must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
	for _, j := range w.checks() {
		b.finish(w.session, j, job.OutcomeOK)
	}
	b.clock.Move(24 * time.Hour)
	second := b.clock.Now().UTC().Format("02")
	s = b.session("good", "bad")
	run("good", job.OutcomeOK)
	b.clock.Move(10 * time.Minute)
	b.rollUp()
	b.rollUp()
	all := fmt.Sprintf("bad %s 0/1/0/0 10s; good %s 2/0/1/0 20s %s 1/0/0/0 10s; idle; ", first, first, second)
	want(b, "days", days("good", "bad", "idle", "none"), all)
	want(b, "one task", days("bad"), fmt.Sprintf("bad %s 0/1/0/0 10s; ", first))
	b.clock.Move(100 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "jobs left in history", b.count(`select count(*) from belfry.jobs_done`), 0)
	want(b, "days left", b.count(`select count(*) from belfry.task_days`), 3)
	b.clock.Move(320 * 24 * time.Hour)
	b.rollUp()
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "after more than a year", b.count(`select count(*) from belfry.task_days`), 0)
	for _, bad := range []view.TaskDaysQuery{{}, {Tasks: make([]string, view.MaxStrips+1)}, {Tasks: []string{"good"}, From: b.clock.Now().AddDate(-2, 0, 0)}} {
		if _, err := b.st.TaskDays(b.ctx, bad); core.CodeOf(err) != core.Invalid {
			b.Errorf("query %v: got error %v, want code invalid", bad, err)
		}
	}
}
