package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	rules "github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// closes returns a calendar that closes every week.
func closes(name string, weekly ...string) schedule.Calendar {
	c := schedule.Calendar{Name: name}
	for _, w := range weekly {
		c.Closings = append(c.Closings, rules.Closing{Weekly: w})
	}
	return c
}

// calendar saves a calendar that closes every week.
func (b *bench) calendar(name string, weekly ...string) schedule.Calendar {
	b.Helper()
	return must(b.st.SaveCalendar(b.ctx, closes(name, weekly...)))(b)
}

func blackout(names ...string) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Blackout = names }
}

func within(names ...string) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Within = names }
}

func beats(m *monitor.Monitor) {
	m.Check, m.Heartbeat = task.Task{}, &monitor.Heartbeat{}
}

func nextOpen(s *schedule.Schedule) { s.OnBlackout = schedule.BlackoutNextOpen }

func init() {
	add("a calendar is saved, replaced, listed and deleted, and every edit is a generation", caseACalendarIsSaved)
	add("a bad calendar is refused with its field and changes nothing", caseABadCalendarIsRefusedWithItsFieldAnd)
	add("a calendar that a schedule refers to is not deleted, and one with a name that only looks alike is", caseACalendarThatAScheduleRefersToIsNot)
	add("a calendar that a monitor, a heartbeat or an alert rule refers to is not deleted", caseACalendarThatAMonitor)
	add("an alert rule or a heartbeat that names an unknown calendar is refused with the field", caseAnAlertRuleOrAHeartbeatThatNamesAn)
	add("a schedule that names an unknown calendar is refused with the field, and leaves nothing", caseAScheduleThatNamesAnUnknownCalendarIsRefused)
	add("blackouts: a time that a calendar keeps out is a row with the calendar's name, and no run", caseBlackoutsATimeThatACalendarKeepsOutIs)
	add("the next run of a schedule is one that its calendars let run, everywhere it is shown", caseTheNextRunOfAScheduleIsOneThat)
	add("a calendar that cannot be computed holds up the schedules that name it, and nothing else, until it is repaired", caseACalendarThatCannotBeComputed)
	add("an edited calendar takes effect at the next run and moves no schedule's next time", caseAnEditedCalendarTakesEffectAtTheNextRun)
	add("a calendar with the name of one that was deleted is another calendar", caseACalendarWithTheNameOfOneThatWas)
	add("next_open moves when a run is due and keeps its nominal time", caseNextOpenMovesWhenARunIsDueAnd)
	add("a manifest carries calendars: applied before their schedules, exported, pruned after them", caseAManifestCarriesCalendars)
	add("a calendar of a dry run is not cached for schedules", caseACalendarOfADryRunIsNotCached)
	addNodes("a schedule made while its calendar is deleted has it or is refused", caseAScheduleMadeWhileItsCalendarIsDeletedHas)
	add("a manifest whose one-shot has fired is applied again and changes nothing", caseAManifestWhoseOneShotHasFiredIsApplied)
	add("a completed schedule that is given a new time runs again, once", caseACompletedScheduleThatIsGivenANewTime)
	add("overlap cancel_other: what replaces a run that has not started is a run as well, and max runs hold", caseOverlapCancelOther)
	add("a completed schedule that is given more runs goes on, and what waits of it stays", caseACompletedScheduleThatIsGivenMoreRunsGoes)
	add("an edit of a paused schedule's times leaves the row of what the pause kept out", caseAnEditOfAPausedSchedulesTimesLeavesThe)
}

