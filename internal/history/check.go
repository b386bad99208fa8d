package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Report is the result of a check.
type Report struct {
	Source     string      `json:"source"`
	Counts     Counts      `json:"counts"`
	Violations []Violation `json:"violations"`
}

// Counts has the numbers of checked objects.
type Counts struct {
	Lines       int `json:"lines"`
	Jobs        int `json:"jobs"`
	Operations  int `json:"operations"`
	Failed      int `json:"failed"`  // operations that got an error
	Unknown     int `json:"unknown"` // operations whose answer was lost
	Executions  int `json:"executions"`
	Schedules   int `json:"schedules"`
	Nominal     int `json:"nominal"` // nominal times of schedules
	Occurrences int `json:"occurrences"`
	Monitors    int `json:"monitors"`
	Limited     int `json:"limited,omitempty"` // jobs in groups of limits and sequences
	Runs        int `json:"runs,omitempty"`    // runs of workflows
	Undecided   int `json:"undecided"`         // jobs with too many concurrent operations to decide
}

// Violation is a promise that the history violates.
type Violation struct {
	Promise string `json:"promise"`
	Text    string `json:"text"`
	Lines   []int  `json:"lines"`
}

func (v Violation) String() string {
	if len(v.Lines) == 0 {
		return v.Text
	}
	word, lines := "line", make([]string, len(v.Lines))
	for i, n := range v.Lines {
		lines[i] = fmt.Sprint(n)
	}
	if len(lines) > 1 {
		word = "lines"
	}
	return fmt.Sprintf("%s (%s %s)", v.Text, word, strings.Join(lines, ", "))
}

// The names of the promises.
const (
	PromiseAcked     = "acknowledged job"
	PromiseKey       = "idempotency key"
	PromiseActiveKey = "active key"
	PromiseLease     = "one attempt for a lease"
	PromiseRecord    = "record"
	PromiseStale     = "stale lease"
	PromisePause     = "pause"
	PromiseOrder     = "one order explains all answers"
	PromiseNominal   = "nominal time"
	PromiseOverlap   = "overlap"
	PromiseUptime    = "uptime"
	PromiseLimit     = "limit"
	PromiseSequence  = "sequence"
	PromiseWorkflow  = "workflow"
)

// Nothing reports whether the history proves nothing, because it has nothing to check.
func (r *Report) Nothing() bool {
	c := r.Counts
	return c.Jobs+c.Nominal+c.Occurrences+c.Monitors == 0
}

// Err returns nil if something was checked, all jobs were decided, and no promise is violated.
func (r *Report) Err() error {
	switch {
	case r.Nothing():
		return core.Errorf(core.Invalid, "nothing was checked: the history has no jobs, occurrences or monitors").WithHint("record what clients do; see docs/reference/history.md")
	case len(r.Violations) > 0:
		return fmt.Errorf("%d promises are broken", len(r.Violations))
	case r.Counts.Undecided > 0:
		return fmt.Errorf("%d jobs are undecided: they have too many operations at once", r.Counts.Undecided)
	}
	return nil
}

// checker is a check in progress.
type checker struct {
	h       *History
	stories map[int64]*story
	keys    map[string][]*Operation
	report  Report
	blamed  map[int64]bool // jobs with a violation
}

// Check checks a history. It is a pure function.
func Check(h *History) Report {
	c := &checker{h: h, stories: stories(h), keys: askedKeys(h), blamed: map[int64]bool{}}
	c.report = Report{Source: h.Header.Source, Violations: []Violation{}, Counts: Counts{
		Lines: h.Lines, Jobs: len(c.stories), Operations: len(h.Operations), Executions: len(h.Executions), Schedules: len(h.Schedules), Monitors: len(h.Monitors),
	}}
	for _, o := range h.Operations {
		switch o.Type {
		case Unknown:
			c.report.Counts.Unknown++
		case Fail:
			c.report.Counts.Failed++
		}
	}
	c.failed()
	for _, id := range slices.Sorted(maps.Keys(c.stories)) {
		c.job(c.stories[id])
	}
	c.idempotencyKeys()
	c.activeKeys()
	c.batches()
	c.pauses()
	c.sessions()
	for _, id := range slices.Sorted(maps.Keys(c.stories)) {
		if !c.blamed[id] {
			c.order(c.stories[id])
		}
	}
	c.schedules()
	c.uptimes()
	c.limits()
	c.workflows()
	return c.report
}

// broken records a violation, once for the same text.
func (c *checker) broken(promise string, lines []int, format string, args ...any) {
	lines = slices.DeleteFunc(slices.Clone(lines), func(n int) bool { return n == 0 })
	slices.Sort(lines)
	c.report.Violations = append(c.report.Violations, Violation{promise, fmt.Sprintf(format, args...), slices.Compact(lines)})
}

