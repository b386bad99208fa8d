package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// policies maps reasons to the policies under which they are possible. Other reasons are possible under any policy.
var policies = map[core.Reason]func(schedule.Schedule) bool{
	schedule.ReasonCatchupNone:   func(s schedule.Schedule) bool { return s.Catchup == schedule.CatchupNone },
	schedule.ReasonCatchupWindow: func(s schedule.Schedule) bool { return s.Catchup != schedule.CatchupNone },
	schedule.ReasonCatchupLatest: func(s schedule.Schedule) bool { return s.Catchup != schedule.CatchupAll },
	schedule.ReasonCatchupMax:    func(s schedule.Schedule) bool { return s.Catchup == schedule.CatchupAll },
	schedule.ReasonOverlap: func(s schedule.Schedule) bool {
		return s.Overlap == schedule.OverlapSkip || s.Overlap == schedule.OverlapTerminateOther
	},
	schedule.ReasonBufferFull: func(s schedule.Schedule) bool {
		return s.Overlap == schedule.OverlapBufferOne || s.Overlap == schedule.OverlapBufferAll
	},
	schedule.ReasonReplaced: func(s schedule.Schedule) bool {
		return s.Overlap == schedule.OverlapCancelOther || s.Overlap == schedule.OverlapTerminateOther
	},
	schedule.ReasonBlackout: func(s schedule.Schedule) bool { return len(s.Blackout)+len(s.Within) > 0 },
	schedule.ReasonMaxRuns:  func(s schedule.Schedule) bool { return s.MaxRuns > 0 },
}

// known lists all reasons of occurrences.
var known = []core.Reason{schedule.ReasonPaused, schedule.ReasonEdited, schedule.ReasonDeleted, schedule.ReasonCanceled, schedule.ReasonQuota, schedule.ReasonQueueFull}

