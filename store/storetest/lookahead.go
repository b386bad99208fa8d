package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// forecasts is a bench for previews and forecasts.
type forecasts struct{ *bench }

// ahead lists the upcoming runs as minutes since the epoch and names.
func (b forecasts) ahead(a schedule.Ahead) string {
	b.Helper()
	var all []string
	for _, c := range must(b.st.Upcoming(b.ctx, a))(b) {
		text := core.Duration(c.Nominal.Sub(Epoch)).String() + " " + c.Schedule
		if c.Skipped != "" {
			text += " " + string(c.Skipped)
		} else if !c.DueAt.Equal(c.Nominal) {
			text += " due " + core.Duration(c.DueAt.Sub(Epoch)).String()
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// load returns a forecast as minutes since the epoch and starts.
func (b forecasts) load(a schedule.Ahead) string {
	b.Helper()
	f := must(b.st.Forecast(b.ctx, a))(b)
	want(b, "partial", f.Partial, false)
	var all []string
	for _, l := range f.Loads {
		all = append(all, fmt.Sprintf("%s %d %s", core.Duration(l.Minute.Sub(Epoch)), l.Starts, strings.Join(l.Schedules, "+")))
	}
	return strings.Join(all, ", ")
}

// listed returns the next times of a preview, as minutes since the epoch.
func listed(l schedule.Look) string {
	var all []string
	for _, c := range l.Coming {
		all = append(all, core.Duration(c.Nominal.Sub(Epoch)).String())
	}
	return strings.Join(all, " ")
}

func init() {
	add("upcoming lists what all schedules of a namespace do, soonest first, and leaves out those that rest", caseUpcomingListsWhatAllSchedulesOfANamespaceDo)
	add("a forecast counts starts where they really are, jitter included, and is what then happens", caseAForecastCountsStartsWhereTheyReallyAre)
	add("a forecast counts checks of monitors only if it is asked to", caseAForecastCountsChecksOfMonitorsOnlyIfIt)
	add("a forecast by hour, in a zone, names those that start most often, and counts schedules of one rule as each", caseAForecastByHour)
	add("a forecast of many schedules counts each hour as a look at every single time does", caseAForecastOfManySchedulesCountsEachHourAs)
	add("a look at a saved schedule: sentences, next times, and why a time is or is not one of them", caseALookAtASavedSchedule)
	add("a look at a draft needs neither name nor task, knows the calendars, and saves nothing", caseALookAtADraftNeedsNeitherNameNor)
	add("a look at a draft of a saved schedule says what the edit changes", caseALookAtADraftOfASavedSchedule)
}

func caseUpcomingListsWhatAllSchedulesOfANamespaceDo(b *bench) {
	b.task("t")
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: "t", Kind: task.KindFunc}))(b)
	b.calendar("lunch", "* 12:20-12:30")
	b.schedule("tens", "t", cron("*/10 * * * *"), blackout("lunch"))
	b.schedule("quarters", "t", cron("5/15 * * * *"), blackout("lunch"), nextOpen)
	b.schedule("twice", "t", cron("*/7 * * * *"), func(s *schedule.Schedule) { s.MaxRuns = 2 })
	b.schedule("paused", "t", cron("* * * * *"))
	must(b.st.PauseSchedule(b.ctx, "default", "paused", ""))(b)
	b.schedule("hand", "t")
	b.schedule("loop", "t", afterFinish(8*time.Minute))
	b.schedule("other", "t", cron("0 * * * *"), func(s *schedule.Schedule) { s.Namespace = "other" })
	b.fire() // the loop's first run is in progress
	s := b.session("t")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	half := schedule.Ahead{Within: 30 * time.Minute}
	want(b, "half an hour", forecasts{b}.ahead(half), "5m quarters, 7m twice, 8m loop, 10m tens, 14m twice, 20m quarters due 30m, 20m tens blackout, 30m tens")
	want(b, "a limit", forecasts{b}.ahead(schedule.Ahead{Within: 30 * time.Minute, Limit: 3}), "5m quarters, 7m twice, 8m loop")
	want(b, "runs from 24m on", forecasts{b}.ahead(schedule.Ahead{From: Epoch.Add(24 * time.Minute), Within: 10 * time.Minute}), "28m twice, 30m tens")
	want(b, "a span holds its begin and not its end", forecasts{b}.ahead(schedule.Ahead{From: Epoch.Add(28 * time.Minute), Within: 2 * time.Minute}), "28m twice")
	want(b, "another namespace", forecasts{b}.ahead(schedule.Ahead{Namespace: "other", Within: time.Hour}), "1h other")
	want(b, "runs of a namespace without schedules", forecasts{b}.ahead(schedule.Ahead{Namespace: "nowhere"}), "")
	if all := (forecasts{b}).ahead(schedule.Ahead{Namespace: core.AnyNamespace, Within: time.Hour}); !strings.Contains(all, "1h other") || !strings.Contains(all, "1h tens") {
		b.Fatalf("upcoming of all namespaces: got %s, want other and tens", all)
	}
	want(b, "load", forecasts{b}.load(half), "5m 1 quarters, 7m 1 twice, 8m 1 loop, 10m 1 tens, 14m 1 twice, 30m 2 quarters+tens")
	for field, a := range map[string]schedule.Ahead{"within": {Within: 32 * 24 * time.Hour}, "limit": {Limit: -1}} {
		_, err := b.st.Upcoming(b.ctx, a)
		wantCode(b, err, core.Invalid, field)
		_, err = b.st.Forecast(b.ctx, a)
		wantCode(b, err, core.Invalid, field)
	}
}

