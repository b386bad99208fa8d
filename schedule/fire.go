package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Facts are the data about the jobs of a schedule that Fire needs.
type Facts struct {
	Active   []int64      // IDs of jobs that have not ended, oldest first
	Buffered []Occurrence // buffered occurrences, oldest first

	// If Limited, Room is how many jobs may be created, and Full why not more.
	Limited bool
	Room    int
	Full    string      // for people
	Why     core.Reason // default: ReasonQuota
}

// Firing is the result of [Fire], [Resume], [Begin] and [Ended]: rows to write
// and the new state of the schedule. The store writes all of it, or nothing, in
// the transaction that read the facts.
type Firing struct {
	Occurrences []Occurrence // decided now; each with DecidedJob needs a job
	Unbuffered  []Occurrence // buffered earlier and decided now; update their rows
	Cancel      []int64      // jobs to cancel
	Terminate   []int64      // jobs to end at once in the store; later results of their workers are stale

	State     State
	HighWater time.Time
	NextAt    time.Time // zero: nothing to do until a change
	FinishAt  time.Time
	Runs      int64
}

// Fire decides every nominal time of s in (high water, now]. It is the only code
// path, both for runs on time and for runs missed through downtime, a clock that
// jumped forward, or a busy node.
//
// Nominal times at or below the high-water mark are never decided again. So a
// clock that steps back fires nothing twice, and a second node with the same row
// fires nothing.
func Fire(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != Active {
		return keep(s)
	}
	d := newDecider(s, plan, f, now)
	run := d.catchUp()
	if d.finishDue() {
		nominal := d.finishTime(run)
		d.finishes = nominal
		run = append(run, nominal)
		d.out.FinishAt = time.Time{}
		d.out.HighWater = core.Later(d.out.HighWater, nominal)
		slices.SortFunc(run, time.Time.Compare)
		run = slices.CompactFunc(run, time.Time.Equal)
	}
	for _, nominal := range run {
		d.decide(nominal)
	}
	return d.finish()
}

// FarAhead reports that the high-water mark is more than a day after now. A clock
// that is set back by less only delays the next run.
func (s Schedule) FarAhead(now time.Time) bool { return s.HighWater.Sub(now) > 24*time.Hour }

// Resume resumes a paused schedule at now. The nominal times of the pause are
// recorded as skipped in one row, or caught up if catchUp is set.
//
// A high-water mark that is [Schedule.FarAhead] is of a clock that was wrong.
// Resume takes it back, which nothing else does: otherwise the schedule would be
// quiet until then, perhaps for years. Nominal times that have run have a row, and
// do not run again.
func Resume(s Schedule, plan Plan, f Facts, now time.Time, catchUp bool) Firing {
	s.State = Active
	if s.FarAhead(now) {
		s.HighWater = now
	}
	if catchUp {
		if plan.Finish > 0 && s.FinishAt.IsZero() && len(f.Active) == 0 {
			s.FinishAt = newDecider(s, plan, f, now).fresh(now)
		}
		return Fire(s, plan, f, now)
	}
	d := newDecider(s, plan, f, now)
	d.skipSpan(s.HighWater, now, ReasonPaused)
	if plan.Finish > 0 && (len(f.Active) == 0 || !s.FinishAt.IsZero()) {
		d.out.FinishAt = d.fresh(core.Later(s.FinishAt, now))
	}
	d.out.HighWater = core.Later(s.HighWater, now)
	return d.finish()
}

// Begin returns the first state of a schedule that is new or whose times were
// edited at now. No nominal time before now ever fires under the new rules.
func Begin(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State == "" || s.State == Completed {
		s.State = Active
	}
	d := newDecider(s, plan, f, now)
	d.out.FinishAt = time.Time{}
	if plan.Finish > 0 && len(f.Active) == 0 {
		d.out.FinishAt = d.fresh(now)
	}
	d.out.HighWater = core.Later(s.HighWater, now)
	if s.HighWater.IsZero() && !s.Start.IsZero() && s.Start.Equal(now) {
		d.out.HighWater = now.Add(-time.Microsecond)
	}
	return d.finish()
}

// Ended decides the effect of a job that just ended on its schedule: on the next
// time of a rule that counts from the finish, and on the buffer. f does not
// include the job. Ended runs in the transaction that settles the job, so the
// schedule always has a run or a next time.
func Ended(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != Active {
		return keep(s)
	}
	d := newDecider(s, plan, f, now)
	d.drainBuffer()
	return d.finish()
}

