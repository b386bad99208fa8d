package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

const (
	// Piece bounds the jobs that one transition writes for a run.
	Piece = 1000
	// CleanupTimeout is how long cleanup steps may take together.
	CleanupTimeout = core.Duration(time.Hour)
)

// Plan is the workflow of a run as it was at its begin. An edit of the workflow counts from the next run on.
type Plan struct {
	Workflow task.Workflow   `json:"workflow"`
	Input    json.RawMessage `json:"input,omitempty"`
	Timeout  core.Duration   `json:"timeout"`
	Handles  [][]int         `json:"handles,omitempty" doc:"By step: the places of the steps whose failure its condition reads"`
}

// State is where a step stands.
type State string

// The states. The last four are final.
const (
	Pending  State = "pending"  // some of its needs have not ended
	Running  State = "running"  // its jobs wait or run
	Sleeping State = "sleeping" // until its time
	Waiting  State = "waiting"  // for its signal or approval
	OK       State = "ok"
	Failed   State = "failed"
	Skipped  State = "skipped"
	Canceled State = "canceled"
)

// Final reports that nothing more happens to a step in this state.
func (s State) Final() bool { return s == OK || s == Failed || s == Skipped || s == Canceled }

// Step is the progress of a step. A step without for_each and matrix has one item.
type Step struct {
	Name     string    `json:"name"`
	State    State     `json:"state" enum:"pending,running,sleeping,waiting,ok,failed,skipped,canceled"`
	Reason   string    `json:"reason,omitempty" doc:"Why it was skipped or canceled"`
	Error    string    `json:"error,omitempty" doc:"What the last item that failed said"`
	Blocked  bool      `json:"blocked,omitempty" doc:"It was skipped because a step that it needs did not succeed"`
	Total    int       `json:"total,omitempty" doc:"Items to run, without those kept from before a retry"`
	Begun    int       `json:"begun,omitempty" doc:"Items whose job is there"`
	OK       int       `json:"ok,omitempty"`
	Failed   int       `json:"failed,omitempty"`
	Canceled int       `json:"canceled,omitempty"`
	Kept     int       `json:"kept,omitempty" doc:"Items that had succeeded before a retry"`
	Again    []int     `json:"again,omitempty" doc:"Places of the items that a retry runs"`
	JobID    int64     `json:"job_id,omitempty" doc:"Its job, if it has one item"`
	Since    time.Time `json:"since,omitzero" doc:"When it began"`
	Until    time.Time `json:"until,omitzero" doc:"When its pause or wait is over"`
	EndedAt  time.Time `json:"ended_at,omitzero"`
	By       string    `json:"by,omitempty" doc:"Who approved, rejected or sent the signal"`
	Note     string    `json:"note,omitempty" doc:"Why"`
}

func (s Step) done() int { return s.OK + s.Failed + s.Canceled }

// Item is the place in the list of the n-th item that the step runs.
func (s Step) Item(n int) int {
	if s.Again != nil {
		return s.Again[n]
	}
	return n
}

// Stop is the end of a run before its steps are done.
type Stop struct {
	Reason core.Reason `json:"reason"`
	Note   string      `json:"note"`
	Hard   bool        `json:"hard,omitempty"` // no cleanup either
}