func caseAForecastCountsStartsWhereTheyReallyAre(b *bench) {
	b.task("t")
	for i := range 12 {
		b.schedule(fmt.Sprintf("s%02d", i), "t", cron("30 12 * * *"), func(s *schedule.Schedule) { s.Jitter = core.Duration(20 * time.Minute) })
	}
	b.schedule("sharp", "t", cron("30 12 * * *"))
	f := must(b.st.Forecast(b.ctx, schedule.Ahead{Within: time.Hour}))(b)
	b.clock.Move(30 * time.Minute)
	b.fire()
	starts := map[time.Time]int{}
	for _, j := range must(b.st.Jobs(b.ctx, job.Filter{Paging: core.Paging{Limit: 100}}))(b).Items {
		starts[j.DueAt.Truncate(time.Minute)]++
	}
	total := 0
	for i, l := range f.Loads {
		want(b, "starts of "+l.Minute.String(), l.Starts, starts[l.Minute])
		total += l.Starts
		if i > 0 && !l.Minute.After(f.Loads[i-1].Minute) {
			b.Fatalf("loads: got %+v, want them in order of time", f.Loads)
		}
	}
	want(b, "all", total, 13)
	if len(f.Loads) < 4 {
		b.Fatalf("loads: got %+v, want at least 4 minutes, because of jitter", f.Loads)
	}
	for i := range 12 { // more schedules than a forecast names
		b.schedule(fmt.Sprint("more", i), "t", cron("0 14 * * *"))
	}
	f = must(b.st.Forecast(b.ctx, schedule.Ahead{From: Epoch.Add(119 * time.Minute), Within: 2 * time.Minute}))(b)
	want(b, "minutes", len(f.Loads), 1)
	want(b, "starts", f.Loads[0].Starts, 12)
	want(b, "named", len(f.Loads[0].Schedules), 10)
	begin := must(b.st.Forecast(b.ctx, schedule.Ahead{From: Epoch.Add(2 * time.Hour), Within: time.Minute}))(b)
	end := must(b.st.Forecast(b.ctx, schedule.Ahead{From: Epoch.Add(119 * time.Minute), Within: time.Minute}))(b)
	want(b, "loads of the span that begins with them, and of the one before", fmt.Sprint(len(begin.Loads), len(end.Loads)), "1 0")
}