func caseACalendarIsSaved(b *bench) {
	c := b.calendar("lunch", "* 12:00-13:00")
	want(b, "generation", c.Generation, 1)
	want(b, "defaults", c.Namespace+" "+c.Zone, "default UTC")
	want(b, "read", jsonOf(must(b.st.Calendar(b.ctx, "default", "lunch"))(b)), jsonOf(c))
	b.clock.Move(time.Minute)
	want(b, "saved as it is", jsonOf(b.calendar("lunch", "* 12:00-13:00")), jsonOf(c))
	edited := b.calendar("lunch", "* 12:00-14:00")
	if edited.ID != c.ID || edited.Generation != 2 || !edited.CreatedAt.Equal(Epoch) || !edited.UpdatedAt.Equal(Epoch.Add(time.Minute)) {
		b.Fatalf("edited calendar: got %+v, want generation 2 under the same id", edited)
	}
	want(b, "read", jsonOf(must(b.st.Calendar(b.ctx, "default", "lunch"))(b)), jsonOf(edited))
	other := closes("lunch", "MON")
	other.Namespace = "other"
	must(b.st.SaveCalendar(b.ctx, other))(b)
	b.calendar("annual")
	list := func(f schedule.CalendarFilter) (names string) {
		for {
			p := must(b.st.Calendars(b.ctx, f))(b)
			for _, c := range p.Items {
				names += c.Namespace + "/" + c.Name + " "
			}
			if f.Cursor = p.Next; f.Cursor == "" {
				return names
			}
		}
	}
	want(b, "list", list(schedule.CalendarFilter{}), "default/annual default/lunch ")
	want(b, "all by ones", list(schedule.CalendarFilter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1}}), "default/annual default/lunch other/lunch ")
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "lunch"))
	_, err := b.st.Calendar(b.ctx, "default", "lunch")
	wantCode(b, err, core.NotFound, "lunch")
	wantCode(b, b.st.DeleteCalendar(b.ctx, "default", "lunch"), core.NotFound, "lunch")
	want(b, "other calendars", list(schedule.CalendarFilter{Namespace: core.AnyNamespace}), "default/annual other/lunch ")
	want(b, "audit", b.count(`select count(*) from belfry.audit where noun = 'calendar'`), 5)
}

func caseABadCalendarIsRefusedWithItsFieldAnd(b *bench) {
	good := b.calendar("lunch", "* 12:00-13:00")
	for field, change := range map[string]func(*schedule.Calendar){
		"weekday": func(c *schedule.Calendar) { c.Closings[0].Weekly = "FUNDAY" },
		"zone":    func(c *schedule.Calendar) { c.Zone = "Mars/Olympus" },
		"closing": func(c *schedule.Calendar) { c.Closings[0].Dates = "12-25" },
		"name":    func(c *schedule.Calendar) { c.Name = "a b" },
	} {
		bad := closes("lunch", "* 12:00-13:00")
		change(&bad)
		_, err := b.st.SaveCalendar(b.ctx, bad)
		wantCode(b, err, core.Invalid, field)
	}
	want(b, "still", jsonOf(must(b.st.Calendar(b.ctx, "default", "lunch"))(b)), jsonOf(good))
	want(b, "calendars", b.count(`select count(*) from belfry.calendars`), 1)
}

func caseACalendarThatAScheduleRefersToIsNot(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-13:00")
	b.calendar("day", "* 09:00-17:00")
	b.calendar("tick", "MON")
	b.schedule("out", "tick", cron("* * * * *"), blackout("lunch"))
	b.schedule("in", "tick", cron("* * * * *"), within("day"))
	wantCode(b, b.st.DeleteCalendar(b.ctx, "default", "lunch"), core.Conflict, `schedule "out" refers to calendar "lunch"`)
	wantCode(b, b.st.DeleteCalendar(b.ctx, "default", "day"), core.Conflict, `schedule "in"`)
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "tick")) // a task of that name is not a calendar
	sc := b.get("out")
	sc.Blackout = nil
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "lunch"))
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "in"))
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "day"))
}

func caseACalendarThatAMonitor(b *bench) {
	for _, name := range []string{"site", "backup", "night"} {
		b.calendar(name, "* 22:00-24:00")
	}
	b.calendar("spare", "MON")
	b.monitor("site", func(m *monitor.Monitor) { m.Blackout = []string{"site"} })
	b.monitor("backup", beats, func(m *monitor.Monitor) { m.Within = []string{"backup"} })
	b.monitor("spare", beats)
	alerts{b}.channel("pager", func(r *alert.Rule) { r.Quiet = []string{"night"} })
	for calendar, user := range map[string]string{"site": `"monitor:site"`, "backup": `monitor "backup"`, "night": `alert rule "to-pager"`} {
		wantCode(b, b.st.DeleteCalendar(b.ctx, "default", calendar), core.Conflict, user)
	}
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "spare")) // a monitor of that name is not a calendar
	must(b.st.Apply(b.ctx, view.Manifest{}, view.ApplyOptions{Prune: true}))(b)
	want(b, "calendars of an empty file", b.count(`select count(*) from belfry.calendars`), 0)
}

