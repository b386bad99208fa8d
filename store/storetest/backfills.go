package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// backfills is a bench with backfills.
type backfills struct{ *bench }

// backfill starts a backfill of minutes since the epoch.
func (b backfills) backfill(s string, from, to time.Duration, change ...func(*schedule.Backfill)) schedule.Backfill {
	b.Helper()
	f := schedule.Backfill{Schedule: s, From: Epoch.Add(from), To: Epoch.Add(to)}
	for _, fn := range change {
		fn(&f)
	}
	return must(b.st.StartBackfill(b.ctx, f))(b)
}

func sideBySide(f *schedule.Backfill)  { f.Overlap = schedule.OverlapAllow }
func onlyMissing(f *schedule.Backfill) { f.OnlyMissing = true }

// refill advances backfills until there is no more to do at once.
func (b backfills) refill() {
	b.Helper()
	for range 1000 {
		if !must(b.st.Refill(b.ctx))(b) {
			return
		}
	}
	b.Fatal("refill reports more work without end")
}

// backfilled lists the nominal times of live backfilled jobs, in the order of their ids.
func (b backfills) backfilled(s string, states ...job.State) string {
	b.Helper()
	var all []string
	for _, j := range b.jobsOf(s, states...) {
		if j.Trigger == schedule.TriggerBackfill {
			all = append(all, core.Duration(j.Nominal.Sub(Epoch)).String())
		}
	}
	return strings.Join(all, " ")
}

var live = []job.State{job.Ready, job.Running, job.Scheduled}

// minutely creates a schedule of every minute since an hour ago that has not fired yet.
func (b backfills) minutely(change ...func(*schedule.Schedule)) schedule.Schedule {
	b.Helper()
	b.task("tick", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	return b.schedule("tick", "tick", append([]func(*schedule.Schedule){cron("* * * * *")}, change...)...)
}

func (b backfills) state(f schedule.Backfill) schedule.Backfill {
	b.Helper()
	return must(b.st.Backfill(b.ctx, "default", f.ID))(b)
}

// row returns a backfill's state as text.
func (b backfills) row(f schedule.Backfill) string {
	b.Helper()
	f = b.state(f)
	done := "never"
	if !f.Done.IsZero() {
		done = core.Duration(f.Done.Sub(Epoch)).String()
	}
	return fmt.Sprintf("%s, done %s, made %d, left out %d", f.State, done, f.Made, f.LeftOut)
}

func init() {
	add("backfill buffer_all: one job after another, each made when the one before has ended, however it ends", caseBackfillBufferAll)
	add("backfill allow: all at once, in their order, and more than a step only as they end", caseBackfillAllow)
	add("a schedule has one backfill at a time, and another when it has ended", caseAScheduleHasOneBackfillAtATime)
	add("a backfill that is repeated with its idempotency key is the first, ended or not", caseABackfillThatIsRepeated)
	add("a bad backfill is refused with its field and leaves nothing", caseABadBackfillIsRefusedWithItsFieldAnd)
	add("a backfill of what is missing leaves out what ran or waits, in any zone, and makes up for what was skipped", caseABackfillOfWhatIsMissingLeavesOutWhat)
	add("a backfill of what is missing is not deceived by the many rows of a rule from before", caseABackfillOfWhatIsMissingIsNotDeceived)
	add("a backfill of all runs again what ran, and the record of the job before stays", caseABackfillOfAllRunsAgainWhatRan)
	add("the limit completes a backfill before its end", caseTheLimitCompletesABackfillBeforeItsEnd)
	add("a backfill is paused, resumed and canceled; its jobs stay", caseABackfillIsPaused)
	add("a row that stands for several is parted where a backfill makes jobs, and counts and ends stay exact", caseARowThatStandsForSeveralIsPartedWhere)
	add("a resume records the times of a pause as skipped, except those that a backfill ran", caseAResumeLeavesOutTimesOfABackfill)
	add("a backfill leaves its schedule as it is, and neither holds up the other", caseABackfillLeavesItsScheduleAsItIs)
	add("an edit or a pause of the schedule leaves a backfill's jobs, and the rest of it follows the new rule", caseAnEditOrAPauseOfTheScheduleLeaves)
	add("a loop from the finish is not disturbed by a backfill of the plan beside it", caseALoopFromTheFinishIsNotDisturbedBy)
	add("calendars keep times out of a backfill as well", caseCalendarsKeepTimesOutOfABackfillAsWell)
	add("a backfill with nothing but times to leave out goes on without a rest", caseABackfillWithNothingButTimesToLeaveOut)
	add("a deleted schedule ends its backfill, and the jobs that it made go on", caseADeletedScheduleEndsItsBackfill)
	add("a backfill that cannot be computed holds up no other", caseABackfillThatCannotBeComputedHoldsUpNo)
}

func caseBackfillBufferAll(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -3*time.Minute, 0)
	want(b, "defaults", fmt.Sprint(f.State, f.Overlap, f.Limit, f.OnlyMissing), "activebuffer_all1000 false")
	s := b.session("tick")
	for i, outcome := range []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeLost} {
		backfills{b}.refill()
		backfills{b}.refill()
		want(b, "live", backfills{b}.backfilled("tick", live...), core.Duration(time.Duration(i-3)*time.Minute).String())
		c := b.claim(s, 5)
		want(b, "claimed", len(c.Jobs), 1)
		backfills{b}.refill()
		want(b, "live while it runs", len(b.jobsOf("tick", live...)), 1)
		if outcome == job.OutcomeLost {
			b.clock.Move(lost)
			b.release()
		} else {
			b.finish(s, c.Jobs[0], outcome)
		}
	}
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 0s, made 4, left out 0")
	want(b, "ended", backfills{b}.state(f).EndedAt, b.clock.Now())
	want(b, "occurrences", schedules{b}.said("tick"), "-3m job, -2m job, -1m job, 0s job")
	want(b, "note", b.occurrences("tick")[0].Note, "backfilled")
	want(b, "audit", b.count(`select count(*) from belfry.audit where action = 'backfill'`), 1)
}

