package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// cron makes a schedule follow a cron expression.
func cron(expr string) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{Cron: expr}} }
}

func at(ts ...time.Time) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{At: ts}} }
}

func overlap(o schedule.Overlap) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Overlap = o }
}

func catchup(c schedule.Catchup) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Catchup = c }
}

// fireTo moves the clock from one next time to the next until end, and fires at each.
func (b schedules) fireTo(end time.Time) {
	b.Helper()
	for {
		f := b.fire()
		if f.Schedules > 0 {
			continue
		}
		if f.NextAt.IsZero() || f.NextAt.After(end) {
			b.clock.Move(end.Sub(b.clock.Now()))
			return
		}
		b.clock.Move(f.NextAt.Sub(b.clock.Now()))
	}
}

// said returns the occurrences of a schedule as short texts: minutes and seconds since the epoch, the decision, and the reason.
func (b schedules) said(schedule string) string {
	b.Helper()
	var all []string
	for _, o := range b.occurrences(schedule) {
		text := fmt.Sprintf("%s %s", core.Duration(o.Nominal.Sub(Epoch)), o.Decision)
		if o.Reason != "" {
			text += " " + string(o.Reason)
		}
		if o.Count > 1 {
			text += fmt.Sprintf(" x%d", o.Count)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// days lists the nominal times of a schedule's jobs.
func (b schedules) days(schedule, layout string) string {
	b.Helper()
	var all []string
	for _, j := range b.jobsOf(schedule) {
		all = append(all, j.Nominal.Format(layout))
	}
	return strings.Join(all, " ")
}

func init() {
	add("firing is all or nothing: a failure leaves neither occurrence nor job nor a new next time", caseFiringIsAllOrNothing)
	add("a nominal time that has a row is not fired again, even if the schedule's row were set back", caseANominalTimeThatHasARowIsNot)
	add("nothing at or below the high-water mark is ever fired", caseNothingAtOrBelowTheHighWaterMarkIs)
	add("missed runs: the latest is made up for and the others are one row with the reason", caseMissedRunsTheLatestIsMadeUpForAnd)
	add("a five-minute rule is as true after ten thousand occurrences as after one", caseAFiveMinuteRuleIsAsTrueAfterTen)
	add("a rule for Mondays and Fridays that begins on a Wednesday runs on Fridays and Mondays only", caseARuleForMondaysAndFridaysThatBeginsOn)
	add("a rule for the 31st skips the months that have none and comes back", caseARuleForThe31stSkipsTheMonthsThat)
	add("a rule for one instant fires once, and its schedule is completed in the same pass", caseARuleForOneInstantFiresOnce)
	add("a schedule that starts in 2099 stays quiet and costs nothing until then", caseAScheduleThatStartsIn2099StaysQuietAnd)
	add("a schedule for which nothing is due at boot still runs later", caseAScheduleForWhichNothingIsDueAtBoot)
	add("a fifteen-minute job really runs every fifteen minutes, however long it takes and however late it is fired", caseAFifteenMinuteJobReallyRunsEveryFifteenMinutes)
	add("max runs and the end complete a schedule in the pass that fires the last run", caseMaxRunsAndTheEndCompleteAScheduleIn)
	add("a finish loop whose next run would come after its end is completed when the last run ends", caseAFinishLoopWhoseNextRunWouldComeAfter)
	add("jitter puts a run off, the same way each time, and keeps its nominal time", caseJitterPutsARunOff)
	add("more schedules than fit into one pass all fire, each once", caseMoreSchedulesThanFitIntoOnePassAllFire)
	add("a schedule with a backlog of thousands does not hide the live run of another", caseAScheduleWithABacklogOfThousandsDoesNot)
	add("a schedule that cannot be computed or lost its task holds up no other", caseAScheduleThatCannotBeComputedOrLostIts)
	add("a job can end although its schedule can no longer be computed", caseAJobCanEndAlthoughItsScheduleCanNo)
	add("soft-deleted and canceled things never run", caseSoftDeletedAndCanceledThingsNeverRun)
	add("ids that a rolled-back change used do not lend their times to the next schedule", caseIdsThatARolledBackChangeUsedDoNot)
}

func caseFiringIsAllOrNothing(b *bench) {
	b.task("tick")
	before := b.schedule("tick", "tick", every(time.Minute))
	// A row with the id of the next job makes the last step of the firing fail.
	next := b.enqueue(job.NewJob{Task: "tick"}).ID + 1
	b.sql(`insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, trigger, due_at, created_at, max_attempts, timeout)
			values ($1, 'default', 0, 'squatter', 'func', 'default', 0, 'scheduled', 'enqueue', 9000000000000000, 1, 1, 1)`, next)
	if _, err := b.st.FireDue(b.ctx); err == nil {
		b.Fatal("firing with the id of another job: got no error")
	}
	want(b, "occurrences", len(b.occurrences("tick")), 0)
	want(b, "schedule", jsonOf(b.get("tick")), jsonOf(before))
	b.sql(`delete from belfry.jobs where id = $1`, next)
	want(b, "jobs afterwards", b.fire().Jobs, 1)
	want(b, "occurrences afterwards", schedules{b}.said("tick"), "0s job")
}

func caseANominalTimeThatHasARowIsNot(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	b.sql(`update belfry.schedules set next_at = $1, high_water = $2, runs = 0`, Epoch.UnixMicro(), Epoch.Add(-time.Hour).UnixMicro())
	b.fire()
	want(b, "jobs", len(b.jobsOf("tick")), 1)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job")
}

func caseNothingAtOrBelowTheHighWaterMarkIs(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	b.clock.Move(3 * time.Minute)
	b.fire()
	want(b, "high water", b.get("tick").HighWater, Epoch.Add(3*time.Minute))
	b.sql(`delete from belfry.occurrences`)
	b.sql(`update belfry.schedules set next_at = $1`, Epoch.UnixMicro())
	want(b, "jobs", b.fire().Jobs, 0)
	want(b, "next time", b.get("tick").NextAt, Epoch.Add(4*time.Minute))
}

func caseMissedRunsTheLatestIsMadeUpForAnd(b *bench) {
	b.task("tick")
	b.schedule("latest", "tick", every(time.Minute), catchup(schedule.CatchupLatest), overlap(schedule.OverlapAllow))
	b.schedule("none", "tick", every(time.Minute), catchup(schedule.CatchupNone), overlap(schedule.OverlapAllow))
	b.schedule("all", "tick", every(time.Minute), catchup(schedule.CatchupAll), overlap(schedule.OverlapAllow),
		func(s *schedule.Schedule) { s.CatchupWindow = core.Duration(5 * time.Minute); s.CatchupMax = 3 })
	b.clock.Move(10*time.Minute + 30*time.Second)
	b.fire()
	want(b, "latest", schedules{b}.said("latest"), "0s skipped catchup_latest x10, 10m job")
	want(b, "nominal times that are told as skipped", b.tally.of("fired skipped catchup_latest"), 10)
	want(b, "occurrences of none", schedules{b}.said("none"), "0s skipped catchup_none x11")
	want(b, "all", schedules{b}.said("all"), "0s skipped catchup_window x6, 6m skipped catchup_max x2, 8m job, 9m job, 10m job")
	for _, name := range []string{"latest", "none", "all"} {
		want(b, name+" goes on", b.get(name).NextAt, Epoch.Add(11*time.Minute))
	}
}

func caseAFiveMinuteRuleIsAsTrueAfterTen(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(5*time.Minute), overlap(schedule.OverlapAllow), catchup(schedule.CatchupAll),
		func(s *schedule.Schedule) { s.CatchupMax = 1000; s.CatchupWindow = core.Duration(366 * 24 * time.Hour) })
	want(b, "first", b.fire().Jobs, 1)
	runs := int64(10_000)
	if testing.Short() { // under the race detector, SQLite in pure Go takes half a minute for them
		runs = 1000
	}
	for range runs / 1000 {
		b.clock.Move(5000 * time.Minute)
		want(b, "jobs of a pass", b.fire().Jobs, 1000)
	}
	last := Epoch.Add(time.Duration(runs) * 5 * time.Minute)
	sc := b.get("tick")
	want(b, "runs", sc.Runs, runs+1)
	want(b, "high water", sc.HighWater, last)
	want(b, "next time", sc.NextAt, last.Add(5*time.Minute))
	want(b, "occurrences", b.count(`select count(*) from belfry.occurrences where decision = 'job'`), runs+1)
	want(b, "different times of jobs", b.count(`select count(distinct nominal) from belfry.jobs`), runs+1)
	want(b, "last time", b.count(`select max(nominal) from belfry.jobs`), last.UnixMicro())
}

func caseARuleForMondaysAndFridaysThatBeginsOn(b *bench) {
	b.clock.Move(48 * time.Hour) // Wednesday, 4 March
	b.task("tick")
	b.schedule("tick", "tick", cron("30 9 * * MON,FRI"), overlap(schedule.OverlapAllow))
	schedules{b}.fireTo(Epoch.Add(20 * 24 * time.Hour))
	want(b, "days", schedules{b}.days("tick", "Mon-02"), "Fri-06 Mon-09 Fri-13 Mon-16 Fri-20")
}

func caseARuleForThe31stSkipsTheMonthsThat(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", cron("0 0 31 * *"), overlap(schedule.OverlapAllow))
	schedules{b}.fireTo(Epoch.Add(366 * 24 * time.Hour))
	want(b, "days", schedules{b}.days("tick", "01-02"), "03-31 05-31 07-31 08-31 10-31 12-31 01-31")
}

func caseARuleForOneInstantFiresOnce(b *bench) {
	b.task("once")
	b.schedule("once", "once", at(Epoch.Add(time.Hour)))
	want(b, "too early", b.fire().Jobs, 0)
	b.clock.Move(time.Hour)
	want(b, "jobs fired on time", b.fire().Jobs, 1)
	want(b, "state", b.get("once").State, schedule.Completed)
	for range 5 {
		b.clock.Move(time.Minute)
		if f := b.fire(); f.Schedules != 0 || !f.NextAt.IsZero() {
			b.Fatalf("fire of a completed schedule: got %+v, want none", f)
		}
	}
	want(b, "jobs", len(b.jobsOf("once")), 1)
}

func caseAScheduleThatStartsIn2099StaysQuietAnd(b *bench) {
	b.task("far")
	start := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	b.schedule("far", "far", func(s *schedule.Schedule) {
		s.Rules, s.Start = []schedule.Rule{{Every: core.Duration(time.Minute)}}, start
	})
	b.schedule("far-finish", "far", afterFinish(time.Minute), func(s *schedule.Schedule) { s.Start = start })
	for range 5 {
		f := b.fire()
		want(b, "due", f.Schedules, 0)
		want(b, "next firing", f.NextAt, start)
		b.clock.Move(365 * 24 * time.Hour)
	}
	b.clock.Move(start.Sub(b.clock.Now()))
	want(b, "at its start", b.fire().Jobs, 2)
}

func caseAScheduleForWhichNothingIsDueAtBoot(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", cron("0 18 * * *"))
	f := b.fire()
	want(b, "due", f.Schedules, 0)
	want(b, "next firing", f.NextAt, Epoch.Add(6*time.Hour))
	b.clock.Move(6 * time.Hour)
	want(b, "jobs", b.fire().Jobs, 1)
}

func caseAFifteenMinuteJobReallyRunsEveryFifteenMinutes(b *bench) {
	b.task("quarter")
	b.schedule("quarter", "quarter", cron("*/15 * * * *"))
	s := b.session("quarter")
	for range 8 {
		schedules{b}.fireTo(b.clock.Now().Add(15*time.Minute + 4*time.Second)) // the node looks late
		b.renew(s)
		for _, j := range b.claim(s, 5).Jobs {
			b.clock.Move(7 * time.Second)
			b.finish(s, j, job.OutcomeOK)
		}
		b.clock.Move(-11 * time.Second)
		b.clock.Move(7 * time.Second)
		s = b.session("quarter")
	}
	var last time.Time
	for _, j := range b.jobsOf("quarter") {
		if !last.IsZero() {
			want(b, "gap", j.Nominal.Sub(last), 15*time.Minute)
		}
		last = j.Nominal
	}
	want(b, "jobs", len(b.jobsOf("quarter")), 8)
}

func caseMaxRunsAndTheEndCompleteAScheduleIn(b *bench) {
	b.task("tick")
	b.schedule("three", "tick", every(time.Minute), overlap(schedule.OverlapAllow), func(s *schedule.Schedule) { s.MaxRuns = 3 })
	b.schedule("until", "tick", every(time.Minute), overlap(schedule.OverlapAllow), func(s *schedule.Schedule) { s.End = Epoch.Add(2 * time.Minute) })
	for range 3 {
		b.fire()
		b.clock.Move(time.Minute)
	}
	for _, name := range []string{"three", "until"} {
		sc := b.get(name)
		want(b, name, sc.State, schedule.Completed)
		want(b, name+" runs", sc.Runs, 3)
		want(b, name+" next", sc.NextAt, time.Time{})
	}
}

func caseAFinishLoopWhoseNextRunWouldComeAfter(b *bench) {
	b.task("tick")
	b.schedule("loop", "tick", afterFinish(time.Hour), func(s *schedule.Schedule) { s.End = Epoch.Add(90 * time.Minute) })
	for range 2 {
		b.fire()
		s := b.session("tick")
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
		b.clock.Move(time.Hour)
	}
	b.fire()
	sc := b.get("loop")
	want(b, "runs", sc.Runs, 2)
	want(b, "state", sc.State, schedule.Completed)
}

func caseJitterPutsARunOff(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Hour), func(s *schedule.Schedule) { s.Jitter = core.Duration(10 * time.Minute) })
	b.fire()
	j := b.jobsOf("tick")[0]
	if !j.Nominal.Equal(Epoch) || !j.DueAt.After(Epoch) || j.DueAt.Sub(Epoch) >= 10*time.Minute || j.State != job.Scheduled {
		b.Fatalf("job with jitter: got %+v, want it due within 10 minutes of its nominal time", j)
	}
	b.clock.Move(j.DueAt.Sub(Epoch))
	want(b, "promoted", b.promote(), 1)
}