// keep returns a firing that does not change s.
func keep(s Schedule) Firing {
	return Firing{State: s.State, HighWater: s.HighWater, FinishAt: s.FinishAt, Runs: s.Runs}
}

// decider is the state of one decision. It changes only out.
type decider struct {
	s        Schedule
	plan     Plan
	now      time.Time
	active   []int64
	starting int       // jobs decided now, which have no ID yet
	finishes time.Time // the nominal time decided now that counts from a finish
	buffered []Occurrence
	limited  bool // room, full and why as in [Facts]
	capacity int
	full     string
	why      core.Reason
	out      Firing
}

func newDecider(s Schedule, plan Plan, f Facts, now time.Time) *decider {
	return &decider{s: s, plan: plan, now: now, active: f.Active, buffered: slices.Clone(f.Buffered), limited: f.Limited, capacity: f.Room, full: f.Full, why: core.Or(f.Why, ReasonQuota), out: keep(s)}
}

// catchUp returns the planned nominal times to run now, oldest first, and records
// the others as skipped. Missed runs are judged before any counts against
// max_runs. The newest are found by going back from now, so a long outage costs
// no more than a short one.
func (d *decider) catchUp() []time.Time {
	floor, window, most, reason := d.s.HighWater, d.s.CatchupWindow.D(), 1, ReasonCatchupLatest
	old := ReasonCatchupWindow
	switch d.s.Catchup {
	case CatchupAll:
		most, reason = d.s.CatchupMax, ReasonCatchupMax
	case CatchupNone:
		window, old = core.OnTime, ReasonCatchupNone
	}
	if edge := d.now.Add(-window); edge.After(floor) {
		d.skipSpan(floor, edge.Add(-time.Microsecond), old)
		floor = edge.Add(-time.Microsecond)
	}
	var run []time.Time
	for t, open := d.now.Add(time.Microsecond), 0; open < most && len(run) < most+maxClosedSkips; {
		t = d.plan.prev(d.s, t)
		if t.IsZero() || !t.After(floor) {
			break
		}
		run = append(run, t)
		if !d.keptOut(t) {
			open++
		}
	}
	if len(run) == 0 {
		return nil
	}
	slices.Reverse(run)
	d.skipSpan(floor, run[0].Add(-time.Microsecond), reason)
	d.out.HighWater = core.Later(d.out.HighWater, run[len(run)-1])
	return run
}

// maxClosedSkips is the most excluded times that are passed over in search of the
// newest one that may run.
const maxClosedSkips = 1000

// keptOut reports whether a calendar excludes a nominal time, without moving it.
func (d *decider) keptOut(nominal time.Time) bool {
	if d.s.OnBlackout == BlackoutNextOpen {
		return false
	}
	_, closed := d.plan.gate.closed(nominal)
	return closed
}

// skipSpan records the planned nominal times in (after, upTo] in one row.
func (d *decider) skipSpan(after, upTo time.Time, reason core.Reason) {
	first := d.plan.next(d.s, after)
	if first.IsZero() || first.After(upTo) {
		return
	}
	n, last := d.plan.count(d.s, first, upTo)
	o := Occurrence{ScheduleID: d.s.ID, Nominal: first, Count: n, Decision: DecidedSkipped, Reason: reason, DueAt: first, DecidedAt: d.now}
	if n > 1 {
		o.Until = last
	}
	d.out.Occurrences = append(d.out.Occurrences, o)
	d.out.HighWater = core.Later(d.out.HighWater, last)
}

// decide decides one due nominal time.
func (d *decider) decide(nominal time.Time) {
	o := Occurrence{ScheduleID: d.s.ID, Nominal: nominal, Count: 1, DueAt: nominal.Add(d.jitter(nominal)), DecidedAt: d.now}
	if nominal.Equal(d.finishes) && nominal.After(d.now) {
		o.DueAt = d.now
	}
	switch {
	case d.blackout(&o):
	case d.s.MaxRuns > 0 && d.out.Runs+int64(len(d.buffered)) >= d.s.MaxRuns:
		d.skip(&o, ReasonMaxRuns, "")
	case d.limited && d.capacity <= 0:
		d.skip(&o, d.why, d.full)
	case d.free():
		d.start(&o)
	default:
		d.overlap(&o)
	}
	d.out.Occurrences = append(d.out.Occurrences, o)
}

