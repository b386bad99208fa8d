package belfry

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Cycle is a list of tasks that run strictly one after another. When the cycle
// runs is a matter of its schedules; which of its members are due then is told
// by when each of them last succeeded.
type Cycle struct {
	Members []Member `json:"members" doc:"In the order in which they run; at most 500"`
	Stagger Duration `json:"stagger,omitempty" doc:"Longest pause before a member, the first excepted; how long is spread evenly; default: none; at most 1h"`
}

// Member is a task in a cycle. It may be in other cycles too, and is never run
// by two of them at the same time, nor twice within its interval.
type Member struct {
	Task        string          `json:"task" doc:"Name of the task, in the namespace of the cycle"`
	Every       Duration        `json:"every,omitempty" doc:"Least time between two runs that succeeded, from start to start; default: it is due each time"`
	Timeout     Duration        `json:"timeout,omitempty" doc:"Instead of the task's own"`
	MaxAttempts int             `json:"max_attempts,omitempty" doc:"Instead of the task's own"`
	OnFailure   OnFailure       `json:"on_failure,omitempty" enum:"continue,stop" doc:"What becomes of the members behind it when it fails; default: continue"`
	Input       json.RawMessage `json:"input,omitempty" doc:"Instead of the task's own"`
}

// OnFailure is what becomes of a cycle when a member fails.
type OnFailure string

// A cycle that stops leaves out the members that are left.
const (
	FailureContinue OnFailure = "continue"
	FailureStop     OnFailure = "stop"
)

// Limits of a cycle.
const (
	MaxMembers   = 500
	MaxStagger   = Duration(time.Hour)
	MaxCycleDeep = 5 // cycles within cycles
)

// TriggerCycle is who asked for a job of a member.
const TriggerCycle Trigger = "cycle"

func (c Cycle) withDefaults() Cycle {
	c.Members = slices.Clone(c.Members)
	for i := range c.Members {
		c.Members[i].OnFailure = or(c.Members[i].OnFailure, FailureContinue)
	}
	return c
}

func (c Cycle) validate() error {
	var p problems
	if len(c.Members) == 0 || len(c.Members) > MaxMembers {
		p.addf("members", len(c.Members), "has not between 1 and %d entries", MaxMembers)
	}
	if c.Stagger < 0 || c.Stagger > MaxStagger {
		p.addf("stagger", c.Stagger, "is outside 0s to %s", MaxStagger)
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		path := fmt.Sprintf("members[%d]", i)
		checkName(&p, path+".task", m.Task)
		if seen[m.Task] {
			p.add(path+".task", m.Task, "is in the list twice", "")
		}
		seen[m.Task] = true
		if m.Every < 0 || m.Every > MaxEvery {
			p.addf(path+".every", m.Every, "is outside 0s to %s", MaxEvery)
		}
		if m.Timeout != 0 && (m.Timeout < MinTimeout || m.Timeout > MaxTimeout) {
			p.addf(path+".timeout", m.Timeout, "is outside %s to %s", MinTimeout, MaxTimeout)
		}
		if m.MaxAttempts < 0 || m.MaxAttempts > 100 {
			p.addf(path+".max_attempts", m.MaxAttempts, "is outside 1 to 100")
		}
		if m.OnFailure != FailureContinue && m.OnFailure != FailureStop {
			p.add(path+".on_failure", string(m.OnFailure), "is not a choice", "one of continue, stop")
		}
		checkInput(&p, path+".input", m.Input)
	}
	return p.err("cycle")
}

// MemberTiming is when a member last succeeded, in whatever cycle. It is kept
// for ever, and written in the transaction that settles a success and nowhere
// else.
type MemberTiming struct {
	Task        string    `json:"task"`
	StartedAt   time.Time `json:"started_at,omitzero" doc:"Start of the last run that succeeded; its interval counts from here"`
	CycleAt     time.Time `json:"cycle_at,omitzero" doc:"Time of the cycle in which that was"`
	SucceededAt time.Time `json:"succeeded_at,omitzero"`
	ResetAt     time.Time `json:"reset_at,omitzero" doc:"When an earlier success was last forgotten, by a reset of its timing"`
	RunningJob  int64     `json:"running_job,omitempty" doc:"The job that runs it now, of whatever cycle"`
}

