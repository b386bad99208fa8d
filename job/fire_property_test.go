package job

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// clockRule is a rule of whole minutes in two forms: as a rule of Belfry, and as a
// predicate for every single minute.
type clockRule struct {
	cron    string
	matches func(hour, minute int) bool
}

var clockRules = []clockRule{
	{"* * * * *", func(_, _ int) bool { return true }},
	{"*/7 * * * *", func(_, m int) bool { return m%7 == 0 }},
	{"5,20,50 * * * *", func(_, m int) bool { return m == 5 || m == 20 || m == 50 }},
	{"0 */3 * * *", func(h, m int) bool { return h%3 == 0 && m == 0 }},
	{"30 9 * * *", func(h, m int) bool { return h == 9 && m == 30 }},
}

// naive is the reference model: it tests every minute and keeps lists.
type naive struct {
	s     schedule.Schedule
	rules []clockRule
	facts schedule.Facts
}

func (n naive) matches(t time.Time) bool {
	inSpan := (n.s.Start.IsZero() || !t.Before(n.s.Start)) && (n.s.End.IsZero() || !t.After(n.s.End))
	return inSpan && slices.ContainsFunc(n.rules, func(r clockRule) bool { return r.matches(t.Hour(), t.Minute()) })
}

// minutes returns all matching minutes in (after, upTo].
func (n naive) minutes(after, upTo time.Time) (list []time.Time) {
	for t := after.Truncate(time.Minute); !t.After(upTo); t = t.Add(time.Minute) {
		if t.After(after) && n.matches(t) {
			list = append(list, t)
		}
	}
	return list
}

// timesOf returns the nominal times that a row represents.
func (n naive) timesOf(t *rapid.T, o schedule.Occurrence) []time.Time {
	if o.Count == 1 {
		return []time.Time{o.Nominal}
	}
	list := n.minutes(o.Nominal.Add(-time.Second), o.Until)
	if len(list) == 0 || !list[0].Equal(o.Nominal) || !list[len(list)-1].Equal(o.Until) || o.Count != min(len(list), core.CountLimit+1) {
		t.Fatalf("%s should stand for %d times", occurrenceText(o), len(list))
	}
	return list
}

func said(o schedule.Occurrence) string {
	if o.Reason == "" {
		return string(o.Decision)
	}
	return string(o.Decision) + " " + string(o.Reason)
}

var (
	overlaps = []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapAllow}
	catchups = []schedule.Catchup{schedule.CatchupNone, schedule.CatchupLatest, schedule.CatchupAll}
)

func minutesAfter(t *rapid.T, from time.Time, least, most int, label string) time.Time {
	return from.Add(time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute)
}

// drawPolicy sets random policies.
func drawPolicy(t *rapid.T, s *schedule.Schedule) {
	s.Catchup = rapid.SampledFrom(catchups).Draw(t, "catchup")
	s.CatchupWindow = core.Duration(rapid.SampledFrom([]time.Duration{time.Minute, 30 * time.Minute, time.Hour, 5 * time.Hour}).Draw(t, "window"))
	s.CatchupMax = rapid.IntRange(1, 6).Draw(t, "catchup max")
	s.Overlap = rapid.SampledFrom(overlaps).Draw(t, "overlap")
	s.BufferMax = rapid.IntRange(1, 4).Draw(t, "buffer max")
	s.MaxRuns = rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 5, 40}).Draw(t, "max runs")
}

// drawTimes sets random rules, start and end.
func drawTimes(t *rapid.T, n *naive, now time.Time, finish bool) {
	s := &n.s
	s.Rules, n.rules, s.Start, s.End = nil, nil, time.Time{}, time.Time{}
	count := rapid.IntRange(0, 2).Draw(t, "rules")
	if !finish {
		count = max(count, 1)
	}
	for range count {
		r := rapid.SampledFrom(clockRules).Draw(t, "rule")
		n.rules = append(n.rules, r)
		s.Rules = append(s.Rules, schedule.Rule{Cron: r.cron})
	}
	if finish && (count == 0 || rapid.Bool().Draw(t, "from the finish")) {
		every := core.Duration(rapid.IntRange(1, 40).Draw(t, "every")) * core.Duration(time.Minute)
		s.Rules = append(s.Rules, schedule.Rule{Every: every, Anchor: schedule.AnchorFinish})
	}
	if rapid.IntRange(0, 3).Draw(t, "with start") == 0 {
		s.Start = minutesAfter(t, now, -600, 600, "start")
	}
	if rapid.IntRange(0, 3).Draw(t, "with end") == 0 {
		s.End = minutesAfter(t, core.Later(now, s.Start), 1, 3000, "end")
	}
	*s = s.WithDefaults()
}

