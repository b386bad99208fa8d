package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Facts is what Fire has to know about the jobs of a schedule.
type Facts struct {
	Active   []int64      // its jobs that have not ended, oldest first
	Buffered []Occurrence // its occurrences that wait, oldest first

	// Room is how many jobs may be made, where Limited, and Full why no others may.
	Limited bool
	Room    int
	Full    string      // for people
	Why     core.Reason // default: ReasonQuota
}

// Firing is the answer of [Fire] and its relatives: rows to write and the
// schedule's new state. The store writes all of it in the transaction that
// read the facts, or nothing.
type Firing struct {
	Occurrences []Occurrence // decided now; those with DecidedJob want a job each
	Unbuffered  []Occurrence // buffered before and decided now, to be rewritten
	Cancel      []int64      // jobs to ask to end
	Terminate   []int64      // jobs to end at once, here; whatever their worker says later is stale

	State     State
	HighWater time.Time
	NextAt    time.Time // zero: nothing to do until a change
	FinishAt  time.Time
	Runs      int64
}

// Fire decides every nominal time of s in (high water, now]. It is the one
// code path for a run on time and for runs missed through downtime, a clock
// that jumped forward, or a busy node.
//
// Nominal times at or below the high-water mark are never decided again, so a
// clock that steps back fires nothing twice, and a second node that asks with
// the same row gets nothing to do.
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