func caseMoreSchedulesThanFitIntoOnePassAllFire(b *bench) {
	b.task("tick")
	var m view.Manifest
	for i := range 600 {
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprintf("s%04d", i), Task: "tick",
			Rules: []schedule.Rule{{At: []time.Time{Epoch.Add(time.Minute)}}}})
	}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)
	b.clock.Move(time.Minute)
	jobs, passes := 0, 0
	for f := b.fire(); f.Schedules > 0; f = b.fire() {
		jobs, passes = jobs+f.Jobs, passes+1
	}
	want(b, "jobs", jobs, 600)
	want(b, "schedules with a job", b.count(`select count(distinct schedule_id) from belfry.jobs`), 600)
	if passes < 2 {
		b.Fatalf("passes: got %d, want at least 2, because the batch is bounded", passes)
	}
}

func caseAScheduleWithABacklogOfThousandsDoesNot(b *bench) {
	b.task("tick")
	flood := b.schedule("flood", "tick", every(time.Second))
	b.sql(`with recursive n (i) as (select 1000000 union all select i + 1 from n where i < 1003000)
			insert into belfry.jobs (id, namespace, task_id, task, kind, queue, priority, state, trigger, schedule_id, due_at, created_at, max_attempts, timeout)
			select i - 2000000, 'default', 0, 'tick', 'func', 'default', 0, 'ready', 'schedule', $1, 1, 1, 1, 1 from n`, flood.ID)
	b.schedule("calm", "tick", cron("* * * * *"))
	b.clock.Move(60 * time.Second)
	b.fire()
	b.clock.Move(60 * time.Second)
	b.fire()
	want(b, "jobs of the calm one", len(b.jobsOf("calm")), 1)
}