func caseAForecastCountsChecksOfMonitorsOnlyIfIt(b *bench) {
	b.task("t")
	b.schedule("tens", "t", cron("*/10 * * * *"))
	for _, name := range []string{"a", "b"} {
		must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: name, Every: core.Duration(30 * time.Second), Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}}))(b)
	}
	starts := func(a schedule.Ahead) (n int) {
		a.Within = time.Hour
		for _, h := range must(b.st.Forecast(b.ctx, a))(b).Hours {
			n += h.Starts
		}
		return n
	}
	want(b, "starts without checks", starts(schedule.Ahead{}), 6)
	want(b, "starts with checks", starts(schedule.Ahead{Checks: true}), 6+2*120)
	ahead := must(b.st.Overview(b.ctx, "default"))(b).Ahead
	want(b, "forecast of the overview", fmt.Sprint(ahead.Schedules, ahead.Partial), "1 false")
}

func caseAForecastByHour(b *bench) {
	b.task("t")
	for i := range 12 {
		b.schedule(fmt.Sprintf("s%02d", i), "t", cron("30 12 * * *"))
	}
	b.schedule("tens", "t", cron("*/10 * * * *"))
	b.schedule("hashed", "t", cron("H * * * *"))
	b.schedule("thrice", "t", cron("*/7 * * * *"), func(s *schedule.Schedule) { s.MaxRuns = 3 })
	b.schedule("seconds", "t", cron("* * * * * *"), func(s *schedule.Schedule) { s.End = Epoch.Add(5 * time.Second) })
	a := schedule.Ahead{Within: 90 * time.Minute, ByHour: true}
	f := must(b.st.Forecast(b.ctx, a))(b)
	want(b, "schedules", f.Schedules, 16)
	want(b, "minutes", len(f.Loads), 0)
	busy := f.Busiest[0]
	want(b, "busiest", fmt.Sprint(busy.Minute.Sub(Epoch), busy.Starts, len(busy.Schedules)), "30m0s 13 10")
	var hours []string
	for _, h := range f.Hours {
		text := fmt.Sprintf("%s %d most %d at %s:", core.Duration(h.Hour.Sub(Epoch)), h.Starts, h.Most, core.Duration(h.Minute.Sub(Epoch)))
		for _, top := range h.Top {
			text += fmt.Sprintf(" %s/%s %d", top.Namespace, top.Schedule, top.Starts)
		}
		hours = append(hours, text)
	}
	want(b, "hours", len(hours), 2)
	if !strings.HasPrefix(hours[0], "0s 26 most 13 at 30m: default/seconds 5 default/tens 5 default/thrice 3 default/hashed 1 default/s00 1") &&
		!strings.HasPrefix(hours[0], "0s 27 most 13 at 30m: default/seconds 5 default/tens 5 default/thrice 3 default/hashed 1 default/s00 1") {
		b.Fatalf("hours: got %q, want the five most frequent schedules", hours)
	}
	a.Zone = "Asia/Kolkata" // half an hour off the others
	f = must(b.st.Forecast(b.ctx, a))(b)
	want(b, "the first hour of India", f.Hours[0].Hour, Epoch.Add(-30*time.Minute))
	want(b, "second hour of the forecast", f.Hours[1].Hour, Epoch.Add(30*time.Minute))
	a.Zone = "Mars/Olympus"
	_, err := b.st.Forecast(b.ctx, a)
	wantCode(b, err, core.Invalid, "zone")
	o := must(b.st.Overview(b.ctx, "default"))(b)
	want(b, "the overview is of 24 hours", len(o.Ahead.Hours), 25)
	want(b, "counted", o.Ahead.Schedules, 16)
}