// history is one schedule in a store that applies the decisions of package schedule,
// with an arbitrary clock.
type history struct {
	t       *rapid.T
	naive   // the model, with the facts of the store
	plan    schedule.Plan
	now     time.Time
	rows    map[time.Time]string // decision about every nominal time
	jobs    map[int64]*Job       // live jobs
	lastJob int64
	counted int64 // jobs of nominal times
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, now: at("09:00"), rows: map[time.Time]string{}, jobs: map[int64]*Job{}}
	h.s = schedule.Schedule{ID: 1, Name: "s", Task: "t"}
	drawPolicy(t, &h.s)
	drawTimes(t, &h.naive, h.now, true)
	h.compile()
	h.apply("begin", schedule.Begin(h.s, h.plan, h.facts, h.now))
	return h
}

func (h *history) compile() {
	plan, err := h.s.Plan()
	if err != nil {
		h.t.Fatal(err)
	}
	h.plan = plan
}

func (h *history) exhausted() bool {
	return h.s.MaxRuns > 0 && h.s.Runs+int64(len(h.facts.Buffered)) >= h.s.MaxRuns
}

// apply writes a decision as the store does, and checks every invariant.
func (h *history) apply(what string, f schedule.Firing) {
	checkRows(h.t, f, h.now)
	before, active := h.s, len(h.facts.Active)
	for _, id := range f.Terminate {
		h.drop(id)
	}
	if len(f.Terminate) > 0 {
		active = len(h.facts.Active)
	}
	for _, id := range f.Cancel {
		h.jobs[id].CancelAt = h.now
	}
	started := 0
	for _, o := range f.Unbuffered {
		if h.rows[o.Nominal] != "buffered" {
			h.t.Fatalf("%s: %s was %q and is decided again", what, in(o.Nominal), h.rows[o.Nominal])
		}
		h.rows[o.Nominal] = said(o)
		h.facts.Buffered = slices.DeleteFunc(h.facts.Buffered, func(b schedule.Occurrence) bool { return b.Nominal.Equal(o.Nominal) })
		started += h.startIf(o)
	}
	for _, o := range f.Occurrences {
		for _, at := range h.timesOf(h.t, o) {
			if was, twice := h.rows[at]; twice {
				h.t.Fatalf("%s: %s was %q and is now %q", what, in(at), was, said(o))
			}
			if at.After(h.now) && !(h.plan.Finish > 0 && h.s.HighWater.After(h.now)) {
				h.t.Fatalf("%s: %s is decided at %s", what, in(at), in(h.now))
			}
			h.rows[at] = said(o)
		}
		if o.Decision == schedule.DecidedBuffered {
			h.facts.Buffered = append(h.facts.Buffered, o)
			h.checkBuffer(what)
		}
		started += h.startIf(o)
	}
	if h.s.Overlap != schedule.OverlapAllow && started > 0 && started+active > 1 {
		h.t.Fatalf("%s: %d jobs start beside %d under %s", what, started, active, h.s.Overlap)
	}
	h.s.State, h.s.HighWater, h.s.NextAt, h.s.FinishAt, h.s.Runs = f.State, f.HighWater, f.NextAt, f.FinishAt, f.Runs
	h.checkState(what, before)
}

func (h *history) checkBuffer(what string) {
	limit := map[schedule.Overlap]int{schedule.OverlapBufferOne: 1, schedule.OverlapBufferAll: h.s.BufferMax, schedule.OverlapCancelOther: 1}[h.s.Overlap]
	if n := len(h.facts.Buffered); n > limit {
		h.t.Fatalf("%s: %d wait under %s of %d", what, n, h.s.Overlap, limit)
	}
}