func caseBackfillAllow(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -249*time.Minute, 0, sideBySide)
	backfills{b}.refill()
	want(b, "first step", len(b.jobsOf("tick", live...)), schedule.BackfillStep)
	backfills{b}.refill()
	want(b, "active jobs of the backfill", len(b.jobsOf("tick", live...)), schedule.BackfillStep)
	s := b.session("tick")
	for _, j := range b.claim(s, 100).Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 0s, made 250, left out 0")
	want(b, "different times", b.count(`select count(*) from (select nominal from belfry.jobs union select nominal from belfry.jobs_done) as d`), 250)
	want(b, "occurrences", b.count(`select count(*) from belfry.occurrences where decision = 'job'`), 250)
	j := b.jobsOf("tick")[0]
	if !j.Nominal.Equal(Epoch.Add(-249*time.Minute)) || !j.DueAt.Equal(Epoch) || j.Schedule != "tick" || j.Trigger != schedule.TriggerBackfill {
		b.Fatalf("first backfilled job: got %+v, want the nominal time 249 minutes ago, due now", j)
	}
}

func caseABackfillThatIsRepeated(b *bench) {
	backfills{b}.minutely()
	ask := func(to time.Duration, change ...func(*schedule.Backfill)) (schedule.Backfill, error) {
		f := schedule.Backfill{Schedule: "tick", From: Epoch.Add(-3 * time.Minute), To: Epoch.Add(to), Key: "k"}
		for _, c := range change {
			c(&f)
		}
		return b.st.StartBackfill(b.ctx, f)
	}
	first := must(ask(-time.Minute))(b)
	want(b, "id of a repeated request while the backfill runs", must(ask(-time.Minute))(b).ID, first.ID)
	must(b.st.SetBackfill(b.ctx, "default", first.ID, schedule.BackfillCanceled))(b)
	again := must(ask(0))(b) // the default of to was the present time, and is again
	want(b, "repeated request after the end of the backfill", fmt.Sprint(again.ID == first.ID, again.State), fmt.Sprint(true, schedule.BackfillCanceled))
	_, err := ask(0, func(f *schedule.Backfill) { f.OnlyMissing = true })
	wantCode(b, err, core.Conflict, "idempotency key")
	_, err = ask(0, func(f *schedule.Backfill) { f.Key = "a\x00" })
	wantCode(b, err, core.Invalid, "key")
	other := must(ask(0, func(f *schedule.Backfill) { f.Key = "other" }))(b)
	want(b, "another key gets the same backfill", other.ID == first.ID, false)
	want(b, "backfills", len(must(b.st.Backfills(b.ctx, schedule.BackfillFilter{}))(b).Items), 2)
}