func (c *checker) blame(id int64, promise string, lines []int, format string, args ...any) {
	c.blamed[id] = true
	c.broken(promise, lines, "job %d: "+format, append([]any{id}, args...)...)
}

// job checks one job without a search for an order.
func (c *checker) job(s *story) {
	c.acknowledged(s)
	if s.record != nil {
		c.recorded(s)
	}
	c.executed(s)
	c.finished(s)
}

func (c *checker) acknowledged(s *story) {
	var fresh []part
	for _, p := range s.acks {
		if !p.got.Existing {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 1 {
		c.blame(s.id, PromiseAcked, lines(fresh), "%d calls were told that it is new", len(fresh))
	}
	if s.record == nil && c.h.complete(KindJob) {
		switch {
		case len(s.acks) > 0:
			c.blame(s.id, PromiseAcked, append(lines(s.acks), c.h.Lines), "was acknowledged and is lost: it is not in the record, which is complete")
		case len(s.executions) > 0:
			c.blame(s.id, PromiseRecord, []int{s.executions[0].Line, c.h.Lines}, "ran and is not in the record, which is complete")
		}
	}
}

// recorded checks the record of the installation about the job.
func (c *checker) recorded(s *story) {
	r, at := s.record.V, []int{s.record.Line}
	oks := 0
	for i, a := range r.Attempts {
		if a.Number != i+1 {
			c.blame(s.id, PromiseRecord, at, "attempt %d is recorded with number %d", i+1, a.Number)
		}
		if i > 0 && a.Lease <= r.Attempts[i-1].Lease {
			c.blame(s.id, PromiseLease, at, "lease %d of attempt %d is not larger than lease %d before it", a.Lease, i+1, r.Attempts[i-1].Lease)
		}
		if a.Outcome == "ok" {
			oks++
		}
	}
	switch last := len(r.Attempts) - 1; {
	case oks > 1:
		c.blame(s.id, PromiseRecord, at, "%d attempts are recorded as successes, must be at most 1", oks)
	case r.State == "succeeded" && oks == 0 && r.Kind != "cycle" && r.Kind != "workflow":
		c.blame(s.id, PromiseRecord, at, "succeeded, and no attempt of it did")
	case oks == 1 && (r.State != "succeeded" || r.Attempts[last].Outcome != "ok"):
		c.blame(s.id, PromiseRecord, at, "is %s, and an attempt of it succeeded", r.State)
	}
	if (r.State == "failed" || r.State == "canceled" || r.State == "skipped") && r.Reason == "" {
		c.blame(s.id, PromiseRecord, at, "is %s without a reason", r.State)
	}
}

// executed compares the executions that handlers logged with each other and with the record.
func (c *checker) executed(s *story) {
	by := map[int64]At[Execution]{}
	for _, e := range s.executions {
		if other, twice := by[e.V.Lease]; twice {
			c.blame(s.id, PromiseLease, []int{other.Line, e.Line}, "ran twice under lease %d", e.V.Lease)
		}
		by[e.V.Lease] = e
	}
	if s.record == nil {
		return
	}
	r := s.record.V
	recorded := map[int64]Attempt{}
	for _, a := range r.Attempts {
		recorded[a.Lease] = a
		e, ran := by[a.Lease]
		if !ran && c.h.complete(KindExecution) && a.Outcome == "ok" {
			c.blame(s.id, PromiseRecord, []int{s.record.Line}, "is recorded as a success under lease %d, and no handler ran under it", a.Lease)
		}
		if ran && a.Outcome == "ok" && e.V.Outcome != "ok" {
			c.blame(s.id, PromiseRecord, []int{s.record.Line, e.Line}, "is recorded as a success under lease %d, and its handler saw %s", a.Lease, cmp.Or(e.V.Outcome, "no end"))
		}
		if ran && e.V.Outcome == "ok" && (a.Outcome == "error" || a.Outcome == "snoozed" || a.Outcome == "timeout") {
			c.blame(s.id, PromiseRecord, []int{s.record.Line, e.Line}, "its handler succeeded under lease %d, and the record says %s", a.Lease, a.Outcome)
		}
		if ran && e.V.Attempt != 0 && e.V.Attempt != a.Number {
			c.blame(s.id, PromiseRecord, []int{s.record.Line, e.Line}, "ran as attempt %d under lease %d, and is recorded as attempt %d", e.V.Attempt, a.Lease, a.Number)
		}
	}
	if !final(r.State) {
		return
	}
	for _, e := range s.executions {
		if _, known := recorded[e.V.Lease]; !known {
			c.blame(s.id, PromiseRecord, []int{s.record.Line, e.Line}, "ran under lease %d, and no attempt is recorded for it", e.V.Lease)
		}
		if e.V.Nominal != 0 && e.V.Nominal != r.Nominal {
			c.blame(s.id, PromiseNominal, []int{s.record.Line, e.Line}, "ran for %s, and is recorded for %s", timeText(e.V.Nominal), timeText(r.Nominal))
		}
	}
	for _, p := range s.claims {
		if _, known := recorded[p.got.Lease]; !known {
			c.blame(s.id, PromiseRecord, []int{s.record.Line, p.EndLine}, "was claimed under lease %d, and no attempt is recorded for it", p.got.Lease)
		}
	}
}

func final(state string) bool {
	return state == "succeeded" || state == "failed" || state == "canceled" || state == "skipped"
}

// finished checks finishes: a finish under a lease that is not the newest must be stale.
func (c *checker) finished(s *story) {
	for _, p := range s.finishes {
		if p.Type != OK || p.got.Stale {
			continue
		}
		newer := func(lease int64, since int64, line int) {
			if lease > p.args.Lease && since < p.Invoked {
				c.blame(s.id, PromiseStale, []int{p.Line, line}, "a finish under lease %d was accepted after lease %d had been given", p.args.Lease, lease)
			}
		}
		for _, q := range s.claims {
			newer(q.got.Lease, q.Ended, q.EndLine)
		}
		for _, e := range s.executions {
			newer(e.V.Lease, e.V.Start+c.h.Header.Precision, e.Line)
		}
		if s.record == nil {
			continue
		}
		i := slices.IndexFunc(s.record.V.Attempts, func(a Attempt) bool { return a.Lease == p.args.Lease })
		if i < 0 {
			c.blame(s.id, PromiseRecord, []int{p.Line, s.record.Line}, "a finish under lease %d was accepted, and no attempt is recorded for it", p.args.Lease)
		} else if got := s.record.V.Attempts[i].Outcome; (got == "ok") != (p.args.Outcome == "ok") {
			c.blame(s.id, PromiseRecord, []int{p.Line, s.record.Line}, "a finish with outcome %s was accepted under lease %d, and is recorded as %s", p.args.Outcome, p.args.Lease, got)
		}
	}
}

// failed checks that operations with an error had no effect, as far as idempotency keys show it.
func (c *checker) failed() {
	by := map[string][]At[Job]{}
	for _, j := range c.h.Jobs {
		by[j.V.Key] = append(by[j.V.Key], j)
	}
	for _, o := range c.h.Operations {
		if o.Type != Fail || o.Op != OpEnqueue && o.Op != OpRunAgain {
			continue
		}
		for _, a := range o.Args.Jobs {
			if a.Key == "" || len(c.keys[a.Key]) > 0 {
				continue // another call may have created the job
			}
			for _, j := range by[a.Key] {
				if !c.blamed[j.V.ID] {
					c.blame(j.V.ID, PromiseAcked, []int{o.Line, o.EndLine, j.Line}, "exists under key %q, and the only calls for it were answered with an error: %s", a.Key, o.Error)
				}
			}
		}
	}
}

// order searches for one order of all operations on a job that explains every answer.
func (c *checker) order(s *story) {
	steps := s.steps(c.h, c.keys)
	good, undecided := Explained(steps)
	if undecided {
		c.report.Counts.Undecided++
	}
	if good || undecided {
		return
	}
	// The evidence: a set of steps that would be explained with any one left out, in the order of their lines.
	var rests []Step
	for i, p := range steps {
		if p.Line == 0 {
			continue
		}
		if yes, _ := explained(slices.Delete(slices.Clone(steps), i, i+1), maxStates/10); yes {
			rests = append(rests, p)
		}
	}
	slices.SortStableFunc(rests, func(a, b Step) int { return cmp.Compare(a.Line, b.Line) })
	var lines []int
	var texts []string
	for _, p := range rests {
		lines, texts = append(lines, p.Line), append(texts, p.Text)
	}
	if len(lines) == 0 {
		for _, p := range steps {
			lines = append(lines, p.Line)
		}
		c.blame(s.id, PromiseOrder, lines, "no order of its %d operations explains the answers", len(steps))
		return
	}
	c.blame(s.id, PromiseOrder, lines, "no order of its operations explains the answers; leaving out one of these would: %s", strings.Join(texts, "; "))
}

func lines(parts []part) []int {
	var all []int
	for _, p := range parts {
		all = append(all, p.EndLine)
	}
	return all
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func timeText(micros int64) string {
	if micros == 0 {
		return "no nominal time"
	}
	return timeOf(micros).Format(time.RFC3339Nano)
}