func caseAScheduleThatCannotBeComputedOrLostIts(b *bench) {
	b.task("tick")
	b.task("gone")
	b.schedule("nowhere", "tick", cron("* * * * *"))
	b.schedule("orphan", "gone", cron("* * * * *"))
	b.schedule("sound", "tick", cron("* * * * *"))
	b.sql(`update belfry.schedules set doc = replace(doc, '"UTC"', '"Nowhere/None"'), generation = generation + 1 where name = 'nowhere'`)
	b.sql(`delete from belfry.tasks where name = 'gone'`)
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "jobs", len(b.jobsOf("sound")), 1)
	want(b, "schedules of a further firing", b.fire().Schedules, 0)
}

func caseAJobCanEndAlthoughItsScheduleCanNo(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", afterFinish(time.Minute))
	b.fire()
	s := b.session("tick")
	c := b.claim(s, 1)
	b.sql(`update belfry.schedules set doc = replace(doc, '"UTC"', '"Nowhere/None"'), generation = generation + 1`)
	want(b, "finish", b.finish(s, c.Jobs[0], job.OutcomeOK).State, job.Succeeded)
	b.sql(`update belfry.schedules set doc = replace(doc, '"Nowhere/None"', '"UTC"')`)
	b.clock.Move(2 * time.Minute)
	want(b, "the loop lives", b.fire().Jobs, 1)
}