func (h *history) checkState(what string, before schedule.Schedule) {
	s := h.s
	if s.HighWater.Before(before.HighWater) {
		h.t.Fatalf("%s: high water falls from %s to %s", what, in(before.HighWater), in(s.HighWater))
	}
	if s.Runs != h.counted {
		h.t.Fatalf("%s: %d runs are counted, %d jobs were made", what, s.Runs, h.counted)
	}
	if s.MaxRuns > 0 && s.Runs > max(s.MaxRuns, before.Runs) {
		h.t.Fatalf("%s: %d runs of %d", what, s.Runs, s.MaxRuns)
	}
	if before.State == schedule.Completed && what != "begin" && !reflect.DeepEqual(before, s) {
		h.t.Fatalf("%s: a completed schedule changed", what)
	}
	if s.State != schedule.Active {
		if !s.NextAt.IsZero() {
			h.t.Fatalf("%s: %s and yet next at %s", what, s.State, in(s.NextAt))
		}
		return
	}
	waits := len(h.facts.Active) > 0 && (h.plan.Finish > 0 || len(h.facts.Buffered) > 0)
	if s.NextAt.IsZero() && !waits {
		h.t.Fatalf("%s: active, with nothing planned and nothing to wait for", what)
	}
	if len(h.facts.Buffered) > 0 && len(h.facts.Active) == 0 {
		h.t.Fatalf("%s: %d wait for nothing", what, len(h.facts.Buffered))
	}
	if h.plan.Finish > 0 && len(h.facts.Active) == 0 && s.FinishAt.IsZero() && s.End.IsZero() && !h.exhausted() {
		h.t.Fatalf("%s: the loop from the finish has died", what)
	}
}

// startIf creates the job of an occurrence that was decided as a job.
func (h *history) startIf(o schedule.Occurrence) int {
	if o.Decision != schedule.DecidedJob {
		return 0
	}
	if at := o.Nominal; at.Before(h.s.Start) {
		h.t.Fatalf("%s runs before the start", in(at))
	}
	h.counted++
	h.enqueue()
	return 1
}

func (h *history) enqueue() {
	h.lastJob++
	h.jobs[h.lastJob] = &Job{ID: h.lastJob, State: Ready, MaxAttempts: 3}
	h.facts.Active = append(h.facts.Active, h.lastJob)
}

func (h *history) drop(id int64) {
	delete(h.jobs, id)
	h.facts.Active = slices.DeleteFunc(slices.Clone(h.facts.Active), func(a int64) bool { return a == id })
}

// fire fires a due schedule, after a crash and before a second node that does the
// same.
func (h *history) fire() {
	due := func() bool { return !h.s.NextAt.IsZero() && !h.s.NextAt.After(h.now) }
	if !due() {
		return
	}
	crashed := schedule.Fire(h.s, h.plan, h.facts, h.now)
	f := schedule.Fire(h.s, h.plan, h.facts, h.now)
	if !reflect.DeepEqual(f, crashed) {
		h.t.Fatalf("after a crash it says %s and not %s", told(f), told(crashed))
	}
	mark := h.s.HighWater
	h.apply("fire", f)
	h.noneLost("fire", mark, h.now)
	if h.s.State == schedule.Active {
		second := schedule.Fire(h.s, h.plan, h.facts, h.now)
		if len(second.Occurrences) > 0 {
			h.t.Fatalf("the second node decides %s", told(second))
		}
	}
}

// noneLost checks that every planned time in (after, upTo] has a decision.
func (h *history) noneLost(what string, after, upTo time.Time) {
	for _, at := range h.minutes(after, upTo) {
		if h.rows[at] == "" {
			h.t.Fatalf("%s: nothing became of %s", what, in(at))
		}
	}
}

func (h *history) withdrawBuffer(reason core.Reason) {
	for _, o := range h.facts.Buffered {
		h.rows[o.Nominal] = "skipped " + string(reason)
	}
	h.facts.Buffered = nil
}

// end lets a worker report the end of a job, or be lost.
func (h *history) end(outcome Outcome) {
	if len(h.facts.Active) == 0 {
		return
	}
	id := rapid.SampledFrom(h.facts.Active).Draw(h.t, "job")
	j := h.jobs[id]
	j.State, j.Attempt = Running, j.Attempt+1
	out := Settle(*j, task.Retry{}.WithDefaults(), Finish{Ref: Ref{JobID: id}, Outcome: outcome, Snooze: core.Duration(time.Minute)}, h.now)
	j.State, j.Failures, j.Snoozes = out.State, out.Failures, out.Snoozes
	if !out.State.Final() {
		return
	}
	h.drop(id)
	h.apply("ended", schedule.Ended(h.s, h.plan, h.facts, h.now))
}