func caseAnAlertRuleOrAHeartbeatThatNamesAn(b *bench) {
	alerts{b}.channel("pager")
	_, err := b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "quiet", Channels: []string{"pager"}, Quiet: []string{"nigth"}})
	wantCode(b, err, core.Invalid, "quiet[0]", "is not a calendar in namespace default")
	_, err = b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "backup", Heartbeat: &monitor.Heartbeat{}, Within: []string{"nobody"}})
	wantCode(b, err, core.Invalid, "within[0]", "is not a calendar in namespace default")
}

func caseAScheduleThatNamesAnUnknownCalendarIsRefused(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-13:00")
	other := closes("elsewhere", "MON")
	other.Namespace = "other"
	must(b.st.SaveCalendar(b.ctx, other))(b)
	s := schedule.Schedule{Name: "tick", Task: "tick", Rules: []schedule.Rule{{Cron: "* * * * *"}}}
	for field, change := range map[string]func(*schedule.Schedule){
		"blackout[0]": blackout("nobody"),
		"blackout[1]": blackout("lunch", "elsewhere"), // exists in another namespace
		"within[0]":   within("nobody"),
	} {
		bad := s
		change(&bad)
		_, err := b.st.CreateSchedule(b.ctx, bad)
		wantCode(b, err, core.Invalid, field, "is not a calendar in namespace default")
	}
	want(b, "schedules", b.count(`select count(*) from belfry.schedules`), 0)
	saved := must(b.st.CreateSchedule(b.ctx, s))(b)
	saved.Within = []string{"nobody"}
	_, err := b.st.UpdateSchedule(b.ctx, saved)
	wantCode(b, err, core.Invalid, "within[0]")
	want(b, "after the refused edit", len(b.get("tick").Within), 0)
}

func caseBlackoutsATimeThatACalendarKeepsOutIs(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-12:02")
	b.calendar("tea", "* 12:03-12:10")
	b.schedule("out", "tick", every(time.Minute), blackout("lunch"), overlap(schedule.OverlapAllow))
	b.schedule("in", "tick", every(time.Minute), within("tea"), overlap(schedule.OverlapAllow))
	for range 4 {
		b.fire()
		b.clock.Move(time.Minute)
	}
	want(b, "occurrences of out", schedules{b}.said("out"), "0s skipped blackout, 1m skipped blackout, 2m job, 3m job")
	want(b, "occurrences of in", schedules{b}.said("in"), "0s skipped blackout, 1m skipped blackout, 2m skipped blackout, 3m job")
	want(b, "note", b.occurrences("out")[0].Note, "calendar lunch: closed * 12:00-12:02")
	want(b, "note", b.occurrences("in")[0].Note, "outside calendar tea")
	want(b, "runs", b.get("out").Runs, 2)
}

// caseACalendarThatCannotBeComputed has a calendar of an older Belfry, or with a zone that no longer exists: saved calendars
// can be computed.
func caseACalendarThatCannotBeComputed(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 13:00-14:00")
	b.schedule("out", "tick", every(time.Minute), blackout("lunch"), overlap(schedule.OverlapAllow))
	b.schedule("in", "tick", every(time.Minute), within("lunch"), overlap(schedule.OverlapAllow))
	b.schedule("plain", "tick", every(time.Minute), overlap(schedule.OverlapAllow))
	b.sql(`update belfry.calendars set doc = replace(doc, '* 13:00-14:00', 'no such day')`)
	for range 3 {
		b.fire()
		b.clock.Move(time.Minute)
	}
	want(b, "occurrences of out", schedules{b}.said("out"), "")
	want(b, "occurrences of in", schedules{b}.said("in"), "")
	want(b, "plain", schedules{b}.said("plain"), "0s job, 1m job, 2m job")
	want(b, "listed", len(must(b.st.Schedules(b.ctx, schedule.Filter{}))(b).Items), 3)
	for _, c := range must(b.st.Upcoming(b.ctx, schedule.Ahead{Namespace: "default", Within: time.Hour}))(b) {
		want(b, "comes", c.Schedule, "plain")
	}
	must(b.st.Forecast(b.ctx, schedule.Ahead{Namespace: "default", Within: time.Hour}))(b)
	must(b.st.Overview(b.ctx, "default"))(b)
	b.get("out")
	b.calendar("lunch", "* 12:04-14:00")
	for range 2 {
		b.fire()
		b.clock.Move(time.Minute)
	}
	want(b, "occurrences of out", schedules{b}.said("out"), "0s skipped catchup_latest x3, 3m job, 4m skipped blackout")
	want(b, "occurrences of in", schedules{b}.said("in"), "0s skipped blackout, 1m skipped blackout, 2m skipped blackout, 3m skipped blackout, 4m job")
}

