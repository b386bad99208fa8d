package engine_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func hours(n int) core.Duration { return core.Duration(time.Duration(n) * time.Hour) }

// cycle creates a cycle with a schedule of the same name.
func (w *clockwork) cycle(name string, stagger time.Duration, rule schedule.Rule, members ...task.Member) {
	w.Helper()
	w.must(w.st.CreateTask(w.Context(), task.Task{Name: name, Cycle: &task.Cycle{Members: members, Stagger: core.Duration(stagger)}}))
	if rule.Cron != "" || rule.Every != 0 {
		w.must(w.st.CreateSchedule(w.Context(), schedule.Schedule{Name: name, Task: name, Rules: []schedule.Rule{rule}}))
	}
}

// jobs returns the jobs of a task, oldest first.
func (w *clockwork) jobs(task string) (all []job.Job) {
	w.Helper()
	for f := (job.Filter{Task: task, Paging: core.Paging{Limit: 1000}}); ; {
		p, err := w.st.Jobs(w.Context(), f)
		must(w.T, err)
		all = append(all, p.Items...)
		if f.Cursor = p.Next; f.Cursor == "" {
			slices.SortFunc(all, func(a, b job.Job) int { return int(a.ID - b.ID) })
			return all
		}
	}
}

// runs returns the runs of a member, in order, each with its start and outcome.
func (w *clockwork) runs(task string) (all []stint) {
	w.Helper()
	for _, s := range w.diary {
		if s.task != task {
			continue
		}
		if n := len(all) - 1; n >= 0 {
			if last := all[n]; last.end.IsZero() || s.start.Before(last.end) {
				w.Errorf("%s runs twice at the same time: %+v and %+v", task, last, s)
			}
			if all[n].job == s.job { // another attempt of the same run
				all[n].end, all[n].ok, all[n].attempt, all[n].lease = s.end, s.ok, s.attempt, s.lease
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// checkInterval checks that no run of a member begins within the interval after a
// successful one.
func (w *clockwork) checkInterval(t string, every core.Duration) {
	w.Helper()
	least := (every - task.Member{Every: every}.Slack()).D()
	var well stint
	for _, s := range w.runs(t) {
		if !well.start.IsZero() && s.start.Sub(well.start) < least {
			w.Errorf("%s ran at %s and again at %s", t, well.start, s.start)
		}
		if w.well(s) {
			well = s
		}
	}
}

// checkCycles checks that every cycle has ended, and that its members ran once
// each, in order, one after another, by the logs of their handlers.
func (w *clockwork) checkCycles(names ...string) {
	w.Helper()
	tries := map[int64][]stint{}
	for _, s := range w.diary {
		tries[s.job] = append(tries[s.job], s)
	}
	steps := map[int64]bool{}
	for _, name := range names {
		status, err := w.st.CycleStatus(w.Context(), "default", name)
		must(w.T, err)
		if status.Run != nil {
			w.Errorf("%s goes on: %+v", name, *status.Run)
		}
		for _, m := range status.Members {
			if m.Timing.RunningJob != 0 {
				w.Errorf("%s: %s is held by job %d", name, m.Task, m.Timing.RunningJob)
			}
		}
		ended := map[job.State]int{}
		for _, j := range w.jobs(name) {
			if ended[j.State]++; !j.State.Final() {
				w.Errorf("%s: job %d is %s", name, j.ID, j.State)
				continue
			}
			full, err := w.st.Job(w.Context(), "default", j.ID)
			must(w.T, err)
			var out cycle.Output
			must(w.T, json.Unmarshal(full.Output, &out))
			var before time.Time
			if len(out.Members) != len(status.Members) {
				w.Fatalf("%s: job %d has %d results of %d members", name, j.ID, len(out.Members), len(status.Members))
			}
			for i, m := range out.Members {
				if m.Task != status.Members[i].Task {
					w.Errorf("%s: job %d has %s in place %d", name, j.ID, m.Task, i)
				}
				if m.JobID == 0 {
					continue
				}
				if steps[m.JobID] {
					w.Errorf("job %d is a step twice", m.JobID)
				}
				steps[m.JobID] = true
				tries := tries[m.JobID]
				if deeds[m.Task] == nil {
					continue // no worker runs the cycle itself
				}
				if len(tries) == 0 || w.well(tries[len(tries)-1]) != (m.State == cycle.MemberOK) || tries[0].start.Before(before) {
					w.Errorf("%s: job %d says %+v, and it was %+v", name, j.ID, m, tries)
				}
				before = m.EndedAt
			}
		}
		if testing.Verbose() {
			w.Logf("%-8s %v", name, ended)
		}
	}
}

// An hourly and a daily member in one cycle, over 25 hours: the hourly member runs
// every hour and the daily member twice, however often the cycle runs.
func TestACycleOf25Hours(t *testing.T) {
	begin := day("2026-03-02")
	for name, rule := range map[string]schedule.Rule{
		"by the plan, every hour":        {Every: hours(1)},
		"by cron, every hour":            {Cron: "0 * * * *"},
		"by the plan, every half hour":   {Every: core.Duration(30 * time.Minute)},
		"by cron, every five minutes":    {Cron: "*/5 * * * *"},
		"from the finish, every minute":  {Every: core.Duration(time.Minute), Anchor: schedule.AnchorFinish},
		"from the finish, after an hour": {Every: hours(1), Anchor: schedule.AnchorFinish},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rotary(t, begin.Add(-time.Second), func(w *clockwork) {
				w.must(w.st.CreateTask(w.Context(), task.Task{Name: "all", Cycle: &task.Cycle{
					Members: []task.Member{{Task: "hourly", Every: hours(1)}, {Task: "daily", Every: hours(24)}},
				}}))
				w.must(w.st.CreateSchedule(w.Context(), schedule.Schedule{Name: "all", Task: "all", Rules: []schedule.Rule{rule}, Start: begin}))
				until(begin.Add(25*time.Hour + time.Minute))
				w.must(w.st.PauseSchedule(w.Context(), "default", "all", "the end"))
				until(begin.Add(26 * time.Hour))
				w.checkCycles("all")
				w.checkInterval("hourly", hours(1))
				w.checkInterval("daily", hours(24))
				hourly, daily := w.runs("hourly"), w.runs("daily")
				most, least := 26, 26 // at 0:00 and then every hour, the last one at 1:00 on the next day
				switch {
				case rule.Anchor == schedule.AnchorFinish && rule.Every == hours(1):
					most, least = 25, 23 // an hour and two minutes, and once 22, from one to the next
				case rule.Anchor == schedule.AnchorFinish || rule.Cron == "*/5 * * * *":
					most = 28 // looked at so often, it comes up to five minutes early
				}
				if len(hourly) < least || len(hourly) > most || len(daily) != 2 {
					w.Errorf("the hourly one ran %d times, the daily one %d", len(hourly), len(daily))
				}
			})
		})
	}
}

// Two weeks of cycles with shared members. Members fail, are retried and hang;
// workers are lost; the engine and the whole node stop for a while.
func TestTwoWeeksOfCycles(t *testing.T) {
	begin := day("2026-03-02")
	end := begin.Add(14 * 24 * time.Hour)
	names := []string{"planned", "often", "loop", "night", "inner"}
	rotary(t, begin, func(w *clockwork) {
		w.cycle("inner", 0, schedule.Rule{}, task.Member{Task: "doomed", OnFailure: task.FailureStop}, task.Member{Task: "any"})
		w.cycle("planned", 0, schedule.Rule{Every: hours(1)},
			task.Member{Task: "hourly", Every: hours(1)}, task.Member{Task: "shaky"}, task.Member{Task: "daily", Every: hours(24)})
		w.cycle("often", time.Minute, schedule.Rule{Cron: "*/20 * * * *"},
			task.Member{Task: "daily", Every: hours(24)}, task.Member{Task: "stuck", Every: hours(2)}, task.Member{Task: "hourly", Every: hours(1)})
		w.cycle("loop", 2*time.Minute, schedule.Rule{Every: core.Duration(45 * time.Minute), Anchor: schedule.AnchorFinish},
			task.Member{Task: "shaky", MaxAttempts: 2}, task.Member{Task: "stuck", Every: hours(2), Timeout: core.Duration(5 * time.Minute)},
			task.Member{Task: "doomed", OnFailure: task.FailureStop}, task.Member{Task: "any"})
		w.cycle("night", 0, schedule.Rule{Cron: "30 3 * * *"}, task.Member{Task: "inner"}, task.Member{Task: "hourly", Every: hours(1)}, task.Member{Task: "any"})

		at := func(days int, clock string) {
			d, err := time.ParseDuration(clock)
			must(w.T, err)
			until(begin.Add(time.Duration(days)*24*time.Hour + d))
		}
		for i := range 6 { // a worker is cut off, in the midst of what it does, and comes back
			at(1, []string{"0h1m", "3h41m", "6h0m30s", "11h20m10s", "15h2m", "20h45m"}[i])
			w.links[i%2].cut.Store(true)
			at(1, []string{"2h", "5h", "8h", "13h", "17h", "22h"}[i])
			w.links[i%2].cut.Store(false)
		}
		at(2, "4h0m30s")
		w.links[0].cut.Store(true) // both, for longer than a run takes
		w.links[1].cut.Store(true)
		at(2, "9h10m")
		w.links[0].cut.Store(false)
		w.links[1].cut.Store(false)
		at(3, "6h0m45s")
		w.engine() // nothing begins, and what runs is settled
		at(3, "15h20m")
		w.startEngine()
		at(4, "10h1m") // the workers stop as they should, and what they had is handed back
		w.workers()
		at(4, "12h31m")
		w.startWorkers()
		at(5, "0h0m20s")
		w.close()
		at(7, "7h7m")
		w.open()
		w.startEngine()
		w.startWorkers()
		for d := 8; d < 11; d++ { // one after another, day after day
			at(d, "3h31m")
			w.links[0].cut.Store(true)
			at(d, "8h40m")
			w.links[0].cut.Store(false)
			w.engine()
			at(d, "9h10m")
			w.startEngine()
		}
		until(end)
		for _, name := range []string{"planned", "often", "loop", "night"} {
			w.must(w.st.PauseSchedule(w.Context(), "default", name, "the end"))
		}
		until(end.Add(6 * time.Hour))
		w.checkCycles(names...)
		w.checkInterval("hourly", hours(1))
		w.checkInterval("daily", hours(24))
		w.checkInterval("stuck", hours(2))
		w.checkLastDays(end)
	})
}

// checkLastDays checks that every cycle and member ran as often as planned in the
// last two days, which had no faults.
func (w *clockwork) checkLastDays(end time.Time) {
	w.Helper()
	from := end.Add(-48 * time.Hour)
	for name, least := range map[string]int{"planned": 48, "often": 90, "loop": 30, "night": 2, "inner": 2} {
		n := 0
		for _, j := range w.jobs(name) {
			if j.CreatedAt.After(from) && !j.CreatedAt.After(end) && j.State.Final() {
				n++
			}
		}
		if n < least {
			w.Errorf("%s ended %d times in the last two days, want %d", name, n, least)
		}
	}
	for task, want := range map[string][2]int{"hourly": {44, 53}, "daily": {2, 2}, "stuck": {20, 60}, "shaky": {70, 120}, "doomed": {30, 60}, "any": {20, 70}} {
		n := 0
		for _, s := range w.runs(task) {
			if s.start.After(from) && !s.start.After(end) {
				n++
			}
		}
		if n < want[0] || n > want[1] {
			w.Errorf("%s ran %d times in the last two days, want %d to %d", task, n, want[0], want[1])
		}
	}
}