func (h *history) pause() {
	h.fire()
	if h.s.State != schedule.Active {
		return
	}
	if !h.exhausted() {
		h.noneLost("pause", h.s.HighWater, h.now)
	}
	h.s.State, h.s.NextAt, h.s.HighWater = schedule.Paused, time.Time{}, core.Later(h.s.HighWater, h.now)
	h.withdrawBuffer(schedule.ReasonPaused)
}

func (h *history) resume(catchUp bool) {
	if h.s.State != schedule.Paused {
		return
	}
	mark := h.s.HighWater
	h.apply("resume", schedule.Resume(h.s, h.plan, h.facts, h.now, catchUp))
	h.noneLost("resume", mark, h.now)
}

func (h *history) editPolicy() {
	h.fire()
	drawPolicy(h.t, &h.s)
	h.apply2Ended()
}

// apply2Ended calls Ended as the store does after an edit that keeps the times. A
// completed schedule begins anew.
func (h *history) apply2Ended() {
	if h.s.State == schedule.Completed {
		h.apply("begin", schedule.Begin(h.s, h.plan, h.facts, h.now))
		return
	}
	h.apply("edit", schedule.Ended(h.s, h.plan, h.facts, h.now))
}

func (h *history) editTimes() {
	h.fire()
	paused := h.s.State == schedule.Paused
	if paused { // the pause so far is recorded under the old rules
		h.resume(false)
		h.s.State, h.s.NextAt = schedule.Paused, time.Time{}
	}
	drawTimes(h.t, &h.naive, h.now, true)
	h.compile()
	h.withdrawBuffer(schedule.ReasonEdited)
	h.apply("begin", schedule.Begin(h.s, h.plan, h.facts, h.now))
}

// settleDown ends all jobs while time passes.
func (h *history) settleDown() {
	for range 200 {
		if len(h.facts.Active) == 0 {
			return
		}
		h.end(OutcomeLost)
	}
	h.t.Fatalf("after 200 lost workers %d jobs are left and %d wait", len(h.facts.Active), len(h.facts.Buffered))
}

func TestNoHistoryLosesARunOrFiresOneTwice(t *testing.T) {
	t.Parallel()
	outcomes := []Outcome{OutcomeOK, OutcomeError, OutcomeTimeout, OutcomeCanceled, OutcomeLost, OutcomeSnoozed, OutcomeHandedBack}
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(map[string]func(*rapid.T){
			"a tick": func(t *rapid.T) {
				h.now = minutesAfter(t, h.now, 0, 20, "later")
				h.fire()
			},
			"a tick on the dot": func(*rapid.T) {
				if h.s.NextAt.After(h.now) && h.s.NextAt.Before(h.now.Add(25*time.Hour)) {
					h.now = h.s.NextAt
				}
				h.fire()
			},
			"a tick with seconds": func(t *rapid.T) {
				h.now = h.now.Add(time.Duration(rapid.IntRange(1, 90_000).Draw(t, "ms")) * time.Millisecond)
				h.fire()
			},
			"an outage": func(t *rapid.T) {
				h.now = minutesAfter(t, h.now, 0, 4500, "later")
				h.fire()
			},
			"the clock goes back": func(t *rapid.T) {
				h.now = minutesAfter(t, h.now, -90, 0, "earlier")
				h.fire()
			},
			"an attempt ends": func(t *rapid.T) { h.end(rapid.SampledFrom(outcomes).Draw(t, "outcome")) },
			"a job ends":      func(*rapid.T) { h.end(OutcomeOK) },
			"a pause":         func(*rapid.T) { h.pause() },
			"a resume":        func(*rapid.T) { h.resume(false) },
			"a resume with catch-up": func(*rapid.T) {
				h.resume(true)
			},
			"an edit of the policy": func(*rapid.T) { h.editPolicy() },
			"an edit of the times":  func(*rapid.T) { h.editTimes() },
			"a manual trigger":      func(*rapid.T) { h.enqueue() },
		})
		h.resume(false)
		h.settleDown()
	})
}
