package cycle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// roundabout is a small world of cycles that share members. It carries out the
// decisions of [Run.Next] like the store, and records all events in a diary, by a
// clock that is never set. The reference model decides from this diary alone.
type roundabout struct {
	*rapid.T
	passed  time.Duration // since the start, by the clock that is never set
	wall    time.Time     // the reference clock, which may be set
	timings map[string]task.MemberTiming
	lasts   int64 // last job ID
	live    []*trip
	gone    []*trip
	diary   []ride
}

// trip is a running cycle with its data in the model.
type trip struct {
	run   Run
	began time.Duration
	rides []int // indexes in the diary of the members that ran
}

// ride is one run of a member.
type ride struct {
	task    string
	job     int64
	turn    time.Duration // when its turn came
	start   time.Duration // when it began, after its pause
	started bool
	end     time.Duration
	state   MemberState // empty: running
}

var riders = []string{"a", "b", "c", "d"}

// drawCycle returns a cycle of some riders, in random order.
func (w *roundabout) drawCycle() task.Cycle {
	names := rapid.Permutation(riders).Draw(w.T, "order")
	names = names[:rapid.IntRange(1, len(names)).Draw(w.T, "members")]
	c := task.Cycle{}
	if rapid.Bool().Draw(w.T, "staggered") {
		c.Stagger = core.Duration(20 * time.Minute)
	}
	for _, n := range names {
		m := task.Member{Task: n, OnFailure: rapid.SampledFrom([]task.OnFailure{"", task.FailureContinue, task.FailureStop}).Draw(w.T, "on failure")}
		m.Every = core.Duration(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 3 * time.Hour, 24 * time.Hour}).Draw(w.T, "every"))
		c.Members = append(c.Members, m)
	}
	return c.WithDefaults()
}

func (w *roundabout) begin() {
	if len(w.live) == 4 {
		return
	}
	w.lasts++
	c := w.drawCycle()
	w.live = append(w.live, &trip{began: w.passed, run: Run{
		JobID: w.lasts, Namespace: "default", Cycle: "c", StartedAt: w.wall, Members: c.Members, Stagger: c.Stagger, Results: []MemberResult{},
	}})
	w.goOn(w.live[len(w.live)-1])
}

// answer is the decision of the model about the current member.
type answer struct {
	done bool
	skip string // a word that the reason must contain
	wait int64
	late core.Duration // upper bound of the pause; 0: none
}

// model decides from the diary.
func (w *roundabout) model(tr *trip) answer {
	i := len(tr.run.Results)
	if i == len(tr.run.Members) {
		return answer{done: true}
	}
	for k, r := range tr.run.Results {
		if r.State == MemberFailed && tr.run.Members[k].OnFailure == task.FailureStop {
			return answer{skip: tr.run.Members[k].Task + " failed"}
		}
	}
	m := tr.run.Members[i]
	for _, s := range tr.run.Skip {
		if s == m.Task {
			return answer{skip: "left out by ann"}
		}
	}
	var last *ride
	for k := range w.diary {
		if r := &w.diary[k]; r.task == m.Task {
			switch {
			case r.state == "":
				return answer{wait: r.job}
			case r.state == MemberOK && (last == nil || r.end >= last.end):
				last = r
			}
		}
	}
	tolerance := min(m.Every.D()/10, 5*time.Minute)
	if last != nil && w.passed-last.start < m.Every.D()-tolerance {
		return answer{skip: "not due"}
	}
	if len(tr.rides) > 0 {
		return answer{late: tr.run.Stagger}
	}
	return answer{}
}