// Resume takes up a paused schedule at now. The nominal times of the pause
// are recorded as skipped in one row, or made up for if catchUp asks for it.
func Resume(s Schedule, plan Plan, f Facts, now time.Time, catchUp bool) Firing {
	s.State = Active
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

// Begin is the first state of a new schedule, or of one whose times were
// edited at now: nothing from before now ever fires under the new rules.
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

// Ended decides what follows, for its schedule, from a job that just ended:
// the next time of a rule that counts from the finish, and the buffer. f is
// without the job. It runs in the transaction that settles the job, so there
// is no moment at which a schedule has neither a run nor a next time.
func Ended(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != Active {
		return keep(s)
	}
	d := newDecider(s, plan, f, now)
	d.drainBuffer()
	return d.finish()
}

// keep is the state of s as it stands.
func keep(s Schedule) Firing {
	return Firing{State: s.State, HighWater: s.HighWater, FinishAt: s.FinishAt, Runs: s.Runs}
}

// decider carries one decision. Everything it changes is in out.
type decider struct {
	s        Schedule
	plan     Plan
	now      time.Time
	active   []int64
	starting int       // jobs decided now, that have no id yet
	finishes time.Time // the nominal time, of those decided now, that counts from a finish
	buffered []Occurrence
	limited  bool // room, full and why are those of [Facts]
	room     int
	full     string
	why      core.Reason
	out      Firing
}

func newDecider(s Schedule, plan Plan, f Facts, now time.Time) *decider {
	return &decider{s: s, plan: plan, now: now, active: f.Active, buffered: slices.Clone(f.Buffered), limited: f.Limited, room: f.Room, full: f.Full, why: core.Or(f.Why, ReasonQuota), out: keep(s)}
}

// catchUp returns the planned nominal times to run now, oldest first, and
// records the others as skipped. Missed runs are judged before any of them is
// counted against max_runs, and the newest are found by walking back from now,
// so a long outage costs no more than a short one.
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
	for t, open := d.now.Add(time.Microsecond), 0; open < most && len(run) < most+closedLook; {
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

// closedLook bounds how many times that a calendar keeps out are passed over
// in search of the newest one that may run.
const closedLook = 1000

// keptOut reports that a calendar keeps a nominal time from running at all.
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

// decide settles one nominal time that is to run now if nothing is in the way.
func (d *decider) decide(nominal time.Time) {
	o := Occurrence{ScheduleID: d.s.ID, Nominal: nominal, Count: 1, DueAt: nominal.Add(d.jitter(nominal)), DecidedAt: d.now}
	if nominal.Equal(d.finishes) && nominal.After(d.now) {
		o.DueAt = d.now
	}
	switch {
	case d.blackout(&o):
	case d.s.MaxRuns > 0 && d.out.Runs+int64(len(d.buffered)) >= d.s.MaxRuns:
		d.skip(&o, ReasonMaxRuns, "")
	case d.limited && d.room <= 0:
		d.skip(&o, d.why, d.full)
	case d.free():
		d.start(&o)
	default:
		d.overlap(&o)
	}
	d.out.Occurrences = append(d.out.Occurrences, o)
}

// blackout skips an occurrence that a calendar keeps out, or moves it to when
// the calendars let it.
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

// overlap applies the policy to an occurrence whose predecessor has not ended.
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

// blocker names the job in the way, for the row that says why not.
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
	d.room--
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

// cancelOther asks the active jobs to end and waits for them. A job that this
// same firing decided has not begun yet and is simply taken back.
func (d *decider) cancelOther(o *Occurrence) {
	if len(d.active) == 0 {
		d.replaceStarting()
		d.start(o)
		return
	}
	d.out.Cancel = d.active
	d.replaceBuffer(o)
}

// replaceBuffer keeps only the newest waiting run: the jobs before it are on
// their way out, and those in between are unwanted.
func (d *decider) replaceBuffer(o *Occurrence) {
	for _, old := range d.buffered {
		d.rewrite(old, func(x *Occurrence) { d.skip(x, ReasonReplaced, "") })
	}
	d.buffered = nil
	o.Decision, o.Note = DecidedBuffered, "after "+d.blocker()
	d.buffered = append(d.buffered, *o)
}

// replaceStarting takes back jobs decided in this same firing, which a later
// nominal time terminates before they exist.
func (d *decider) replaceStarting() {
	for i := range d.out.Occurrences {
		if x := &d.out.Occurrences[i]; x.Decision == DecidedJob {
			d.skip(x, ReasonReplaced, "")
			d.starting--
			d.out.Runs--
		}
	}
}

// rewrite changes an occurrence that was decided as buffered: in this firing,
// or in an earlier one.
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

// drainBuffer starts what the policy of this moment lets start, so that an
// edit of the policy reaches the runs that wait already.
func (d *decider) drainBuffer() {
	rest := d.buffered
	d.buffered = nil
	for _, o := range rest {
		switch {
		case d.s.MaxRuns > 0 && d.out.Runs >= d.s.MaxRuns: // lowered since it was put there
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

// jitter is the same for the same nominal time and smaller than the gap to the
// next one, so that order holds and a crash computes the same instant again.
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

// finish sets the next time, or completes the schedule when nothing is left.
func (d *decider) finish() Firing {
	out := &d.out
	out.State = d.s.State
	reached := d.s.MaxRuns > 0 && out.Runs+int64(len(d.buffered)) >= d.s.MaxRuns
	if d.plan.Finish > 0 && out.FinishAt.IsZero() && d.free() {
		// A run ended just now, or it was skipped and has no end to count
		// from. Without this the loop would die here.
		out.FinishAt = d.fresh(d.now.Add(d.plan.Finish))
	}
	if ended := !d.s.End.IsZero() && out.FinishAt.After(d.s.End); ended || reached {
		out.FinishAt = time.Time{}
	}
	if !reached {
		out.NextAt = core.Sooner(d.plan.next(d.s, out.HighWater), d.finishLook())
	}
	if out.NextAt.IsZero() && d.over(reached) && out.State == Active {
		out.State = Completed
	}
	if out.State != Active {
		out.NextAt = time.Time{}
	}
	return *out
}

// over reports that no run can follow by itself. Runs that wait in the buffer
// hold it open until they start, and a rule from the finish does while a run is
// under way whose finish would lead to another before the end.
func (d *decider) over(reached bool) bool {
	if reached {
		return len(d.buffered) == 0
	}
	if d.plan.Finish > 0 && !d.free() && (d.s.End.IsZero() || !d.fresh(d.now.Add(d.plan.Finish)).After(d.s.End)) {
		return false
	}
	return len(d.s.Rules) > 0 && len(d.buffered) == 0
}

// fresh is t as the next time of a rule that counts from the finish: not
// before start, and after every nominal time decided so far, even when the
// clock was set back since. A time that was decided before would find its row
// there, make no job, and the loop would die.
func (d *decider) fresh(t time.Time) time.Time {
	t = core.Later(t, d.s.Start)
	if !t.After(d.out.HighWater) {
		t = d.out.HighWater.Add(time.Microsecond)
	}
	return t
}

// finishDue reports that the rule from the finish is due. When the clock was
// set back behind what was decided already, its nominal time is still to come,
// so that no identity is used twice, but the loop does not wait for the clock:
// then the next time that was set is its own.
func (d *decider) finishDue() bool {
	switch {
	case d.s.FinishAt.IsZero():
		return false
	case !d.s.FinishAt.After(d.now):
		return true
	}
	return d.s.HighWater.After(d.now) && !d.s.NextAt.IsZero() && !d.s.NextAt.After(d.now)
}

// finishLook is when to look at the rule from the finish: at its time, but no
// later than its interval from now.
func (d *decider) finishLook() time.Time {
	at := d.out.FinishAt
	if latest := core.Later(d.s.Start, d.now.Add(d.plan.Finish)); at.After(latest) {
		return latest
	}
	return at
}

// finishTime is the nominal time of the run from the finish that is due. When
// the plan has the same instant and catch-up has just skipped it, that instant
// is taken, and the one after it is used.
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