// Slack is how much less than its interval may lie between two starts of a
// member: a tenth of it, at most five minutes. Members start some moments after
// their cycle, and not always as many: without it, an hourly member of an
// hourly cycle would run every other hour. From cycle to cycle there is none.
func (m Member) Slack() Duration { return min(m.Every/10, Duration(5*time.Minute)) }

// DueAt is when the member is due, as far as its interval goes. Zero: now.
func (m Member) DueAt(t MemberTiming) time.Time {
	if m.Every <= 0 || t.StartedAt.IsZero() {
		return time.Time{}
	}
	at := t.StartedAt.Add((m.Every - m.Slack()).D())
	if !t.CycleAt.IsZero() {
		at = later(at, t.CycleAt.Add(m.Every.D()))
	}
	return at
}

// Due says whether the member is due now, in a cycle whose time is at, and why:
// its interval must have passed since the cycle in which it last succeeded,
// and, but for the slack, since it started then.
func (m Member) Due(t MemberTiming, at, now time.Time) (due bool, why string) {
	switch {
	case t.StartedAt.IsZero() && !t.ResetAt.IsZero():
		return true, fmt.Sprintf("its timing was reset at %s, and it has not succeeded since", stamp(t.ResetAt))
	case t.StartedAt.IsZero():
		return true, "it has never succeeded"
	case m.Every <= 0:
		return true, "it has no interval"
	case now.Before(t.StartedAt.Add((m.Every - m.Slack()).D())) || !t.CycleAt.IsZero() && at.Before(t.CycleAt.Add(m.Every.D())):
		return false, fmt.Sprintf("it last succeeded in a run of %s, and is due again at %s", stamp(t.StartedAt), stamp(m.DueAt(t)))
	}
	return true, fmt.Sprintf("it last succeeded in a run of %s, at least %s ago", stamp(t.StartedAt), m.Every)
}

// CycleRun is a cycle under way: all that is needed to go on, whatever crashed.
type CycleRun struct {
	JobID     int64          `json:"job_id"`
	Namespace string         `json:"namespace"`
	Cycle     string         `json:"cycle" doc:"Name of its task"`
	Schedule  string         `json:"schedule,omitempty"`
	At        time.Time      `json:"at,omitzero" doc:"Its nominal time, or when it began"`
	StartedAt time.Time      `json:"started_at"`
	Members   []Member       `json:"members" doc:"As the cycle began: an edit counts from the next one on"`
	Stagger   Duration       `json:"stagger,omitempty"`
	Depth     int            `json:"depth,omitempty"`
	Results   []MemberResult `json:"results" doc:"Of the members that are done, in their order"`
	Skip      []string       `json:"skip,omitempty" doc:"Members that somebody wants to be left out"`
	SkippedBy string         `json:"skipped_by,omitempty"`

	Current   string    `json:"current,omitempty" doc:"The member that runs, or is next"`
	MemberJob int64     `json:"member_job,omitempty" doc:"Its job"`
	TurnAt    time.Time `json:"turn_at,omitzero" doc:"When it was its turn"`
	WaitsFor  int64     `json:"waits_for,omitempty" doc:"The job of another cycle that runs this member now"`
}

// MemberResult is what became of a member.
type MemberResult struct {
	Task      string      `json:"task"`
	State     MemberState `json:"state" enum:"ok,failed,skipped"`
	Reason    string      `json:"reason,omitempty"`
	JobID     int64       `json:"job_id,omitempty" doc:"Whose attempts, log and output are kept like any job's"`
	Attempts  int         `json:"attempts,omitempty"`
	StartedAt time.Time   `json:"started_at,omitzero"`
	EndedAt   time.Time   `json:"ended_at,omitzero"`
	Error     string      `json:"error,omitempty"`
}