func caseTheNextRunOfAScheduleIsOneThat(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-13:00")
	b.calendar("never", "* 00:00-24:00")
	made := b.schedule("tick", "tick", every(time.Minute), blackout("lunch"))
	one := Epoch.Add(time.Hour)
	want(b, "created", made.NextRunAt, one)
	want(b, "next time of moved", b.schedule("moved", "tick", every(7*time.Minute), blackout("lunch"), nextOpen).NextRunAt, one)
	want(b, "a schedule that never runs has no next time", b.schedule("shut", "tick", every(time.Minute), blackout("never")).NextRunAt.IsZero(), true)
	want(b, "shown", b.get("tick").NextRunAt, one)
	want(b, "next fire", b.get("tick").NextAt, Epoch)
	b.schedule("plain", "tick", every(time.Minute))
	names := ""
	for _, sc := range must(b.st.Schedules(b.ctx, schedule.Filter{}))(b).Items {
		names += fmt.Sprintf("%s %v ", sc.Name, sc.RunsAt().Equal(one))
	}
	want(b, "listed", names, "moved true plain false shut false tick true ")
	next := must(b.st.Overview(b.ctx, "default"))(b).Next
	want(b, "overview", fmt.Sprintf("%d %s %v", len(next), next[0].Schedule, next[2].NextAt.Equal(one)), "3 plain true")
	paused := must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	want(b, "paused", paused.NextRunAt.IsZero(), true)
	want(b, "resumed", must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b).NextRunAt, one)
	made.Description = "edited"
	want(b, "updated", must(b.st.UpdateSchedule(b.ctx, made))(b).NextRunAt, one)
	l := must(b.st.Look(b.ctx, schedule.LookQuery{Name: "tick", N: 1, RunsOnly: true}))(b)
	want(b, "runs only", l.Coming[0].Nominal, one)
}

func caseAnEditedCalendarTakesEffectAtTheNextRun(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 14:00-15:00")
	b.schedule("tick", "tick", every(time.Minute), blackout("lunch"), overlap(schedule.OverlapAllow))
	b.fire()
	before := b.get("tick")
	b.calendar("lunch", "* 12:00-12:02")
	after := b.get("tick")
	want(b, "next run", after.NextRunAt, Epoch.Add(2*time.Minute))
	want(b, "next run before", before.NextRunAt, before.NextAt)
	after.NextRunAt = before.NextRunAt
	want(b, "schedule", jsonOf(after), jsonOf(before))
	schedules{b}.next()
	schedules{b}.next()
	b.calendar("lunch", "* 12:03-12:04")
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped blackout, 2m job, 3m skipped blackout")
}

func caseACalendarWithTheNameOfOneThatWas(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-13:00")
	b.schedule("tick", "tick", every(time.Minute), blackout("lunch"), overlap(schedule.OverlapAllow))
	b.fire()
	sc := b.get("tick")
	sc.Blackout = nil
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	ok(b, b.st.DeleteCalendar(b.ctx, "default", "lunch"))
	b.calendar("lunch", "* 00:00-01:00")
	sc.Blackout = []string{"lunch"}
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s skipped blackout, 1m job")
}

func caseNextOpenMovesWhenARunIsDueAnd(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-12:30")
	b.schedule("tick", "tick", cron("0 12 * * *"), blackout("lunch"), nextOpen, func(s *schedule.Schedule) { s.Start = Epoch })
	b.fire()
	o, j := b.occurrences("tick")[0], b.jobsOf("tick")[0]
	want(b, "due", o.DueAt, Epoch.Add(30*time.Minute))
	want(b, "note", o.Note, "moved by calendar lunch: closed * 12:00-12:30")
	want(b, "decision", o.Decision, schedule.DecidedJob)
	want(b, "the job waits", j.State, job.Scheduled)
	want(b, "nominal", j.Nominal, Epoch)
	want(b, "the job is due", j.DueAt, Epoch.Add(30*time.Minute))
	b.clock.Move(30*time.Minute - time.Second)
	want(b, "too early", b.promote(), 0)
	b.clock.Move(time.Second)
	want(b, "promoted", b.promote(), 1)
}