// goOn continues a cycle as far as possible, and compares each step with the model.
func (w *roundabout) goOn(tr *trip) {
	for {
		timing := func(task string) task.MemberTiming { return w.timings[task] }
		got, want := tr.run.Next(timing, w.wall), w.model(tr)
		if again := tr.run.Next(timing, w.wall); !reflect.DeepEqual(got, again) {
			w.Fatalf("asked twice, it says %+v and %+v", got, again)
		}
		pause := got.At.Sub(w.wall)
		switch i := len(tr.run.Results); {
		case got.Done != want.done, got.Wait != want.wait, (got.Skip == "") != (want.skip == ""), !strings.Contains(got.Skip, want.skip):
			w.Fatalf("after %v, of %+v: %+v, the model says %+v", tr.run.Results, tr.run.Members, got, want)
		case got.Done:
			w.end(tr)
			return
		case got.Member.Task != tr.run.Members[i].Task:
			w.Fatalf("it is the turn of %s, not of %s", tr.run.Members[i].Task, got.Member.Task)
		case pause < 0, want.late == 0 && pause > 0, want.late > 0 && pause >= want.late.D():
			w.Fatalf("a pause of %s, and the most is %s", pause, want.late)
		case got.Wait != 0:
			tr.run.WaitsFor = got.Wait
			return
		case got.Skip != "":
			tr.run.Results = append(tr.run.Results, MemberResult{Task: got.Member.Task, State: MemberSkipped, Reason: got.Skip})
		default:
			w.lasts++
			tr.rides = append(tr.rides, len(w.diary))
			w.diary = append(w.diary, ride{task: got.Member.Task, job: w.lasts, turn: w.passed, start: w.passed + pause})
			t := w.timings[got.Member.Task]
			t.RunningJob = w.lasts
			w.timings[got.Member.Task] = t
			tr.run.Current, tr.run.MemberJob, tr.run.WaitsFor = got.Member.Task, w.lasts, 0
			return
		}
	}
}

// settle ends the run of a member, which may not have begun, and continues the cycles
// that waited for it.
func (w *roundabout) settle(tr *trip, state MemberState) {
	r := &w.diary[tr.rides[len(tr.rides)-1]]
	r.end, r.state = w.passed, state
	if !r.started && state != MemberSkipped {
		r.start = max(r.start, r.turn) // it begins when its pause is over
		w.pass(max(0, r.start-w.passed))
		r.end = w.passed
	}
	t := w.timings[r.task]
	t.RunningJob = 0
	if state == MemberOK {
		t.StartedAt, t.SucceededAt = w.wall.Add(r.start-w.passed), w.wall
	}
	w.timings[r.task] = t
	tr.run.Results = append(tr.run.Results, MemberResult{Task: r.task, State: state, JobID: r.job})
	tr.run.Current, tr.run.MemberJob = "", 0
	w.goOn(tr)
	for _, other := range slices.Clone(w.live) {
		if other.run.WaitsFor == r.job {
			w.goOn(other)
		}
	}
}

func (w *roundabout) pass(d time.Duration) {
	w.passed += d
	w.wall = w.wall.Add(d)
}

// set sets the clock, and adjusts the times that are measured by it.
func (w *roundabout) set(by time.Duration) {
	w.wall = w.wall.Add(by)
	for task, t := range w.timings {
		if !t.StartedAt.IsZero() {
			t.StartedAt = t.StartedAt.Add(by)
			w.timings[task] = t
		}
	}
}

// end compares an ended cycle with the diary.
func (w *roundabout) end(tr *trip) {
	w.live = slices.DeleteFunc(w.live, func(other *trip) bool { return other == tr })
	w.gone = append(w.gone, tr)
	ran, n := 0, map[MemberState]int{}
	for i, m := range tr.run.Members {
		res := tr.run.Results[i]
		if res.Task != m.Task {
			w.Fatalf("result %d is of %s, member %d is %s", i, res.Task, i, m.Task)
		}
		n[res.State]++
		if res.JobID == 0 {
			if res.State != MemberSkipped || res.Reason == "" {
				w.Fatalf("%+v has not run and does not say why", res)
			}
			continue
		}
		if r := w.diary[tr.rides[ran]]; r.job != res.JobID || r.task != m.Task || r.state != res.State || ran > 0 && r.turn < w.diary[tr.rides[ran-1]].end {
			w.Fatalf("run %d was %+v, after %+v, and its result is %+v", ran, r, w.diary[tr.rides[max(0, ran-1)]], res)
		}
		ran++
	}
	if len(tr.run.Results) != len(tr.run.Members) || ran != len(tr.rides) || len(tr.run.Remaining()) != 0 {
		w.Fatalf("%d results of %d members, %d of %d ran", len(tr.run.Results), len(tr.run.Members), ran, len(tr.rides))
	}
	want := job.Succeeded
	switch {
	case n[MemberFailed] > 0:
		want = job.Failed
	case n[MemberOK] == 0:
		want = job.Skipped
	}
	s, out := tr.run.End(w.wall), tr.run.Output(w.wall)
	if s.State != want || (s.Error != "") != (want == job.Failed) || (s.Reason == ReasonNothingDue) != (want == job.Skipped) {
		w.Fatalf("it ends %+v, want %s: %+v", s, want, tr.run.Results)
	}
	if out.OK != n[MemberOK] || out.Failed != n[MemberFailed] || out.Skipped != n[MemberSkipped] || len(out.Members) != len(tr.run.Members) || out.Took < 0 {
		w.Fatalf("%+v does not sum up %+v", out, tr.run.Results)
	}
	if notification, told := EndedNotification(tr.run, "", w.wall); told != (n[MemberOK]+n[MemberFailed] > 0) || told && strings.Count(notification.Text, "\n") != len(tr.run.Members) {
		w.Fatalf("told: %t: %s", told, notification.Text)
	}
}