// Run is the progress of a workflow. With its plan, it is all that is needed to continue after a crash.
type Run struct {
	JobID     int64     `json:"job_id"`
	Namespace string    `json:"namespace"`
	Workflow  string    `json:"workflow" doc:"Name of its task"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Deadline  time.Time `json:"deadline" doc:"When it has run for as long as it may"`
	Depth     int       `json:"depth" doc:"1; more for a workflow that is a step of another"`
	Parent    int64     `json:"parent,omitempty" doc:"Job of the workflow that it is a step of"`
	Retries   int       `json:"retries,omitempty" doc:"How often it was retried"`
	From      string    `json:"from,omitempty" doc:"Step that the next retry begins at; default: those that did not succeed"`
	Edited    bool      `json:"edited,omitempty"` // the next retry has another input
	Stop      *Stop     `json:"stop,omitempty" doc:"Why no more steps begin"`
	CleanupAt time.Time `json:"cleanup_at,omitzero" doc:"When cleanup began"`
	Steps     []Step    `json:"steps"`
}

// Begin is a run that has not done anything.
func Begin(p Plan, r Run, now time.Time) Run {
	r.StartedAt, r.Deadline = now, now.Add(p.Timeout.D())
	r.Steps = make([]Step, len(p.Workflow.Steps))
	for i, s := range p.Workflow.Steps {
		r.Steps[i] = Step{Name: s.Name, State: Pending}
	}
	return r
}

// Items are items of a step whose jobs are to be written: from Begun on, so many.
type Items struct{ Step, Count int }

// Move moves the times of a run under way by how far the clock was set. Ended steps stay.
func (r *Run) Move(by time.Duration) {
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	move(&r.StartedAt)
	move(&r.Deadline)
	move(&r.CleanupAt)
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.State.Final() {
			move(&s.Since)
			move(&s.Until)
		}
	}
}

// Turn is the decision of [Run.Next]: the work of one transition.
type Turn struct {
	Ready []int     // steps that may begin: their condition is to be evaluated
	Items []Items   // jobs to be written, at most [Piece] together
	More  bool      // there are more to be written, in the next transition
	Done  bool      // the run has ended
	Wake  time.Time // time of the next decision, if no event comes before
}

// Next decides what happens next. Steps that cannot run are skipped in r. It is asked again after
// each of its answers was carried out; room is how many jobs the transition may still write.
func (r *Run) Next(p Plan, now time.Time, room int) (t Turn) {
	r.tick(p, now)
	for changed := true; changed; {
		changed = false
		held := r.held(p)
		for i := range r.Steps {
			if r.Steps[i].State != Pending {
				continue
			}
			switch begins, why, blocked := r.judge(p, i, held[i]); {
			case why != "":
				r.end(i, Skipped, now)
				r.Steps[i].Reason, r.Steps[i].Blocked = why, blocked
				changed = true
			case begins && !slices.Contains(t.Ready, i):
				t.Ready = append(t.Ready, i)
			}
		}
	}
	if r.CleanupAt.IsZero() && r.mainEnded(p) {
		r.CleanupAt = now
	}
	for i, s := range r.Steps {
		if s.State != Running || r.stopped(p, i) {
			continue
		}
		n := s.Total - s.Begun
		if most := p.Workflow.Steps[i].AtOnce; most > 0 {
			n = min(n, most-(s.Begun-s.done()))
		}
		if n > room {
			n, t.More = room, true
		}
		if n > 0 {
			t.Items, room = append(t.Items, Items{i, n}), room-n
		}
	}
	t.Done = !slices.ContainsFunc(r.Steps, func(s Step) bool { return !s.State.Final() })
	t.Wake = r.wake()
	return t
}

// tick ends pauses and waits that are over, and stops the run when it has taken too long.
func (r *Run) tick(p Plan, now time.Time) {
	if r.Stop == nil && !now.Before(r.Deadline) && r.CleanupAt.IsZero() {
		r.Stop = &Stop{Reason: "timeout", Note: fmt.Sprintf("the workflow took longer than its timeout of %s", p.Timeout)}
	}
	if !r.CleanupAt.IsZero() && !now.Before(r.CleanupAt.Add(CleanupTimeout.D())) && !r.hard() {
		stop := Stop{Reason: "timeout", Note: fmt.Sprintf("cleanup took longer than %s", CleanupTimeout)}
		if r.Stop != nil {
			stop = *r.Stop
		}
		stop.Hard = true
		r.Stop = &stop
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.State.Final() || s.State == Pending:
		case r.stopped(p, i):
			if s.State == Running && s.done() < s.Begun {
				continue // its jobs were asked to end
			}
			if s.State == Running && s.Begun == s.Total {
				r.settle(i, now)
				continue
			}
			r.end(i, Canceled, now)
			s.Reason = r.Stop.Note
		case s.State == Sleeping && !now.Before(s.Until):
			r.end(i, OK, now)
		case s.State == Waiting && !now.Before(s.Until):
			s.Error = fmt.Sprintf("timed out after %s", core.Duration(s.Until.Sub(s.Since)))
			r.end(i, Failed, now)
		case s.State == Running && s.done() == s.Total:
			r.settle(i, now)
		}
	}
}

// settle ends a step whose items have all ended.
func (r *Run) settle(i int, now time.Time) {
	s := &r.Steps[i]
	switch {
	case s.Failed > 0:
		r.end(i, Failed, now)
	case s.Canceled > 0:
		r.end(i, Canceled, now)
		if s.Reason = "its job was canceled"; r.Stop != nil {
			s.Reason = r.Stop.Note
		}
	default:
		r.end(i, OK, now)
	}
}

func (r *Run) hard() bool { return r.Stop != nil && r.Stop.Hard }

// stopped reports that no further item of a step begins.
func (r *Run) stopped(p Plan, i int) bool {
	return r.Stop != nil && (r.Stop.Hard || !p.Workflow.Steps[i].Cleanup)
}

// Stopping reports that jobs of the run may have to be asked to end.
func (r *Run) Stopping(p Plan) bool {
	for i, s := range r.Steps {
		if s.State == Running && r.stopped(p, i) {
			return true
		}
	}
	return false
}

// CleanupSteps reports for each step whether it is a cleanup step. A cancellation ends only the others.
func (p Plan) CleanupSteps() (list []int64) {
	for i, s := range p.Workflow.Steps {
		if s.Cleanup {
			list = append(list, int64(i))
		}
	}
	return list
}

func (r *Run) end(i int, state State, now time.Time) {
	r.Steps[i].State, r.Steps[i].EndedAt, r.Steps[i].Until = state, now, time.Time{}
}

// mainEnded reports that all steps but cleanup have ended.
func (r *Run) mainEnded(p Plan) bool {
	for i, s := range r.Steps {
		if !s.State.Final() && !p.Workflow.Steps[i].Cleanup {
			return false
		}
	}
	return true
}

// held reports of each step whether one before it has not ended though those that it needs have: a retry keeps a success
// behind a step that it begins again, and expressions read all that come before.
func (r *Run) held(p Plan) []bool {
	held := make([]bool, len(r.Steps))
	if r.Retries == 0 {
		return held
	}
	seen := make([]bool, len(r.Steps))
	var look func(i int) bool
	look = func(i int) bool {
		if !seen[i] {
			seen[i] = true
			for _, need := range p.Workflow.Steps[i].Needs {
				n := p.Workflow.Find(need)
				held[i] = look(n) || held[i] || !r.Steps[n].State.Final()
			}
		}
		return held[i]
	}
	for i := range r.Steps {
		look(i)
	}
	return held
}

// judge reports of a step that has not begun whether it may, or why it never will.
func (r *Run) judge(p Plan, i int, held bool) (begins bool, why string, blocked bool) {
	if r.stopped(p, i) {
		return false, r.Stop.Note, true
	}
	if held {
		return false, "", false
	}
	step := p.Workflow.Steps[i]
	if step.Cleanup && !r.mainEnded(p) {
		return false, "", false
	}
	for _, need := range step.Needs {
		n := p.Workflow.Find(need)
		s := r.Steps[n]
		if !s.State.Final() {
			return false, "", false
		}
		if why == "" && !r.satisfies(p, n) && !p.handles(i, n) && !(step.Cleanup && !p.Workflow.Steps[n].Cleanup) {
			why = fmt.Sprintf("it needs %s, which %s", need, map[State]string{Failed: "failed", Skipped: "was skipped", Canceled: "was canceled"}[s.State])
		}
	}
	return why == "", why, why != ""
}

// satisfies reports that steps that need this one may run.
func (r *Run) satisfies(p Plan, i int) bool {
	switch s := r.Steps[i]; s.State {
	case OK:
		return true
	case Skipped:
		return !s.Blocked
	default:
		return p.Workflow.Steps[i].OnFailure == task.FailureContinue
	}
}

func (p Plan) handles(i, n int) bool { return i < len(p.Handles) && slices.Contains(p.Handles[i], n) }

// wake is when something happens by itself.
func (r *Run) wake() (at time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if r.Stop == nil && r.CleanupAt.IsZero() {
		sooner(r.Deadline)
	}
	if !r.CleanupAt.IsZero() && !r.hard() {
		sooner(r.CleanupAt.Add(CleanupTimeout.D()))
	}
	for _, s := range r.Steps {
		if !s.State.Final() {
			sooner(s.Until)
		}
	}
	return at
}

// Skip leaves a step out because its condition does not hold.
func (r *Run) Skip(i int, why string, now time.Time) {
	r.end(i, Skipped, now)
	r.Steps[i].Reason = why
}

// Fail ends a step that could not begin.
func (r *Run) Fail(i int, why string, now time.Time) {
	r.Steps[i].Since, r.Steps[i].Error = now, why
	r.end(i, Failed, now)
}

// Lack fails the items of a step whose jobs cannot be written. The step ends when those have ended that are under way.
func (r *Run) Lack(i int, why string) {
	s := &r.Steps[i]
	s.Failed, s.Begun, s.Error = s.Failed+s.Total-s.Begun, s.Total, why
}

// Start begins a step with so many items.
func (r *Run) Start(i, items int, now time.Time) {
	s := &r.Steps[i]
	s.State, s.Since, s.Total = Running, now, items
}

// Wait begins a pause, or the wait for a signal.
func (r *Run) Wait(i int, state State, until, now time.Time) {
	s := &r.Steps[i]
	s.State, s.Since, s.Until = state, now, until
}

// Answer ends the wait of a step.
func (r *Run) Answer(i int, well bool, by, note string, now time.Time) {
	s := &r.Steps[i]
	if s.Since.IsZero() {
		s.Since = now
	}
	s.By, s.Note = by, note
	if well {
		r.end(i, OK, now)
		return
	}
	s.Error = "rejected by " + by
	if note != "" {
		s.Error += ": " + note
	}
	r.end(i, Failed, now)
}

// ItemEnded counts an item whose job has ended.
func (r *Run) ItemEnded(i int, state job.State, failure string) {
	s := &r.Steps[i]
	switch state {
	case job.Succeeded:
		s.OK++
	case job.Failed:
		s.Failed++
		s.Error = failure
	default:
		s.Canceled++
		if failure != "" {
			s.Error = failure
		}
	}
}

// StopFor ends a run early: no steps begin but cleanup, and a second time, or when it is hard, not even these. A run
// that was stopped hard stays so.
func (r *Run) StopFor(reason core.Reason, note string, hard bool) {
	again := r.Stop != nil && !r.CleanupAt.IsZero()
	r.Stop = &Stop{Reason: reason, Note: note, Hard: hard || again || r.hard()}
}

// Waiting finds the step that waits for a signal, or -1.
func (r *Run) Waiting(p Plan, signal string) int {
	for i, s := range r.Steps {
		if s.State == Waiting && p.Workflow.Steps[i].SignalName() == signal {
			return i
		}
	}
	return -1
}

// Signals are the names of the signals that a workflow waits for, each once.
func (p Plan) Signals() (names []string) {
	for _, s := range p.Workflow.Steps {
		if name := s.SignalName(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