func caseAManifestCarriesCalendars(b *bench) {
	m := func() view.Manifest {
		return view.Manifest{
			Calendars: []schedule.Calendar{closes("lunch", "* 12:00-13:00"), closes("spare", "MON")},
			Tasks:     []task.Task{{Name: "a"}},
			Schedules: []schedule.Schedule{{Name: "s", Task: "a", Rules: []schedule.Rule{{Cron: "0 * * * *"}}, Blackout: []string{"lunch"}}},
		}
	}
	want(b, "plan", manifests{b}.apply(m(), view.ApplyOptions{}), "create calendar lunch, create calendar spare, create task a, create schedule s")
	want(b, "second apply", manifests{b}.apply(m(), view.ApplyOptions{}), "keep calendar lunch, keep calendar spare, keep task a, keep schedule s")
	edited := m()
	edited.Calendars[0].Description = "d"
	want(b, "edit", manifests{b}.apply(edited, view.ApplyOptions{DryRun: true}), `update calendar lunch (description: (none) -> "d"), keep calendar spare, keep task a, keep schedule s`)
	want(b, "after the dry run", must(b.st.Calendar(b.ctx, "default", "lunch"))(b).Generation, 1)
	exported := must(b.st.Export(b.ctx, ""))(b)
	want(b, "exported", len(exported.Calendars), 2)
	want(b, "export", jsonOf(exported.Calendars[0]), jsonOf(closes("lunch", "* 12:00-13:00").WithDefaults()))
	for _, c := range must(b.st.Apply(b.ctx, exported, view.ApplyOptions{Prune: true}))(b).Changes {
		want(b, c.Noun+" "+c.Name, c.Action, view.ActionKeep)
	}
	gone := m()
	gone.Calendars = gone.Calendars[1:]
	_, err := b.st.Apply(b.ctx, gone, view.ApplyOptions{Prune: true})
	wantCode(b, err, core.Conflict, `schedule "s" refers to calendar "lunch"`)
	gone.Schedules = nil
	want(b, "prune", manifests{b}.apply(gone, view.ApplyOptions{Prune: true}), "keep calendar spare, keep task a, delete schedule s, delete calendar lunch")
	bad := m()
	bad.Calendars[0].Closings[0].Weekly = "FUNDAY"
	_, err = b.st.Apply(b.ctx, bad, view.ApplyOptions{})
	wantCode(b, err, core.Invalid, "calendars[0].closings[0]")
	bad = m()
	bad.Schedules[0].Blackout = []string{"nobody"}
	_, err = b.st.Apply(b.ctx, bad, view.ApplyOptions{})
	wantCode(b, err, core.Invalid, "schedules[0].blackout[0]")
	want(b, "calendars after a refused apply", b.count(`select count(*) from belfry.calendars`), 1)
}

func caseACalendarOfADryRunIsNotCached(b *bench) {
	b.task("tick")
	b.calendar("lunch", "* 12:00-12:01")
	b.schedule("tick", "tick", every(time.Minute), blackout("lunch"), overlap(schedule.OverlapAllow))
	b.fire()
	m := must(b.st.Export(b.ctx, ""))(b)
	m.Calendars[0] = closes("lunch", "* 12:01-13:00")
	m.Schedules[0].Description = "so that it is planned anew"
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b)
	b.clock.Move(time.Millisecond)
	m.Calendars[0] = closes("lunch", "* 12:02-13:00")
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)
	schedules{b}.next()
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s skipped blackout, 1m job, 2m skipped blackout")
}

func caseAScheduleMadeWhileItsCalendarIsDeletedHas(b *bench, nodes []*store.Store) {
	b.task("t")
	for i := range 10 {
		name := fmt.Sprint("c", i)
		b.calendar(name, "MON")
		b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, k int) error {
			var err error
			if k%2 == 0 {
				err = st.DeleteCalendar(ctx, "default", name)
			} else {
				_, err = st.CreateSchedule(ctx, schedule.Schedule{Name: fmt.Sprint("s", i, "-", k), Task: "t", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Blackout: []string{name}})
			}
			switch core.CodeOf(err) {
			case core.Conflict, core.NotFound, core.Invalid:
				return nil
			}
			return err
		})
	}
	for _, sc := range must(b.st.Schedules(b.ctx, schedule.Filter{Paging: core.Paging{Limit: 1000}}))(b).Items {
		if _, err := b.st.Calendar(b.ctx, "default", sc.Blackout[0]); err != nil {
			b.Errorf("calendar of schedule %s: %v", sc.Name, err)
		}
	}
}