func caseAScheduleHasOneBackfillAtATime(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -3*time.Minute, 0)
	_, err := b.st.StartBackfill(b.ctx, schedule.Backfill{Schedule: "tick", From: Epoch, To: Epoch})
	wantCode(b, err, core.Conflict, `schedule "tick" has a backfill under way`)
	must(b.st.SetBackfill(b.ctx, "default", f.ID, schedule.BackfillPaused))(b)
	_, err = b.st.StartBackfill(b.ctx, schedule.Backfill{Schedule: "tick", From: Epoch, To: Epoch})
	wantCode(b, err, core.Conflict, "under way")
	must(b.st.SetBackfill(b.ctx, "default", f.ID, schedule.BackfillCanceled))(b)
	g := backfills{b}.backfill("tick", -time.Minute, 0)
	b.schedule("other", "tick", cron("* * * * *"))
	h := backfills{b}.backfill("other", -time.Minute, 0, func(f *schedule.Backfill) { f.Note = "beside" })
	p := must(b.st.Backfills(b.ctx, schedule.BackfillFilter{}))(b)
	if len(p.Items) != 3 || p.Items[0].ID != h.ID || p.Items[0].Note != "beside" || p.Items[1].ID != g.ID || p.Items[2].State != schedule.BackfillCanceled {
		b.Fatalf("backfills: got %+v, want the new one of other, the active one and the canceled one", p.Items)
	}
	p = must(b.st.Backfills(b.ctx, schedule.BackfillFilter{Schedule: "tick", Paging: core.Paging{Limit: 1}}))(b)
	want(b, "first page", p.Items[0].ID, g.ID)
	p = must(b.st.Backfills(b.ctx, schedule.BackfillFilter{Schedule: "tick", Paging: core.Paging{Limit: 1, Cursor: p.Next}}))(b)
	want(b, "second page", p.Items[0].ID, f.ID)
	want(b, "cursor of the next page", p.Next, "")
	want(b, "backfills of another namespace", len(must(b.st.Backfills(b.ctx, schedule.BackfillFilter{Namespace: "other"}))(b).Items), 0)
	_, err = b.st.Backfill(b.ctx, "other", f.ID)
	wantCode(b, err, core.NotFound)
	_, err = b.st.SetBackfill(b.ctx, "other", g.ID, schedule.BackfillPaused)
	wantCode(b, err, core.NotFound)
}

func caseABadBackfillIsRefusedWithItsFieldAnd(b *bench) {
	backfills{b}.minutely()
	b.schedule("hand", "tick")
	b.schedule("loop", "tick", afterFinish(time.Minute))
	good := schedule.Backfill{Schedule: "tick", From: Epoch.Add(-time.Hour), To: Epoch}
	for field, change := range map[string]func(*schedule.Backfill){
		"to":       func(f *schedule.Backfill) { f.To = Epoch.Add(time.Second) },
		"from":     func(f *schedule.Backfill) { f.From = time.Time{} },
		"overlap":  func(f *schedule.Backfill) { f.Overlap = schedule.OverlapSkip },
		"limit":    func(f *schedule.Backfill) { f.Limit = schedule.MaxBackfillLimit + 1 },
		"schedule": func(f *schedule.Backfill) { f.Schedule = "loop" },
	} {
		bad := good
		change(&bad)
		_, err := b.st.StartBackfill(b.ctx, bad)
		wantCode(b, err, core.Invalid, field)
	}
	bad := good
	bad.Schedule = "hand"
	_, err := b.st.StartBackfill(b.ctx, bad)
	wantCode(b, err, core.Invalid, "schedule", "no planned times")
	bad.Schedule = "nobody"
	_, err = b.st.StartBackfill(b.ctx, bad)
	wantCode(b, err, core.NotFound, "nobody")
	_, err = b.st.SetBackfill(b.ctx, "default", 99, schedule.BackfillPaused)
	wantCode(b, err, core.NotFound, "99")
	_, err = b.st.SetBackfill(b.ctx, "default", 99, schedule.BackfillCompleted)
	wantCode(b, err, core.Invalid, "state")
	want(b, "backfills", b.count(`select count(*) from belfry.backfills`), 0)
}

