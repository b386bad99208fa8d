package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Limit is a limit or sequence of a task, which applies to each group of its jobs. It was in force during the whole history.
type Limit struct {
	Task     string `json:"task"`
	Running  int    `json:"running,omitempty"`  // most running jobs of each group; 0: any number
	Sequence bool   `json:"sequence,omitempty"` // one job at a time, in the order of their IDs
}

// Workflow is the graph of a task's runs. It was in force during the whole history.
type Workflow struct {
	Task  string         `json:"task"`
	Steps []WorkflowStep `json:"steps"`
}

// WorkflowStep is a step that runs a task.
type WorkflowStep struct {
	Name   string   `json:"name"`
	Needs  []string `json:"needs,omitempty"`   // steps whose jobs end before a job of this step begins
	AtOnce int      `json:"at_once,omitempty"` // most running items; 0: any number
}

func (r *reader) limit(l Limit) error {
	if l.Task == "" || l.Running < 0 || l.Running == 0 && !l.Sequence {
		return r.fault("task must be given, and running be greater than 0 or sequence true", formatHint)
	}
	return nil
}

func (r *reader) workflow(w Workflow) error {
	if w.Task == "" || len(w.Steps) == 0 {
		return r.fault("task and steps must be given", formatHint)
	}
	for _, s := range w.Steps {
		if s.Name == "" || s.AtOnce < 0 {
			return r.fault("a step must have a name, and at_once be at least 0", formatHint)
		}
	}
	return nil
}

// stretch is a period in which a handler certainly ran under a valid lease.
type stretch struct {
	job      int64
	from, to int64
	line     int
}

// stretches returns the stretches of a job. The handler of an attempt that was lost or handed back is not counted, because
// the time at which it freed its place is unknown.
func (c *checker) stretches(s *story) (all []stretch) {
	if s.record == nil {
		return nil
	}
	held := map[int64]bool{}
	for _, a := range s.record.V.Attempts {
		held[a.Lease] = a.Outcome == "ok" || a.Outcome == "error" || a.Outcome == "snoozed"
	}
	for _, e := range s.executions {
		if from := e.V.Start + c.h.Header.Precision; held[e.V.Lease] && from < e.V.End {
			all = append(all, stretch{s.id, from, e.V.End, e.Line})
		}
	}
	return all
}

// atOnce checks that at most that many stretches overlap.
func (c *checker) atOnce(promise, what string, stretches []stretch, most int) {
	slices.SortFunc(stretches, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var open []stretch
	for _, s := range stretches {
		open = append(slices.DeleteFunc(open, func(o stretch) bool { return o.to <= s.from }), s)
		if len(open) > most {
			at := make([]int, len(open))
			for i, o := range open {
				at[i] = o.line
			}
			c.broken(promise, at, "%s: %d run at once, must be at most %d", what, len(open), most)
			return
		}
	}
}

// sorted returns the stories with a record, by ID.
func (c *checker) sorted() (all []*story) {
	for _, id := range slices.Sorted(maps.Keys(c.stories)) {
		if s := c.stories[id]; s.record != nil {
			all = append(all, s)
		}
	}
	return all
}

// limits checks limits and sequences.
func (c *checker) limits() {
	for _, l := range c.h.Limits {
		groups := map[string][]*story{}
		for _, s := range c.sorted() {
			if r := s.record.V; r.Task == l.V.Task && r.Group != "" {
				groups[r.Group] = append(groups[r.Group], s)
			}
		}
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			c.report.Counts.Limited += len(groups[group])
			what, most := fmt.Sprintf("task %s, group %s", l.V.Task, group), l.V.Running
			if l.V.Sequence {
				c.sequence(what, groups[group])
				most = 1
			}
			var stretches []stretch
			for _, s := range groups[group] {
				stretches = append(stretches, c.stretches(s)...)
			}
			c.atOnce(PromiseLimit, what, stretches, most)
		}
	}
}

// sequence checks that no job begins before the jobs in front of it have ended.
func (c *checker) sequence(what string, jobs []*story) {
	lasts := make([]stretch, len(jobs))
	latest := int64(0)
	for k, s := range jobs {
		first := c.first([]*story{s})
		if first.from < latest {
			for i, before := range jobs[:k] {
				if first.from < lasts[i].to && certainlyBefore(before, s) {
					c.broken(PromiseSequence, []int{lasts[i].line, first.line}, "%s: job %d begins before job %d, which is in front of it, has ended", what, s.id, before.id)
					return
				}
			}
		}
		if !mayHaveComeBack(s) {
			lasts[k] = c.last([]*story{s})
			latest = max(latest, lasts[k].to)
		}
	}
}