// MemberState is what became of a member.
type MemberState string

// The states.
const (
	MemberOK      MemberState = "ok"
	MemberFailed  MemberState = "failed"
	MemberSkipped MemberState = "skipped"
)

// Position is the place of the member that runs, or is next.
func (r CycleRun) Position() int { return len(r.Results) }

// Remaining are the members behind the current one.
func (r CycleRun) Remaining() []string {
	var names []string
	for i := r.Position() + 1; i < len(r.Members); i++ {
		names = append(names, r.Members[i].Task)
	}
	return names
}

// Turn is what happens to the member whose turn it is.
type Turn struct {
	Member Member
	Skip   string    // why it is left out; empty: it runs
	At     time.Time // when it starts
	Wait   int64     // the job that has to end first
	Done   bool      // no member is left
}

// Next decides about the member whose turn it is, by its timing. It is asked
// again after each of its answers was carried out.
func (r CycleRun) Next(timing func(task string) MemberTiming, now time.Time) Turn {
	i := r.Position()
	if i >= len(r.Members) {
		return Turn{Done: true}
	}
	t := Turn{Member: r.Members[i], At: now}
	if stopped := r.stoppedBy(); stopped != "" {
		t.Skip = "the cycle stopped: " + stopped + " failed"
		return t
	}
	if slices.Contains(r.Skip, t.Member.Task) {
		t.Skip = "left out by " + or(r.SkippedBy, "belfry")
		return t
	}
	at := timing(t.Member.Task)
	if at.RunningJob != 0 {
		t.Wait = at.RunningJob
		return t
	}
	cycle := r.At
	if cycle.IsZero() {
		cycle = r.StartedAt
	}
	if due, why := t.Member.Due(at, cycle, now); !due {
		t.Skip = "not due: " + why
		return t
	}
	if r.ran() {
		t.At = now.Add(r.pause(t.Member.Task))
	}
	return t
}

// stoppedBy is the member whose failure ended the cycle.
func (r CycleRun) stoppedBy() string {
	for i, res := range r.Results {
		if res.State == MemberFailed && r.Members[i].OnFailure == FailureStop {
			return res.Task
		}
	}
	return ""
}

// ran reports that some member ran already.
func (r CycleRun) ran() bool {
	return slices.ContainsFunc(r.Results, func(m MemberResult) bool { return m.State != MemberSkipped })
}

// pause spreads starts evenly, the same way whoever asks.
func (r CycleRun) pause(task string) time.Duration {
	if r.Stagger <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", r.JobID, task)
	return time.Duration(h.Sum64() % uint64(r.Stagger))
}