// blackout skips an occurrence that a calendar excludes, or moves it to the next
// time that the calendars allow.
func (d *decider) blackout(o *Occurrence) (skipped bool) {
	why, closed := d.plan.gate.closed(o.Nominal)
	if !closed {
		return false
	}
	if d.s.OnBlackout == BlackoutNextOpen {
		if at := d.plan.gate.NextOpen(core.Later(o.Nominal, o.DueAt)); !at.IsZero() {
			o.DueAt, o.Note = at, "moved by "+why
			return false
		}
	}
	d.skip(o, ReasonBlackout, why)
	return true
}

func (d *decider) free() bool { return len(d.active) == 0 && d.starting == 0 }

// overlap applies the overlap policy to an occurrence whose predecessor has not ended.
func (d *decider) overlap(o *Occurrence) {
	switch d.s.Overlap {
	case OverlapAllow:
		d.start(o)
	case OverlapBufferOne:
		d.buffer(o, 1)
	case OverlapBufferAll:
		d.buffer(o, d.s.BufferMax)
	case OverlapCancelOther:
		d.cancelOther(o)
	case OverlapTerminateOther:
		d.out.Terminate = append(d.out.Terminate, d.active...)
		d.active = nil
		d.replaceStarting()
		d.start(o)
	default:
		d.skip(o, ReasonOverlap, d.blocker())
	}
}

// blocker names the blocking job, for the reason in the row.
func (d *decider) blocker() string {
	if len(d.active) == 0 {
		return "another run of the same catch-up"
	}
	return "job " + strconv.FormatInt(d.active[0], 10)
}

func (d *decider) start(o *Occurrence) {
	o.Decision, o.Reason = DecidedJob, ""
	d.starting++
	d.out.Runs++
	d.capacity--
}

func (d *decider) skip(o *Occurrence, reason core.Reason, note string) {
	o.Decision, o.Reason, o.Note = DecidedSkipped, reason, note
}

func (d *decider) buffer(o *Occurrence, limit int) {
	if len(d.buffered) >= limit {
		d.skip(o, ReasonBufferFull, fmt.Sprintf("%d waiting", len(d.buffered)))
		return
	}
	o.Decision, o.Note = DecidedBuffered, "after "+d.blocker()
	d.buffered = append(d.buffered, *o)
}

// cancelOther cancels the active jobs and waits for their end. Jobs of the same
// firing have not begun and are taken back.
func (d *decider) cancelOther(o *Occurrence) {
	if len(d.active) == 0 {
		d.replaceStarting()
		d.start(o)
		return
	}
	d.out.Cancel = d.active
	d.replaceBuffer(o)
}

// replaceBuffer keeps only the newest waiting run: the jobs before it are being
// canceled, and the runs in between are not wanted.
func (d *decider) replaceBuffer(o *Occurrence) {
	for _, old := range d.buffered {
		d.rewrite(old, func(x *Occurrence) { d.skip(x, ReasonReplaced, "") })
	}
	d.buffered = nil
	o.Decision, o.Note = DecidedBuffered, "after "+d.blocker()
	d.buffered = append(d.buffered, *o)
}

// replaceStarting takes back jobs of the same firing, which a later nominal time
// terminates before they exist.
func (d *decider) replaceStarting() {
	for i := range d.out.Occurrences {
		if x := &d.out.Occurrences[i]; x.Decision == DecidedJob {
			d.skip(x, ReasonReplaced, "")
			d.starting--
			d.out.Runs--
		}
	}
}

// rewrite changes an occurrence that was buffered in this or an earlier firing.
func (d *decider) rewrite(old Occurrence, change func(*Occurrence)) {
	for i := range d.out.Occurrences {
		if d.out.Occurrences[i].Nominal.Equal(old.Nominal) {
			change(&d.out.Occurrences[i])
			return
		}
	}
	change(&old)
	old.DecidedAt = d.now
	d.out.Unbuffered = append(d.out.Unbuffered, old)
}

// drainBuffer starts the buffered runs that the current policy allows, so that an
// edit of the policy applies to waiting runs.
func (d *decider) drainBuffer() {
	rest := d.buffered
	d.buffered = nil
	for _, o := range rest {
		switch {
		case d.s.MaxRuns > 0 && d.out.Runs >= d.s.MaxRuns: // max_runs was lowered since the run was buffered
			d.rewrite(o, func(x *Occurrence) { d.skip(x, ReasonMaxRuns, "") })
		case d.free() || d.s.Overlap == OverlapAllow:
			d.rewrite(o, func(x *Occurrence) { d.start(x) })
		case d.s.Overlap == OverlapSkip || d.s.Overlap == OverlapTerminateOther:
			d.rewrite(o, func(x *Occurrence) { d.skip(x, ReasonOverlap, d.blocker()) })
		default:
			d.buffered = append(d.buffered, o)
		}
	}
}

