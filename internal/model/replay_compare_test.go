package model

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

var states = map[JobState]job.State{
	Scheduled: job.Scheduled, Ready: job.Ready, Succeeded: job.Succeeded, Failed: job.Failed,
	CanceledJob: job.Canceled, Skipped: job.Skipped,
}

var scheduleStates = map[ScheduleState]schedule.State{
	Active: schedule.Active, Paused: schedule.Paused, Completed: schedule.Completed,
}

// compare compares the rows with the model.
func (r *replay) compare(s State) {
	for j := range MaxJobs {
		r.compareJob(j, s)
	}
	if r.TTL > 0 {
		r.compareSessions(s)
	}
	if s.Schedule.State != NoSchedule {
		r.compareSchedule(s)
	}
}

func (r *replay) compareJob(j int, s State) {
	want := s.Jobs[j]
	if want.State == NoJob {
		if r.jobs[j] > 0 {
			r.fatal("there is a job %d", r.jobs[j])
		}
		return
	}
	got, err := r.st.Job(r.Context(), r.name, r.jobs[j])
	r.ok(err)
	state := states[want.State]
	if s.leased(j) {
		state = job.Running
		if got.Session != r.leases[j].session || got.Lease != r.leases[j].ref.Lease || got.CancelAt.IsZero() == s.Leases[j][0].Cancel {
			r.fatal("job %d is leased to %s under %d, cancel %v; want %+v", j+1, got.Session, got.Lease, got.CancelAt, r.leases[j])
		}
	}
	if got.State != state || want.State.Live() && got.Failures != int(want.Failures) {
		r.fatal("job %d is %s after %d failures, want %s after %d", j+1, got.State, got.Failures, state, want.Failures)
	}
	if want.State == Scheduled {
		if due := max(0, (got.DueAt.Sub(r.clock.Now())+tick-1)/tick); due != time.Duration(want.Due) {
			r.fatal("job %d is due in %d ticks, want %d", j+1, due, want.Due)
		}
	}
	r.compareAttempts(j)
}

// compareAttempts checks that every ended attempt is recorded once.
func (r *replay) compareAttempts(j int) {
	got, err := r.st.Attempts(r.Context(), r.name, r.jobs[j])
	r.ok(err)
	if len(got) != len(r.attempts[j]) {
		r.fatal("job %d has %d attempts on record, want %d", j+1, len(got), len(r.attempts[j]))
	}
	for i, want := range r.attempts[j] {
		a := got[i]
		if a.Number != i+1 || a.Lease != want.Lease || a.Session != want.Session || a.Outcome != want.Outcome {
			r.fatal("attempt %d of job %d is %+v, want %+v", i+1, j+1, a, want)
		}
	}
}

func (r *replay) compareSessions(s State) {
	living, err := r.st.Workers(r.Context(), false)
	r.ok(err)
	left := map[string]int8{}
	for _, w := range living {
		left[w.Session] = int8(max(0, (w.RenewedAt.Add(time.Duration(r.TTL)*tick).Sub(r.clock.Now()))/tick))
	}
	alive := 0
	for _, x := range s.Sessions {
		if x.Life == Alive {
			alive++
		}
	}
	if len(living) != alive {
		r.fatal("%d sessions are alive, want %d", len(living), alive)
	}
	for w := range r.Workers {
		n := s.Workers[w].Session
		if n == 0 {
			continue
		}
		got, there := left[r.sessions[w]]
		if want := s.Sessions[n-1]; there != (want.Life == Alive) || there && got != want.Left {
			r.fatal("the session of worker %d is alive: %v, for %d; want %+v", w+1, there, got, want)
		}
	}
}

func (r *replay) compareSchedule(s State) {
	got, err := r.st.Schedule(r.Context(), r.name, "s")
	r.ok(err)
	want, now := s.Schedule, r.clock.Now()
	if got.State != scheduleStates[want.State] {
		r.fatal("the schedule is %s, want %s", got.State, scheduleStates[want.State])
	}
	if r.Loop {
		if when := whenOf(got.FinishAt, now); when != want.When || got.HighWater.Equal(now) != want.MarkNow {
			r.fatal("the loop's next time is %v (%d), want %d; its mark is %v, now %v", got.FinishAt, when, want.When, got.HighWater, now)
		}
		if want.State == Active && !got.NextAt.Equal(got.FinishAt) {
			r.fatal("the loop fires at %v, not at %v", got.NextAt, got.FinishAt)
		}
		return
	}
	var next time.Time
	if want.Next > 0 {
		next = r.at(want.Next)
	}
	mark := uint8(min(got.HighWater.Sub(r.base)/tick, time.Duration(r.Plan+1)))
	if !got.NextAt.Equal(next) || mark != want.High {
		r.fatal("the schedule fires at %v above %v, want %v above %v", got.NextAt, got.HighWater, next, r.at(want.High))
	}
	r.compareNominals(s)
}

func whenOf(t, now time.Time) When {
	switch {
	case t.IsZero():
		return Never
	case t.Before(now):
		return Past
	case t.Equal(now):
		return Now
	case t.Before(now.Add(tick)):
		return After
	}
	return NextTick
}

// compareNominals compares the decision about each nominal time, and its job.
func (r *replay) compareNominals(s State) {
	p, err := r.st.Occurrences(r.Context(), schedule.OccurrenceFilter{Namespace: r.name, Schedule: "s", Paging: core.Paging{Limit: 1000}})
	r.ok(err)
	var got [Nominals]Decision
	for _, o := range p.Items {
		last := o.Until
		if last.IsZero() {
			last = o.Nominal
		}
		for t := o.Nominal; !t.After(last); t = t.Add(tick) {
			n := int(t.Sub(r.base)/tick) - 1
			d := Decision{Kind: map[schedule.Decision]Kind{schedule.DecidedSkipped: SkippedTime, schedule.DecidedBuffered: Buffered, schedule.DecidedJob: Started}[o.Decision]}
			if o.JobID > 0 {
				d.Jobs = 1
			}
			if d.Jobs > 0 && r.jobs[r.Jobs+n] != o.JobID {
				r.fatal("nominal time %d has job %d, not %d", n+1, o.JobID, r.jobs[r.Jobs+n])
			}
			got[n] = d
		}
	}
	if got != s.Nominals {
		r.fatal("decided %+v, want %+v", got, s.Nominals)
	}
}