func caseAManifestWhoseOneShotHasFiredIsApplied(b *bench) {
	m := view.Manifest{Tasks: []task.Task{{Name: "a"}}, Schedules: []schedule.Schedule{
		{Name: "once", Task: "a", Rules: []schedule.Rule{{At: []time.Time{Epoch.Add(time.Minute)}}}},
		{Name: "until", Task: "a", Rules: []schedule.Rule{{Cron: "* * * * *"}}, End: Epoch.Add(time.Minute)},
	}}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)
	schedules{b}.next()
	b.clock.Move(time.Hour)
	for _, name := range []string{"once", "until"} {
		want(b, name, b.get(name).State, schedule.Completed)
	}
	before := manifests{b}.everything()
	want(b, "second apply", manifests{b}.apply(m, view.ApplyOptions{Prune: true}), "keep task a, keep schedule once, keep schedule until")
	want(b, "database after the second apply", manifests{b}.everything(), before)
	m.Schedules[0].Description = "done" // an edit that keeps the times is an edit like any other
	want(b, "described", manifests{b}.apply(m, view.ApplyOptions{}), `keep task a, update schedule once (description: (none) -> "done"), keep schedule until`)
	want(b, "jobs", b.fire().Jobs, 0)
	want(b, "occurrences", schedules{b}.said("once"), "1m job")
}

func caseACompletedScheduleThatIsGivenANewTime(b *bench) {
	b.task("once")
	b.schedule("once", "once", at(Epoch.Add(time.Minute)), overlap(schedule.OverlapAllow))
	schedules{b}.next()
	want(b, "state", b.get("once").State, schedule.Completed)
	sc := b.get("once")
	sc.Rules[0].At = append(sc.Rules[0].At, Epoch.Add(3*time.Minute))
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "next time", sc.NextAt, Epoch.Add(3*time.Minute))
	for range 4 {
		schedules{b}.next()
	}
	want(b, "occurrences", schedules{b}.said("once"), "1m job, 3m job")
	want(b, "state", b.get("once").State, schedule.Completed)
	sc = b.get("once")
	sc.Rules[0].At = []time.Time{Epoch}
	_, err := b.st.UpdateSchedule(b.ctx, sc)
	wantCode(b, err, core.Invalid, "never match after")
}

func caseOverlapCancelOther(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapCancelOther), func(s *schedule.Schedule) { s.MaxRuns = 3 })
	b.fire()
	schedules{b}.next()
	b.clock.Move(time.Minute)
	sc := b.get("tick")
	sc.Description = "an edit fires what is due first"
	want(b, "runs after the edit", must(b.st.UpdateSchedule(b.ctx, sc))(b).Runs, 3)
	schedules{b}.next()
	sc = b.get("tick")
	want(b, "runs", sc.Runs, 3)
	want(b, "state", sc.State, schedule.Completed)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m job, 2m job")
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 1)
}

func caseACompletedScheduleThatIsGivenMoreRunsGoes(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapAllow), func(s *schedule.Schedule) { s.MaxRuns = 1 })
	b.fire()
	b.clock.Move(90 * time.Second)
	sc := b.get("tick")
	want(b, "state", sc.State, schedule.Completed)
	sc.MaxRuns = 2
	sc = must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "next time", sc.NextAt, Epoch.Add(2*time.Minute))
	schedules{b}.next()
	schedules{b}.next()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 2m job")
	want(b, "live jobs", len(b.jobsOf("tick", live...)), 2)
}

func caseAnEditOfAPausedSchedulesTimesLeavesThe(b *bench) {
	b.task("tick")
	b.schedule("tick", "tick", every(time.Minute), overlap(schedule.OverlapAllow))
	b.fire()
	must(b.st.PauseSchedule(b.ctx, "default", "tick", ""))(b)
	b.clock.Move(5*time.Minute + 30*time.Second)
	sc := b.get("tick")
	sc.Rules = []schedule.Rule{{Cron: "*/2 * * * *"}}
	sc.Start = time.Time{}
	must(b.st.UpdateSchedule(b.ctx, sc))(b)
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped paused x5")
	b.clock.Move(3 * time.Minute)
	must(b.st.ResumeSchedule(b.ctx, "default", "tick", false))(b)
	b.clock.Move(90 * time.Second)
	b.fire()
	want(b, "occurrences", schedules{b}.said("tick"), "0s job, 1m skipped paused x5, 6m skipped paused x2, 10m job")
}