func caseAForecastOfManySchedulesCountsEachHourAs(b *bench) {
	b.task("t")
	rates := func(name string, d time.Duration, change ...func(*schedule.Schedule)) {
		b.schedule(name, "t", append([]func(*schedule.Schedule){func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{Every: core.Duration(d)}} }}, change...)...)
	}
	for i := range 30 {
		rates(fmt.Sprintf("rate%02d", i), time.Duration(5+i*55/29)*time.Second)
	}
	rates("ends", 7*time.Second, func(s *schedule.Schedule) { s.End = Epoch.Add(150 * time.Minute) })
	rates("begins", 11*time.Second, func(s *schedule.Schedule) { s.Start = Epoch.Add(3*time.Hour + time.Second) })
	rates("some", 13*time.Second, func(s *schedule.Schedule) { s.MaxRuns = 1000 })
	rates("spread", 90*time.Second, func(s *schedule.Schedule) { s.Jitter = core.Duration(20 * time.Second) })
	for i := range 200 {
		b.schedule(fmt.Sprintf("cron%03d", i), "t", cron(fmt.Sprintf("%d/%d %s * * *", i%7, 9+i%20, []string{"*", "*/2", "9-17"}[i%3])))
	}
	within := 24 * time.Hour
	truth, all := map[time.Time]int{}, 0
	for _, sc := range must(b.st.Schedules(b.ctx, schedule.Filter{Paging: core.Paging{Limit: 1000}}))(b).Items {
		plan := must(sc.Plan())(b)
		for n, at := int64(0), Epoch; sc.MaxRuns == 0 || n < sc.MaxRuns; n++ {
			next := sc.Upcoming(plan, at, 1)
			if len(next) == 0 || next[0].After(Epoch.Add(within)) {
				break
			}
			at = next[0]
			truth[sc.ComingAt(plan, at).DueAt.Truncate(time.Hour)]++
			all++
		}
	}
	f := must(b.st.Forecast(b.ctx, schedule.Ahead{Within: within, ByHour: true}))(b)
	want(b, "partial", f.Partial, false)
	want(b, "hours", len(f.Hours), len(truth))
	for _, h := range f.Hours {
		want(b, "starts from "+h.Hour.String(), h.Starts, truth[h.Hour])
		all -= h.Starts
	}
	want(b, "not counted", all, 0)
}

func caseALookAtASavedSchedule(b *bench) {
	b.task("t")
	b.calendar("lunch", "* 12:20-12:30")
	b.schedule("tens", "t", cron("*/10 * * * *"), blackout("lunch"))
	l := must(b.st.Look(b.ctx, schedule.LookQuery{Name: "tens", N: 3}))(b)
	want(b, "times", listed(l), "10m 20m 30m")
	want(b, "skipped", l.Coming[1].Skipped, schedule.ReasonBlackout)
	want(b, "sentence", l.Explain[0], "Every 10 minutes, UTC time.")
	want(b, "schedule", jsonOf(l.Schedule), jsonOf(b.get("tens")))
	if l.Is != nil || l.Diff != nil || l.Zones == "" {
		b.Fatalf("preview of a saved schedule: got %+v, want no difference", l)
	}
	l = must(b.st.Look(b.ctx, schedule.LookQuery{Name: "tens", From: Epoch.Add(time.Hour), N: 1, At: Epoch.Add(20 * time.Minute)}))(b)
	want(b, "next times from the given time", listed(l), "1h")
	want(b, "the given time is a time of the rule", *l.Is, false)
	want(b, "why", strings.Join(l.Why, "; "), "*/10 * * * *: yes; no: calendar lunch: closed * 12:20-12:30")
	b.schedule("loop", "t", afterFinish(time.Minute))
	want(b, "a loop at rest", listed(must(b.st.Look(b.ctx, schedule.LookQuery{Name: "loop", From: Epoch.Add(-time.Second)}))(b)), "0s")
	b.fire()
	want(b, "a loop under way", listed(must(b.st.Look(b.ctx, schedule.LookQuery{Name: "loop"}))(b)), "")
	_, err := b.st.Look(b.ctx, schedule.LookQuery{Name: "nobody"})
	wantCode(b, err, core.NotFound, "nobody")
	_, err = b.st.Look(b.ctx, schedule.LookQuery{Namespace: "other", Name: "tens"})
	wantCode(b, err, core.NotFound, "tens")
	_, err = b.st.Look(b.ctx, schedule.LookQuery{})
	wantCode(b, err, core.Invalid, "name")
}