func caseABackfillOfWhatIsMissingLeavesOutWhat(b *bench) {
	backfills{b}.minutely(overlap(schedule.OverlapBufferOne), func(s *schedule.Schedule) { s.Zone = "Europe/Sofia" })
	for range 4 {
		schedules{b}.next()
	}
	want(b, "occurrences before the backfill", schedules{b}.said("tick"), "1m job, 2m buffered, 3m skipped buffer_full, 4m skipped buffer_full")
	f := backfills{b}.backfill("tick", -time.Minute, 4*time.Minute, sideBySide, onlyMissing)
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 4m, made 4, left out 2")
	want(b, "jobs", backfills{b}.backfilled("tick"), "-1m 0s 3m 4m")
	want(b, "occurrences after the backfill", schedules{b}.said("tick"), "-1m job, 0s job, 1m job, 2m buffered, 3m job, 4m job")
	o := b.occurrences("tick")[4]
	want(b, "the row has its job", o.JobID, b.jobsOf("tick")[len(b.jobsOf("tick"))-2].ID)
	want(b, "reason", o.Reason, core.Reason(""))
}

func caseABackfillOfWhatIsMissingIsNotDeceived(b *bench) {
	backfills{b}.minutely(overlap(schedule.OverlapAllow), catchup(schedule.CatchupAll), func(s *schedule.Schedule) { s.CatchupMax, s.CatchupWindow = 1000, core.Duration(24*time.Hour) })
	b.clock.Move(8 * time.Hour)
	b.fire()
	want(b, "occurrences before the backfill", len(b.occurrences("tick")), 480)
	sc := b.get("tick")
	sc.Rules[0].Cron = "0 * * * *"
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	f := backfills{b}.backfill("tick", time.Minute, 8*time.Hour, sideBySide, onlyMissing)
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 8h, made 0, left out 8")
}

func caseABackfillOfAllRunsAgainWhatRan(b *bench) {
	backfills{b}.minutely(overlap(schedule.OverlapAllow))
	schedules{b}.next()
	schedules{b}.next()
	before := jsonOf(b.occurrences("tick"))
	f := backfills{b}.backfill("tick", time.Minute, 2*time.Minute, sideBySide)
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 2m, made 2, left out 0")
	want(b, "jobs", backfills{b}.backfilled("tick"), "1m 2m")
	want(b, "occurrences", jsonOf(b.occurrences("tick")), before)
	want(b, "all jobs", len(b.jobsOf("tick")), 4)
}

func caseTheLimitCompletesABackfillBeforeItsEnd(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -time.Hour, 0, sideBySide, func(f *schedule.Backfill) { f.Limit = 3 })
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done -58m, made 3, left out 0")
	_, err := b.st.SetBackfill(b.ctx, "default", f.ID, schedule.BackfillActive)
	wantCode(b, err, core.Conflict, "is completed")
}

func caseABackfillIsPaused(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -5*time.Minute, 0)
	s := b.session("tick")
	end := func() {
		b.Helper()
		c := b.claim(s, 1)
		want(b, "claimed", len(c.Jobs), 1)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
	}
	backfills{b}.refill()
	set := func(state schedule.BackfillState) {
		b.Helper()
		want(b, "state", must(b.st.SetBackfill(b.ctx, "default", f.ID, state))(b).State, state)
	}
	set(schedule.BackfillActive) // sets the state that it already has
	set(schedule.BackfillPaused)
	set(schedule.BackfillPaused)
	end() // the job of the backfill continues
	backfills{b}.refill()
	want(b, "paused", backfills{b}.row(f), "paused, done -5m, made 1, left out 0")
	want(b, "live while paused", len(b.jobsOf("tick", live...)), 0)
	set(schedule.BackfillActive)
	backfills{b}.refill()
	want(b, "resumed", backfills{b}.row(f), "active, done -4m, made 2, left out 0")
	set(schedule.BackfillCanceled)
	end()
	backfills{b}.refill()
	want(b, "canceled", backfills{b}.row(f), "canceled, done -4m, made 2, left out 0")
	want(b, "ended", backfills{b}.state(f).EndedAt, Epoch)
	_, err := b.st.SetBackfill(b.ctx, "default", f.ID, schedule.BackfillActive)
	wantCode(b, err, core.Conflict, "is canceled")
	want(b, "audit", b.count(`select count(*) from belfry.audit where noun = 'backfill'`), 3)
}