// jitter returns the jitter of a nominal time. It is smaller than the gap to the
// next time, which keeps the order, and deterministic, so that the instant is the
// same after a crash.
func (d *decider) jitter(nominal time.Time) time.Duration {
	span := d.s.Jitter.D()
	if span <= 0 {
		return 0
	}
	if next := d.plan.next(d.s, nominal); !next.IsZero() && next.Sub(nominal) < span {
		span = next.Sub(nominal)
	}
	return time.Duration(core.Spread(d.s.seed(), nominal.UnixMicro()) * float64(span)).Truncate(time.Microsecond)
}

// finish sets the next time, or completes the schedule if there is none.
func (d *decider) finish() Firing {
	out := &d.out
	out.State = d.s.State
	reached := d.s.MaxRuns > 0 && out.Runs+int64(len(d.buffered)) >= d.s.MaxRuns
	if d.plan.Finish > 0 && out.FinishAt.IsZero() && d.free() {
		// A run just ended, or was skipped and has no end to count from. Without
		// this the schedule would never run again.
		out.FinishAt = d.fresh(d.now.Add(d.plan.Finish))
	}
	if ended := !d.s.End.IsZero() && out.FinishAt.After(d.s.End); ended || reached {
		out.FinishAt = time.Time{}
	}
	if !reached {
		out.NextAt = core.Sooner(d.plan.next(d.s, out.HighWater), d.finishCheckAt())
	}
	if out.NextAt.IsZero() && d.over(reached) && out.State == Active {
		out.State = Completed
	}
	if out.State != Active {
		out.NextAt = time.Time{}
	}
	return *out
}

// over reports whether no further run can follow. Buffered runs keep the schedule
// open until they start. A rule from the finish keeps it open while a run is
// under way, if the next run would come before the end.
func (d *decider) over(reached bool) bool {
	if reached {
		return len(d.buffered) == 0
	}
	if d.plan.Finish > 0 && !d.free() && (d.s.End.IsZero() || !d.fresh(d.now.Add(d.plan.Finish)).After(d.s.End)) {
		return false
	}
	return len(d.s.Rules) > 0 && len(d.buffered) == 0
}

// fresh adjusts t as the next time of a rule that counts from the finish: not
// before start, and after every decided nominal time, even if the clock was set
// back. A time that was decided before already has its row: it would create no
// job, and the schedule would never run again.
func (d *decider) fresh(t time.Time) time.Time {
	t = core.Later(t, d.s.Start)
	if !t.After(d.out.HighWater) {
		t = d.out.HighWater.Add(time.Microsecond)
	}
	return t
}

// finishDue reports whether the rule from the finish is due. If the clock was set
// back behind decided times, the nominal time lies in the future, so that no
// identity is used twice. Then NextAt decides, so that the schedule need not wait
// for the clock.
func (d *decider) finishDue() bool {
	switch {
	case d.s.FinishAt.IsZero():
		return false
	case !d.s.FinishAt.After(d.now):
		return true
	}
	return d.s.HighWater.After(d.now) && !d.s.NextAt.IsZero() && !d.s.NextAt.After(d.now)
}

// finishCheckAt returns when to look at the rule from the finish: at its time, but
// not later than its interval from now.
func (d *decider) finishCheckAt() time.Time {
	at := d.out.FinishAt
	if latest := core.Later(d.s.Start, d.now.Add(d.plan.Finish)); at.After(latest) {
		return latest
	}
	return at
}

// finishTime returns the nominal time of the due run from the finish. If the plan
// has the same instant and catch-up has just skipped it, that identity is used,
// so the next microsecond is returned.
func (d *decider) finishTime(run []time.Time) time.Time {
	t := d.s.FinishAt
	if t.Before(d.s.HighWater) {
		t = d.s.HighWater.Add(time.Microsecond)
	}
	planned := d.plan.next(d.s, t.Add(-time.Microsecond)).Equal(t)
	if planned && t.After(d.s.HighWater) && !slices.ContainsFunc(run, t.Equal) {
		return t.Add(time.Microsecond)
	}
	return t
}