func caseALookAtADraftNeedsNeitherNameNor(b *bench) {
	b.calendar("lunch", "* 12:20-12:30")
	q := schedule.LookQuery{N: 2, Draft: &schedule.Schedule{Rules: []schedule.Rule{{Cron: "*/20 * * * *"}}, Blackout: []string{"lunch"}}}
	l := must(b.st.Look(b.ctx, q))(b)
	want(b, "times", listed(l), "20m 40m")
	want(b, "skipped", l.Coming[0].Skipped, schedule.ReasonBlackout)
	want(b, "changes of the draft", len(l.Diff), 0)
	want(b, "schedules", b.count(`select count(*) from belfry.schedules`), 0)
	want(b, "the question is as it was", q.Draft.Name+q.Draft.Zone, "")
	for field, change := range map[string]func(*schedule.Schedule){
		"rules[0].cron":    cron("never"),
		"zone":             func(s *schedule.Schedule) { s.Zone = "Mars/Olympus" },
		"rules":            cron("0 0 30 2 *"),
		"within[0]":        within("nobody"),
		"overlap":          overlap("sometimes"),
		"rules[0].dtstart": func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{RRule: "FREQ=DAILY", DTStart: "soon"}} },
	} {
		bad := *q.Draft
		change(&bad)
		_, err := b.st.Look(b.ctx, schedule.LookQuery{Draft: &bad})
		wantCode(b, err, core.Invalid, field)
	}
}

func caseALookAtADraftOfASavedSchedule(b *bench) {
	b.task("t")
	b.schedule("s", "t", cron("0 * * * *"), func(s *schedule.Schedule) { s.MaxRuns = 3 })
	b.clock.Move(time.Hour)
	b.fire()
	before := b.get("s")
	d := schedule.Schedule{Name: "ignored", Task: "t", Rules: []schedule.Rule{{Cron: "*/30 * * * *"}}, MaxRuns: 3}
	l := must(b.st.Look(b.ctx, schedule.LookQuery{Name: "s", Draft: &d, N: 4}))(b)
	var diff []string
	for _, s := range l.Diff {
		diff = append(diff, s.Change+core.Duration(s.Nominal.Sub(Epoch)).String())
	}
	want(b, "difference", strings.Join(diff, " "), "+1h30m =2h +2h30m =3h")
	want(b, "times", listed(l), "1h30m 2h 2h30m 3h")
	want(b, "reasons after the last run", fmt.Sprint(l.Coming[1].Skipped, l.Coming[2].Skipped), "max_runs")
	want(b, "saved", jsonOf(b.get("s")), jsonOf(before))
	// Phases hash the name, so a draft of the same rule has the same times.
	b.schedule("hashed", "t", cron("H * * * *"))
	l = must(b.st.Look(b.ctx, schedule.LookQuery{Name: "hashed", Draft: &schedule.Schedule{Rules: []schedule.Rule{{Cron: "H * * * *"}}}, N: 5}))(b)
	for _, s := range l.Diff {
		want(b, "change", s.Change, "=")
	}
	_, err := b.st.Look(b.ctx, schedule.LookQuery{Name: "s", Draft: &schedule.Schedule{Rules: []schedule.Rule{{Cron: "x"}}}})
	wantCode(b, err, core.Invalid, "rules[0].cron")
	_, err = b.st.Look(b.ctx, schedule.LookQuery{Name: "nobody", Draft: &d})
	wantCode(b, err, core.NotFound, "nobody")
}