func caseARowThatStandsForSeveralIsPartedWhere(b *bench) {
	backfills{b}.minutely(catchup(schedule.CatchupLatest), overlap(schedule.OverlapAllow), func(s *schedule.Schedule) { s.Zone = "Europe/Sofia" })
	b.clock.Move(10 * time.Minute)
	b.fire()
	want(b, "occurrences before the backfill", schedules{b}.said("tick"), "1m skipped catchup_latest x9, 10m job")
	rows := func() string {
		b.Helper()
		var all []string
		for _, o := range b.occurrences("tick") {
			text := fmt.Sprintf("%s..%s x%d %s", core.Duration(o.Nominal.Sub(Epoch)), core.Duration(o.Until.Sub(Epoch)), o.Count, o.Decision)
			if o.Until.IsZero() {
				text = fmt.Sprintf("%s %s", core.Duration(o.Nominal.Sub(Epoch)), o.Decision)
			}
			if (o.Decision == schedule.DecidedSkipped) != (o.Reason == schedule.ReasonCatchupLatest) {
				b.Fatalf("occurrence: got %+v, want the reason of skipped ones alone to be catchup_latest", o)
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	f := backfills{b}.backfill("tick", 4*time.Minute, 5*time.Minute) // in the middle of the times, one at a time
	backfills{b}.refill()
	want(b, "rows after one backfill", rows(), "1m..3m x3 skipped, 4m job, 5m..9m x5 skipped, 10m job")
	b.cancel(b.jobsOf("tick", live...)[1].ID)
	backfills{b}.refill()
	want(b, "rows after two backfills", rows(), "1m..3m x3 skipped, 4m job, 5m job, 6m..9m x4 skipped, 10m job")
	want(b, "row", backfills{b}.row(f), "completed, done 5m, made 2, left out 0")
	backfills{b}.backfill("tick", time.Minute, time.Minute)
	backfills{b}.refill()
	for _, j := range b.jobsOf("tick", live...) {
		b.cancel(j.ID)
	}
	backfills{b}.refill()
	want(b, "rows after the backfill of the first times", rows(), "1m job, 2m..3m x2 skipped, 4m job, 5m job, 6m..9m x4 skipped, 10m job")
	backfills{b}.backfill("tick", 3*time.Minute, 9*time.Minute, sideBySide, onlyMissing, func(f *schedule.Backfill) { f.Limit = 3 })
	backfills{b}.refill()
	want(b, "over several", rows(), "1m job, 2m skipped, 3m job, 4m job, 5m job, 6m job, 7m job, 8m..9m x2 skipped, 10m job")
	backfills{b}.backfill("tick", 0, 10*time.Minute, sideBySide, onlyMissing)
	backfills{b}.refill()
	want(b, "all", schedules{b}.said("tick"), "0s job, 1m job, 2m job, 3m job, 4m job, 5m job, 6m job, 7m job, 8m job, 9m job, 10m job")
}

func caseAResumeLeavesOutTimesOfABackfill(b *bench) {
	backfills{b}.minutely()
	must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	b.clock.Move(6 * time.Minute)
	backfills{b}.backfill("tick", time.Minute, time.Minute)
	backfills{b}.refill()
	b.cancel(b.jobsOf("tick", live...)[0].ID)
	backfills{b}.refill()
	backfills{b}.backfill("tick", 4*time.Minute, 4*time.Minute)
	backfills{b}.refill()
	want(b, "state", b.get("tick").State, schedule.Paused)
	must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b)
	want(b, "occurrences", schedules{b}.said("tick"), "1m job, 2m skipped paused x2, 4m job, 5m skipped paused x2")
}

func caseABackfillLeavesItsScheduleAsItIs(b *bench) {
	for i, o := range []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapAllow} {
		task, name := fmt.Sprint("t", i), string(o)
		b.task(task)
		b.schedule(name, task, cron("* * * * *"), overlap(o), func(s *schedule.Schedule) { s.MaxRuns = 9 })
		before := jsonOf(b.get(name))
		f := backfills{b}.backfill(name, -10*time.Minute, 0, sideBySide)
		backfills{b}.refill()
		want(b, "row", backfills{b}.row(f), "completed, done 0s, made 11, left out 0")
		want(b, "schedule "+name, jsonOf(b.get(name)), before)
	}
	schedules{b}.next()
	for _, o := range []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapAllow} {
		os := b.occurrences(string(o))
		want(b, "decision for the next time beside the backfill, "+string(o), os[len(os)-1].Decision, schedule.DecidedJob)
		want(b, "runs", b.get(string(o)).Runs, 1)
		want(b, "live", len(b.jobsOf(string(o), live...)), 12)
	}
}

