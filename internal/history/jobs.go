package history

import (
	"cmp"
	"fmt"
	"slices"
)

// story has all lines of a history about one job.
type story struct {
	id         int64
	record     *At[Job]
	acks       []part // enqueue and run_again whose answer has the job
	asked      []part // cancel, retry and read
	claims     []part
	finishes   []part
	executions []At[Execution]
}

// part is the part of an operation that concerns one job.
type part struct {
	*Operation
	args JobArgs
	got  JobResult
}

// stories groups a history by jobs.
func stories(h *History) map[int64]*story {
	all := map[int64]*story{}
	of := func(id int64) *story {
		if all[id] == nil {
			all[id] = &story{id: id}
		}
		return all[id]
	}
	for i := range h.Jobs {
		of(h.Jobs[i].V.ID).record = &h.Jobs[i]
	}
	for _, e := range h.Executions {
		s := of(e.V.Job)
		s.executions = append(s.executions, e)
	}
	for _, o := range h.Operations {
		switch o.Op {
		case OpEnqueue, OpRunAgain:
			for i, got := range o.Result.Jobs {
				var args JobArgs
				if i < len(o.Args.Jobs) {
					args = o.Args.Jobs[i]
				}
				s := of(got.ID)
				s.acks = append(s.acks, part{o, args, got})
			}
		case OpCancel, OpRetry, OpRead, OpFinish:
			for i, args := range o.Args.Jobs {
				s := of(args.ID)
				p := part{o, args, o.answer(args, i)}
				if o.Op == OpFinish {
					s.finishes = append(s.finishes, p)
				} else {
					s.asked = append(s.asked, p)
				}
			}
		case OpClaim:
			for _, got := range o.Result.Jobs {
				s := of(got.ID)
				s.claims = append(s.claims, part{o, JobArgs{}, got})
			}
		}
	}
	return all
}

// answer returns the answer about one of the jobs of the request.
func (o *Operation) answer(a JobArgs, i int) JobResult {
	if o.Op == OpFinish {
		if i < len(o.Result.Jobs) {
			return o.Result.Jobs[i]
		}
		return JobResult{}
	}
	for _, got := range o.Result.Jobs {
		if got.ID == a.ID {
			return got
		}
	}
	if o.Op == OpRead {
		return JobResult{ID: a.ID, State: "not_found"}
	}
	return JobResult{ID: a.ID, Left: true} // for cancel and retry: the job was not changed
}

// attempt is the known data of one attempt.
type attempt struct {
	lease   int64
	outcome string
	ended   bool     // it must have ended, because it is in the record
	claim   [2]int64 // earliest and latest time of its claim
	settle  [2]int64
	line    int
	text    string
}

// attempts combines the data from the record, claims, executions and finishes.
func (s *story) attempts(precision int64) []attempt {
	by := map[int64]*attempt{}
	of := func(lease int64, line int) *attempt {
		if by[lease] == nil {
			by[lease] = &attempt{lease: lease, claim: [2]int64{0, never}, settle: [2]int64{0, never}, line: line, text: fmt.Sprintf("the attempt under lease %d", lease)}
		}
		return by[lease]
	}
	if s.record != nil {
		for _, a := range s.record.V.Attempts {
			x := of(a.Lease, s.record.Line)
			x.outcome, x.ended = a.Outcome, true
			x.text += " that ended " + a.Outcome
		}
	}
	for _, p := range s.claims {
		x := of(p.got.Lease, p.Line)
		x.claim = [2]int64{p.Invoked, p.Ended}
	}
	for _, e := range s.executions {
		x := of(e.V.Lease, e.Line)
		x.claim[1] = min(x.claim[1], e.V.Start+precision)
		if x.outcome == "ok" || x.outcome == "error" && e.V.Outcome == "error" {
			// The worker reported after the handler ended. An attempt that was lost or handed back may end before its handler begins.
			x.settle[0] = max(x.settle[0], e.V.Start, e.V.End)
		}
	}
	for _, p := range s.finishes {
		x := by[p.args.Lease]
		if x == nil || p.Type != OK || p.got.Stale {
			continue
		}
		x.settle = [2]int64{max(x.settle[0], p.Invoked), p.Ended}
		x.outcome, x.ended = cmp.Or(x.outcome, p.args.Outcome), true
	}
	var all []attempt
	for _, x := range by {
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b attempt) int { return cmp.Compare(a.lease, b.lease) })
	return all
}