func caseSoftDeletedAndCanceledThingsNeverRun(b *bench) {
	b.task("dead")
	b.task("kept")
	b.schedule("dead", "kept", every(time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	j := b.enqueue(job.NewJob{Task: "dead"})
	k := b.enqueue(job.NewJob{Task: "kept"})
	later := b.enqueue(job.NewJob{Task: "kept", Delay: core.Duration(time.Minute)})
	ok(b, b.st.DeleteTask(b.ctx, "default", "dead"))
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "dead"))
	if sel := b.cancel(k.ID, later.ID); len(sel.IDs) != 2 {
		b.Fatalf("canceled: got %+v, want 2 jobs", sel)
	}
	b.clock.Move(time.Hour)
	b.fire()
	b.promote()
	s := b.session("dead-too", "kept")
	want(b, "claimed", len(b.claim(s, 10).Jobs), 0)
	b.wantState(j.ID, job.Skipped)
	b.wantState(k.ID, job.Canceled)
	b.wantState(later.ID, job.Canceled)
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseIdsThatARolledBackChangeUsedDoNot(b *bench) {
	b.task("tick")
	m := view.Manifest{Schedules: []schedule.Schedule{{Name: "draft", Task: "tick", Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}}}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b)
	sc := b.schedule("real", "tick", cron("30 12 * * *"))
	want(b, "next time", sc.NextAt, Epoch.Add(30*time.Minute))

	m.Schedules[0] = schedule.Schedule{Name: "real", Task: "tick", Rules: []schedule.Rule{{Cron: "0 4 * * *"}}}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b)
	sc.Rules[0].Cron = "45 12 * * *"
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "next after the edit", sc.NextAt, Epoch.Add(45*time.Minute))
	b.clock.Move(45 * time.Minute)
	want(b, "jobs", b.fire().Jobs, 1)
	want(b, "next after the run", b.get("real").NextAt, Epoch.Add(24*time.Hour+45*time.Minute))
}