func caseAnEditOrAPauseOfTheScheduleLeaves(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -10*time.Minute, 0)
	backfills{b}.refill()
	sc := b.get("tick")
	sc.Rules[0].Cron = "*/5 * * * *"
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	s := b.session("tick")
	for _, m := range []int{-10, -5, 0} {
		c := b.claim(s, 5)
		want(b, "claimed", len(c.Jobs), 1)
		want(b, "nominal", c.Jobs[0].Job.Nominal, Epoch.Add(time.Duration(m)*time.Minute))
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		backfills{b}.refill()
	}
	want(b, "row", backfills{b}.row(f), "completed, done 0s, made 3, left out 0")
}

func caseALoopFromTheFinishIsNotDisturbedBy(b *bench) {
	b.task("tick")
	b.schedule("mixed", "tick", func(s *schedule.Schedule) {
		s.Rules = []schedule.Rule{{Cron: "0 * * * *"}, {Every: core.Duration(5 * time.Minute), Anchor: schedule.AnchorFinish}}
	})
	before := b.get("mixed")
	backfills{b}.backfill("mixed", -2*time.Hour, -time.Hour)
	backfills{b}.refill()
	s := b.session("tick")
	for range 2 {
		c := b.claim(s, 5)
		want(b, "claimed", len(c.Jobs), 1)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		backfills{b}.refill()
	}
	want(b, "schedule", jsonOf(b.get("mixed")), jsonOf(before))
}

func caseCalendarsKeepTimesOutOfABackfillAsWell(b *bench) {
	b.calendar("lunch", "* 11:55-12:00")
	backfills{b}.minutely(blackout("lunch"))
	f := backfills{b}.backfill("tick", -10*time.Minute, 0, sideBySide)
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 0s, made 6, left out 5")
	want(b, "jobs", backfills{b}.backfilled("tick"), "-10m -9m -8m -7m -6m 0s")
}

func caseABackfillWithNothingButTimesToLeaveOut(b *bench) {
	b.calendar("night", "* 00:00-11:59")
	backfills{b}.minutely(blackout("night"))
	f := backfills{b}.backfill("tick", -700*time.Minute, 0, sideBySide)
	want(b, "more to do at once", must(b.st.Refill(b.ctx))(b), true)
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "completed, done 0s, made 2, left out 699")
}

func caseADeletedScheduleEndsItsBackfill(b *bench) {
	backfills{b}.minutely()
	f := backfills{b}.backfill("tick", -10*time.Minute, 0)
	backfills{b}.refill()
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "tick"))
	backfills{b}.refill()
	want(b, "row", backfills{b}.row(f), "canceled, done -10m, made 1, left out 0")
	want(b, "ended", backfills{b}.state(f).EndedAt, Epoch)
	s := b.session("tick")
	want(b, "state of the backfilled job", b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK).State, job.Succeeded)
	backfills{b}.refill()
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseABackfillThatCannotBeComputedHoldsUpNo(b *bench) {
	b.task("tick")
	b.schedule("bad", "tick", cron("* * * * *"))
	b.schedule("good", "tick", cron("* * * * *"))
	backfills{b}.backfill("bad", -time.Minute, 0)
	f := backfills{b}.backfill("good", -time.Minute, 0, sideBySide)
	b.sql(`update belfry.schedules set doc = replace(doc, '"UTC"', '"Mars/Olympus"') where name = 'bad'`)
	if _, err := b.st.Refill(b.ctx); err == nil {
		b.Fatal("refill of a schedule with an unknown zone: got no error")
	}
	want(b, "state of the other backfill", backfills{b}.row(f), "completed, done 0s, made 2, left out 0")
}