// check checks the invariants.
func (w *roundabout) check() {
	for _, task := range riders {
		var before, well *ride
		for i := range w.diary {
			r := &w.diary[i]
			if r.task != task {
				continue
			}
			if before != nil && (before.state == "" || r.turn < before.end) {
				w.Fatalf("%s runs twice at the same time: %+v and %+v", task, *before, *r)
			}
			if before = r; well != nil {
				if m := w.memberOf(r); r.turn-well.start < (m.Every - m.Slack()).D() {
					w.Fatalf("%s ran twice within %s: %+v and %+v", task, m.Every, *well, *r)
				}
			}
			if r.state == MemberOK {
				well = r
			}
		}
	}
	for _, tr := range w.live {
		if tr.run.Position()+len(tr.run.Remaining())+1 != len(tr.run.Members) {
			w.Fatalf("at place %d, %v are left of %d", tr.run.Position(), tr.run.Remaining(), len(tr.run.Members))
		}
	}
}

// memberOf returns the member whose settings caused a run.
func (w *roundabout) memberOf(r *ride) task.Member {
	for _, tr := range slices.Concat(w.live, w.gone) {
		for i, place := range tr.rides {
			if &w.diary[place] == r {
				at := slices.IndexFunc(tr.run.Members, func(m task.Member) bool { return m.Task == w.diary[tr.rides[i]].task })
				return tr.run.Members[at]
			}
		}
	}
	panic(fmt.Sprintf("run %d belongs to no cycle", r.job))
}

func (w *roundabout) step() {
	var running []*trip
	for _, tr := range w.live {
		if tr.run.MemberJob != 0 {
			running = append(running, tr)
		}
	}
	switch what := rapid.IntRange(0, 9).Draw(w.T, "what"); {
	case what < 3:
		w.begin()
	case what < 6 && len(running) > 0:
		tr := rapid.SampledFrom(running).Draw(w.T, "cycle")
		w.settle(tr, rapid.SampledFrom([]MemberState{MemberOK, MemberOK, MemberOK, MemberFailed, MemberSkipped}).Draw(w.T, "outcome"))
	case what == 6 && len(w.live) > 0:
		tr := rapid.SampledFrom(w.live).Draw(w.T, "cycle")
		tr.run.Skip, tr.run.SkippedBy = append(tr.run.Skip, rapid.SampledFrom(riders).Draw(w.T, "skip")), "ann"
		if tr.run.WaitsFor != 0 {
			w.goOn(tr)
		}
	case what == 7:
		w.set(rapid.SampledFrom([]time.Duration{-25 * time.Hour, -time.Hour, -time.Second, time.Second, time.Hour, 25 * time.Hour}).Draw(w.T, "set"))
	default:
		w.pass(rapid.SampledFrom([]time.Duration{time.Second, 50 * time.Second, 54 * time.Second, 30 * time.Minute, 55 * time.Minute, 175 * time.Minute, 24 * time.Hour}).Draw(w.T, "pass"))
	}
	for i := range w.diary {
		if r := &w.diary[i]; r.state == "" && r.start <= w.passed {
			r.started = true
		}
	}
}

func TestCyclesDecideAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &roundabout{T: t, wall: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), timings: map[string]task.MemberTiming{}}
		for range rapid.IntRange(5, 80).Draw(t, "steps") {
			w.step()
			w.check()
		}
		// All runs under way end once no more begin.
		for range 4 * len(riders) * 4 {
			at := slices.IndexFunc(w.live, func(tr *trip) bool { return tr.run.MemberJob != 0 })
			if at < 0 {
				break
			}
			w.settle(w.live[at], MemberOK)
			w.check()
		}
		if len(w.live) > 0 {
			t.Fatalf("%d cycles never end: %+v", len(w.live), w.live[0].run)
		}
	})
}