// CycleOutput is the output of a cycle's job.
type CycleOutput struct {
	OK      int            `json:"ok"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Took    Duration       `json:"took"`
	Members []MemberResult `json:"members"`
}

// Output is what came of the run so far.
func (r CycleRun) Output(now time.Time) CycleOutput {
	out := CycleOutput{Took: Duration(max(0, now.Sub(r.StartedAt))), Members: r.Results} // a clock may be set back
	for _, m := range r.Results {
		switch m.State {
		case MemberOK:
			out.OK++
		case MemberFailed:
			out.Failed++
		default:
			out.Skipped++
		}
	}
	return out
}

// ReasonNothingDue is why a cycle ended in which no member was due.
const ReasonNothingDue Reason = "nothing_due"

// End is how the job of a cycle ends when no member is left.
func (r CycleRun) End(now time.Time) Settlement {
	s := Settlement{State: JobSucceeded}
	switch out := r.Output(now); {
	case out.Failed > 0:
		s.State, s.Reason, s.Failures = JobFailed, ReasonSpent, 1
		s.Error = fmt.Sprintf("%d of %d members failed: %s", out.Failed, len(r.Members), strings.Join(r.failed(), ", "))
	case out.OK == 0:
		s.State, s.Reason, s.Note = JobSkipped, ReasonNothingDue, "nothing due"
	}
	return s
}

// ReasonTimeout is why a cycle failed that took as long as it may.
const ReasonTimeout Reason = "timeout"

// TimeOut is how a run ends that has taken as long as it may: nobody knows what becomes of the member that runs, and
// those behind it do not run.
func (r CycleRun) TimeOut(limit Duration, now time.Time) (CycleRun, Settlement) {
	s := Settlement{State: JobFailed, Reason: ReasonTimeout, Failures: 1, Error: fmt.Sprintf("the cycle took longer than its timeout of %s", limit)}
	r.Results = slices.Clone(r.Results)
	for i := r.Position(); i < len(r.Members); i++ {
		m := MemberResult{Task: r.Members[i].Task, State: MemberSkipped, Reason: s.Error}
		if m.Task == r.Current && r.MemberJob != 0 {
			m.State, m.Reason, m.Error, m.JobID, m.StartedAt, m.EndedAt = MemberFailed, "", s.Error+", and it was asked to end", r.MemberJob, r.TurnAt, now
		}
		r.Results = append(r.Results, m)
	}
	r.Current, r.MemberJob, r.WaitsFor = "", 0, 0
	if names := r.failed(); len(names) > 0 {
		s.Error += "; failed: " + strings.Join(names, ", ")
	}
	return r, s
}

func (r CycleRun) failed() (names []string) {
	for _, m := range r.Results {
		if m.State == MemberFailed {
			names = append(names, m.Task)
		}
	}
	return names
}

// CycleEndedNotice is the summary of a cycle: one message for all of its
// members and their attempts. There is none for one in which nothing was due.
func CycleEndedNotice(r CycleRun, now time.Time) (Notice, bool) {
	out := r.Output(now)
	if out.OK+out.Failed == 0 {
		return Notice{}, false
	}
	n := Notice{
		Type: NoticeCycleEnded, At: now, Namespace: r.Namespace, Task: r.Cycle, Schedule: r.Schedule, JobID: r.JobID,
		Title: fmt.Sprintf("Cycle %s: %d ok, %d failed, %d skipped", r.Cycle, out.OK, out.Failed, out.Skipped),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Took %s.", roughly(out.Took.D()))
	for i, m := range r.Results {
		if i == MaxLines {
			fmt.Fprintf(&b, "\nand %d more", len(r.Results)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s: %s", m.Task, m.State)
		switch {
		case m.State == MemberSkipped:
			b.WriteString(", " + m.Reason)
		case !m.StartedAt.IsZero():
			fmt.Fprintf(&b, " in %s", roughly(m.EndedAt.Sub(m.StartedAt)))
			if m.Attempts > 1 {
				fmt.Fprintf(&b, " after %d attempts", m.Attempts)
			}
		}
		if m.Error != "" {
			text, _ := CleanText(oneLine(m.Error), 200)
			b.WriteString(": " + text)
		}
	}
	n.Text = b.String()
	return n, true
}

// CycleStatus is a cycle as people see it.
type CycleStatus struct {
	Task    Task           `json:"task"`
	Run     *CycleRun      `json:"run,omitempty" doc:"The one under way"`
	Done    int            `json:"done" doc:"Members that are done in it"`
	Last    *CycleOutput   `json:"last,omitempty" doc:"Of the last one that ended"`
	LastJob int64          `json:"last_job,omitempty"`
	NextAt  time.Time      `json:"next_at,omitzero" doc:"When the next one begins"`
	Members []MemberStatus `json:"members"`
}

// MemberStatus is a member as people see it: why it is due, or not.
type MemberStatus struct {
	Member
	Timing MemberTiming `json:"timing"`
	Due    bool         `json:"due"`
	DueAt  time.Time    `json:"due_at,omitzero" doc:"When its interval is over"`
	Why    string       `json:"why"`
}