// schedules matches the nominal times of each schedule with its occurrences.
func (c *checker) schedules() {
	rows := map[string][]At[Occurrence]{}
	for _, o := range c.h.Occurrences {
		rows[o.V.Schedule] = append(rows[o.V.Schedule], o)
		c.report.Counts.Occurrences += max(o.V.Count, 1)
	}
	jobs := map[string][]At[Job]{}
	for _, j := range c.h.Jobs {
		if j.V.Trigger == "schedule" {
			jobs[j.V.Schedule] = append(jobs[j.V.Schedule], j)
		}
	}
	defined := map[string]bool{}
	for _, s := range c.h.Schedules {
		s.V.Definition = s.V.Definition.WithDefaults()
		defined[s.V.Definition.Name] = true
		c.schedule(s, rows[s.V.Definition.Name], jobs[s.V.Definition.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !defined[name] {
			c.rows(name, rows[name], jobs[name])
		}
	}
}

func (o Occurrence) last() int64 { return cmp.Or(o.Until, o.Nominal) }

// schedule matches one definition: each nominal time has one row, and each row has nominal times.
func (c *checker) schedule(s At[Schedule], rows []At[Occurrence], jobs []At[Job]) {
	d := s.V.Definition
	slices.SortStableFunc(rows, func(a, b At[Occurrence]) int { return cmp.Compare(a.V.Nominal, b.V.Nominal) })
	c.rows(d.Name, rows, jobs)
	c.overlaps(d, jobs)
	for _, o := range rows {
		if in := o.V.Nominal >= s.V.From && o.V.Nominal <= s.V.To; !in || o.V.Decision != "skipped" || o.V.Reason == "" {
			continue
		}
		may, limited := policies[core.Reason(o.V.Reason)]
		if limited && !may(d) || !limited && !slices.Contains(known, core.Reason(o.V.Reason)) {
			c.broken(PromiseNominal, []int{s.Line, o.Line}, "schedule %s: %s was skipped with reason %s, which its policy does not have (catch-up %s, overlap %s)", d.Name, timeText(o.V.Nominal), o.V.Reason, d.Catchup, d.Overlap)
		}
	}
	var p core.Problems
	plan, err := d.PlanFor(&p, time.Time{})
	if err != nil || plan.Times == nil { // only rules from the finish: no planned times
		return
	}
	c.nominal(s, rows, func(after int64) int64 {
		next := d.Upcoming(plan, timeOf(after), 1)
		if len(next) == 0 {
			return never
		}
		return next[0].UnixMicro()
	})
}

// nominal compares the planned times with the rows, both in order.
func (c *checker) nominal(s At[Schedule], rows []At[Occurrence], next func(after int64) int64) {
	name, i := s.V.Definition.Name, 0
	missed, from := 0, int64(0)
	flush := func(line int) {
		switch {
		case missed == 1:
			c.broken(PromiseNominal, []int{s.Line, line}, "schedule %s: %s has neither a job nor a reason", name, timeText(from))
		case missed > 1:
			c.broken(PromiseNominal, []int{s.Line, line}, "schedule %s: %d nominal times from %s on have neither a job nor a reason", name, missed, timeText(from))
		}
		missed = 0
	}
	within := 0 // planned times within the row
	leave := func() {
		o := rows[i]
		if inside := o.V.Nominal >= s.V.From && o.V.last() <= s.V.To; inside {
			switch want := min(within, core.CountLimit+1); {
			case within == 0:
				c.broken(PromiseNominal, []int{s.Line, o.Line}, "schedule %s: %s was not due", name, timeText(o.V.Nominal))
			case want != max(o.V.Count, 1):
				c.broken(PromiseNominal, []int{s.Line, o.Line}, "schedule %s: the row from %s to %s counts %d nominal times, must be %d", name, timeText(o.V.Nominal), timeText(o.V.last()), max(o.V.Count, 1), want)
			}
		}
		within = 0
		i++
	}
	for t := next(s.V.From - 1); t <= s.V.To; t = next(t) {
		c.report.Counts.Nominal++
		for i < len(rows) && rows[i].V.last() < t {
			leave()
		}
		if i < len(rows) && rows[i].V.Nominal <= t {
			flush(rows[i].Line)
			if within++; within == 1 && t != rows[i].V.Nominal && rows[i].V.Nominal >= s.V.From {
				c.broken(PromiseNominal, []int{s.Line, rows[i].Line}, "schedule %s: %s was not due", name, timeText(rows[i].V.Nominal))
			}
			continue
		}
		if missed++; missed == 1 {
			from = t
		}
	}
	line := 0
	if i < len(rows) {
		line = rows[i].Line
	}
	flush(line)
	for i < len(rows) {
		leave()
	}
}

// rows checks the occurrences of a schedule without its rules.
func (c *checker) rows(name string, rows []At[Occurrence], jobs []At[Job]) {
	slices.SortStableFunc(rows, func(a, b At[Occurrence]) int { return cmp.Compare(a.V.Nominal, b.V.Nominal) })
	for i, o := range rows {
		if i > 0 && o.V.Nominal <= rows[i-1].V.last() {
			c.broken(PromiseNominal, []int{rows[i-1].Line, o.Line}, "schedule %s: %s has two occurrences", name, timeText(o.V.Nominal))
		}
		switch {
		case o.V.Decision == "skipped" && o.V.Reason == "":
			c.broken(PromiseNominal, []int{o.Line}, "schedule %s: %s was skipped without a reason", name, timeText(o.V.Nominal))
		case o.V.Decision == "buffered" && c.h.complete(KindOccurrence):
			c.broken(PromiseNominal, []int{o.Line}, "schedule %s: %s is still buffered at the end", name, timeText(o.V.Nominal))
		case o.V.Decision == "job":
			c.jobOf(name, o)
		}
	}
	has := map[int64]bool{} // jobs of occurrences
	for _, o := range rows {
		has[o.V.Job] = true
	}
	of := map[int64]At[Job]{}
	for _, j := range jobs {
		if other, twice := of[j.V.Nominal]; twice {
			c.broken(PromiseNominal, []int{other.Line, j.Line}, "schedule %s: %s has two jobs, %d and %d", name, timeText(j.V.Nominal), other.V.ID, j.V.ID)
		}
		of[j.V.Nominal] = j
		if !has[j.V.ID] && c.h.complete(KindOccurrence) {
			c.broken(PromiseNominal, []int{j.Line}, "schedule %s: job %d for %s has no occurrence", name, j.V.ID, timeText(j.V.Nominal))
		}
	}
}

// jobOf checks that the job of an occurrence exists and has its nominal time.
func (c *checker) jobOf(name string, o At[Occurrence]) {
	s := c.stories[o.V.Job]
	switch {
	case s != nil && s.record != nil && s.record.V.Nominal != o.V.Nominal:
		c.broken(PromiseNominal, []int{o.Line, s.record.Line}, "schedule %s: job %d of %s is recorded for %s", name, o.V.Job, timeText(o.V.Nominal), timeText(s.record.V.Nominal))
	case (s == nil || s.record == nil) && c.h.complete(KindJob):
		c.broken(PromiseNominal, []int{o.Line}, "schedule %s: job %d of %s is not in the record, which is complete", name, o.V.Job, timeText(o.V.Nominal))
	}
}

// overlaps checks that no two runs of a schedule run at the same time, unless its policy allows that. Only runs whose worker
// reported the end count: a run that was given up may go on for a moment.
func (c *checker) overlaps(d schedule.Schedule, jobs []At[Job]) {
	if d.Overlap == schedule.OverlapAllow || d.Overlap == schedule.OverlapTerminateOther {
		return
	}
	var runs []At[Execution]
	for _, j := range jobs {
		for _, e := range c.stories[j.V.ID].executions {
			held := slices.ContainsFunc(j.V.Attempts, func(a Attempt) bool { return a.Lease == e.V.Lease && (a.Outcome == "ok" || a.Outcome == "error") })
			if held && e.V.End > 0 {
				runs = append(runs, e)
			}
		}
	}
	slices.SortFunc(runs, func(a, b At[Execution]) int { return cmp.Compare(a.V.Start, b.V.Start) })
	for i := 1; i < len(runs); i++ {
		a, b := runs[i-1], runs[i]
		if a.V.Job != b.V.Job && b.V.Start+c.h.Header.Precision < a.V.End {
			c.broken(PromiseOverlap, []int{a.Line, b.Line}, "schedule %s: job %d began before job %d had ended, and its overlap policy is %s", d.Name, b.V.Job, a.V.Job, d.Overlap)
		}
		if a.V.End > b.V.End {
			runs[i] = a // keep the run with the later end
		}
	}
}