// steps returns a job's history for the sequential model.
func (s *story) steps(h *History, keys map[string][]*Operation) []Step {
	var all []Step
	add := func(p Step) { all = append(all, p) }
	fresh := false
	for _, p := range s.acks {
		answer := Done
		if p.got.Existing {
			answer = Already
		}
		fresh = fresh || answer == Done
		add(Step{Verb: Create, Answer: answer, Invoked: p.Invoked, Ended: p.Ended, Line: p.Line, Text: fmt.Sprintf("%s answered that the job is %s", p.Op, newText(p.got.Existing))})
	}
	if !fresh { // created by a schedule, by a client without a record, or in a call whose answer was lost
		add(Step{Verb: Create, Answer: Unheard, Optional: true, Invoked: s.madeAfter(keys), Ended: never, Text: "the job was made by another client"})
	}
	for _, p := range s.asked {
		if step, counts := p.step(); counts {
			add(step)
		}
	}
	for i, x := range s.attempts(h.Header.Precision) {
		add(Step{Verb: Claim, Index: i, Lease: x.lease, Invoked: x.claim[0], Ended: x.claim[1], Line: x.line, Text: "the claim of " + x.text})
		add(Step{Verb: Settle, Index: i, Lease: x.lease, Outcome: x.outcome, Optional: !x.ended, Invoked: x.settle[0], Ended: x.settle[1], Line: x.line, Text: "the end of " + x.text})
	}
	if s.record == nil {
		return all
	}
	r := s.record.V
	if r.State == "skipped" || r.State == "canceled" && (r.Reason != "canceled" && r.Reason != "" || r.ofRun()) || r.Kind == "cycle" || r.Kind == "workflow" {
		add(Step{Verb: Withdraw, State: r.State, Optional: true, Ended: never, Text: "the installation ended the job: " + r.Reason})
	}
	add(Step{Verb: Look, State: r.State, Attempts: len(r.Attempts), Invoked: r.Time, Ended: never, Line: s.record.Line, Text: fmt.Sprintf("the record says %s after %d attempts", r.State, len(r.Attempts))})
	return all
}

// ofRun reports that a job is a step of a workflow or a member of a cycle: a cancel of the run cancels it too.
func (j Job) ofRun() bool { return j.Run > 0 || j.Trigger == "step" || j.Trigger == "cycle" }

func newText(existing bool) string {
	if existing {
		return "there already"
	}
	return "new"
}

// madeAfter returns the earliest time at which a job can have been created: with an idempotency key, the first request for it.
func (s *story) madeAfter(keys map[string][]*Operation) int64 {
	if s.record == nil || s.record.V.Key == "" || len(keys[s.record.V.Key]) == 0 {
		return 0
	}
	first := never
	for _, o := range keys[s.record.V.Key] {
		first = min(first, o.Invoked)
	}
	return first
}

// step returns an operation on one job for the model. The boolean is false if it says nothing about the job.
func (p part) step() (Step, bool) {
	step := Step{Answer: Done, Invoked: p.Invoked, Ended: p.Ended, Line: p.Line, Attempts: -1, Text: p.Op + " was acknowledged"}
	switch {
	case p.Type == Fail, p.Type == Unknown && p.Op == OpRead:
		return step, false
	case p.Type == Unknown:
		step.Answer, step.Optional, step.Text = Unheard, true, p.Op+", of which the answer was lost"
	case p.got.Left:
		step.Answer, step.Text = Left, p.Op+" was answered with: not done"
	}
	switch p.Op {
	case OpCancel:
		step.Verb = Cancel
	case OpRetry:
		step.Verb = Retry
	case OpRead:
		step.Verb, step.State, step.Text = Look, p.got.State, "a read was answered with: "+p.got.State
	}
	return step, true
}

// JobSteps returns the history of each job for the sequential model, for a second checker.
func JobSteps(h *History) map[int64][]Step {
	keys, all := askedKeys(h), map[int64][]Step{}
	for id, s := range stories(h) {
		all[id] = s.steps(h, keys)
	}
	return all
}

// askedKeys returns the calls that may have created a job, by idempotency key.
func askedKeys(h *History) map[string][]*Operation {
	keys := map[string][]*Operation{}
	for _, o := range h.Operations {
		if o.Op != OpEnqueue && o.Op != OpRunAgain || o.Type == Fail {
			continue
		}
		for _, a := range o.Args.Jobs {
			if a.Key != "" {
				keys[a.Key] = append(keys[a.Key], o)
			}
		}
	}
	return keys
}