// first returns the handler of the jobs that began first, by its latest possible begin. Without a handler it returns one
// that never began.
func (c *checker) first(jobs []*story) stretch {
	first := stretch{from: never}
	for _, s := range jobs {
		for _, e := range s.executions {
			if from := e.V.Start + c.h.Header.Precision; from < first.from {
				first = stretch{s.id, from, e.V.End, e.Line}
			}
		}
	}
	return first
}

// last returns the counted handler of the jobs that ended last.
func (c *checker) last(jobs []*story) (last stretch) {
	for _, s := range jobs {
		for _, x := range c.stretches(s) {
			if x.to > last.to {
				last = x
			}
		}
	}
	return last
}

// mayHaveComeBack reports whether a job may have been retried by hand, and then came after other jobs.
func mayHaveComeBack(s *story) bool {
	return slices.ContainsFunc(s.asked, func(p part) bool { return p.Op == OpRetry && (p.Type == Unknown || p.Type == OK && !p.got.Left) })
}

// certainlyBefore reports whether job a was acknowledged before job b was requested.
func certainlyBefore(a, b *story) bool {
	if len(a.acks) == 0 || len(b.acks) == 0 {
		return false
	}
	end, begin := never, never
	for _, p := range a.acks {
		end = min(end, p.Ended)
	}
	for _, p := range b.acks {
		begin = min(begin, p.Invoked)
	}
	return end < begin
}

// stepItem identifies an item of a step of a run.
type stepItem struct {
	step string
	item int
}

// workflows checks the steps of runs.
func (c *checker) workflows() {
	graphs := map[string]Workflow{}
	for _, w := range c.h.Workflows {
		graphs[w.V.Task] = w.V
	}
	parts := map[int64][]*story{}
	for _, s := range c.sorted() {
		if r := s.record.V; r.Run > 0 {
			parts[r.Run] = append(parts[r.Run], s)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		run := c.stories[id]
		if run == nil || run.record == nil {
			if c.h.complete(KindJob) {
				c.broken(PromiseWorkflow, []int{parts[id][0].record.Line, c.h.Lines}, "run %d has steps and is not in the record, which is complete", id)
			}
			continue
		}
		c.report.Counts.Runs++
		c.run(run, graphs[run.record.V.Task], parts[id])
	}
}

func (c *checker) run(run *story, w Workflow, parts []*story) {
	well := map[stepItem]*story{}
	steps := map[string][]*story{}
	again := mayHaveComeBack(run)
	for _, s := range parts {
		r := s.record.V
		at := stepItem{r.Step, r.Item}
		steps[r.Step] = append(steps[r.Step], s)
		if final(run.record.V.State) && !final(r.State) {
			c.broken(PromiseWorkflow, []int{run.record.Line, s.record.Line}, "run %d is %s, and job %d of its step %s is %s", run.id, run.record.V.State, s.id, r.Step, r.State)
		}
		if r.State != "succeeded" {
			continue
		}
		if other := well[at]; other != nil && !again {
			c.broken(PromiseWorkflow, []int{other.record.Line, s.record.Line}, "run %d: step %s, item %d has succeeded twice, as jobs %d and %d", run.id, r.Step, r.Item, other.id, s.id)
		}
		well[at] = s
	}
	if again {
		return
	}
	for _, step := range w.Steps {
		for _, need := range step.Needs {
			before, first := c.last(steps[need]), c.first(steps[step.Name])
			if first.from < before.to {
				c.broken(PromiseWorkflow, []int{before.line, first.line}, "run %d: step %s begins before step %s, which it needs, has ended", run.id, step.Name, need)
			}
		}
		if step.AtOnce == 0 {
			continue
		}
		var stretches []stretch
		for _, s := range steps[step.Name] {
			stretches = append(stretches, c.stretches(s)...)
		}
		c.atOnce(PromiseWorkflow, fmt.Sprintf("run %d, step %s", run.id, step.Name), stretches, step.AtOnce)
	}
}
