package cycle

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

const MaxCycleDeep = 5 // cycles within cycles

// Run is the durable state of a running cycle: sufficient to continue after a crash.
type Run struct {
	JobID     int64          `json:"job_id"`
	Namespace string         `json:"namespace"`
	Cycle     string         `json:"cycle" doc:"Name of its task"`
	Schedule  string         `json:"schedule,omitempty"`
	At        time.Time      `json:"at,omitzero" doc:"Its nominal time, or when it began"`
	StartedAt time.Time      `json:"started_at"`
	Members   []task.Member  `json:"members" doc:"As the cycle began: an edit counts from the next one on"`
	Stagger   core.Duration  `json:"stagger,omitempty"`
	Depth     int            `json:"depth,omitempty"`
	Results   []MemberResult `json:"results" doc:"Of the members that are done, in their order"`
	Skip      []string       `json:"skip,omitempty" doc:"Members to be left out, as requested"`
	SkippedBy string         `json:"skipped_by,omitempty"`

	Current   string    `json:"current,omitempty" doc:"The member that runs, or is next"`
	MemberJob int64     `json:"member_job,omitempty" doc:"Its job"`
	TurnAt    time.Time `json:"turn_at,omitzero" doc:"When it was its turn"`
	WaitsFor  int64     `json:"waits_for,omitempty" doc:"The job of another run that it waits for: it runs this member now, or was asked to end and has not"`
}

// MemberResult is the result of a member.
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

// MemberState is the state of an ended member.
type MemberState string

// The states.
const (
	MemberOK      MemberState = "ok"
	MemberFailed  MemberState = "failed"
	MemberSkipped MemberState = "skipped"
)

// Position returns the index of the current or next member.
func (r Run) Position() int { return len(r.Results) }

// Remaining returns the members after the current one.
func (r Run) Remaining() []string {
	var names []string
	for i := r.Position() + 1; i < len(r.Members); i++ {
		names = append(names, r.Members[i].Task)
	}
	return names
}

// Turn is the decision about the current member.
type Turn struct {
	Member task.Member
	Skip   string    // why the member is skipped; "": it runs
	At     time.Time // when the member starts
	Wait   int64     // job that must end first
	Done   bool      // no member is left
}

// Next decides about the current member by its timing. Call it again after each
// decision was carried out.
func (r Run) Next(timing func(task string) task.MemberTiming, now time.Time) Turn {
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
		t.Skip = "left out by " + core.Or(r.SkippedBy, "belfry")
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

// stoppedBy returns the member whose failure ended the cycle.
func (r Run) stoppedBy() string {
	for i, res := range r.Results {
		if res.State == MemberFailed && r.Members[i].OnFailure == task.FailureStop {
			return res.Task
		}
	}
	return ""
}

// ran reports whether any member ran already.
func (r Run) ran() bool {
	return slices.ContainsFunc(r.Results, func(m MemberResult) bool { return m.State != MemberSkipped })
}

// pause returns the pause before a member. It spreads starts evenly, and is the
// same on every node.
func (r Run) pause(task string) time.Duration {
	if r.Stagger <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", r.JobID, task)
	return time.Duration(h.Sum64() % uint64(r.Stagger))
}

// Output is the output of a cycle's job.
type Output struct {
	OK      int            `json:"ok"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Took    core.Duration  `json:"took"`
	Members []MemberResult `json:"members"`
}

// Output returns the results of the run so far.
func (r Run) Output(now time.Time) Output {
	out := Output{Took: core.Duration(max(0, now.Sub(r.StartedAt))), Members: r.Results} // a clock may be set back
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

// ReasonNothingDue is the reason of a cycle that ended because no member was due.
const ReasonNothingDue core.Reason = "nothing_due"

// End returns the end of the cycle's job when no member is left.
func (r Run) End(now time.Time) job.Settlement {
	s := job.Settlement{State: job.Succeeded}
	switch out := r.Output(now); {
	case out.Failed > 0:
		s.State, s.Reason, s.Failures = job.Failed, schedule.ReasonExhausted, 1
		s.Error = fmt.Sprintf("%d of %d members failed: %s", out.Failed, len(r.Members), strings.Join(r.failed(), ", "))
	case out.OK == 0:
		s.State, s.Reason, s.Note = job.Skipped, ReasonNothingDue, "nothing due"
	}
	return s
}

// ReasonTimeout is the reason of a cycle that failed at its timeout.
const ReasonTimeout core.Reason = "timeout"

// TimeOut returns the end of a run that reached its timeout. The result of the running member is unknown, and the
// members after it do not run.
func (r Run) TimeOut(limit core.Duration, now time.Time) (Run, job.Settlement) {
	s := job.Settlement{State: job.Failed, Reason: ReasonTimeout, Failures: 1, Error: fmt.Sprintf("the cycle took longer than its timeout of %s", limit)}
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

func (r Run) failed() (names []string) {
	for _, m := range r.Results {
		if m.State == MemberFailed {
			names = append(names, m.Task)
		}
	}
	return names
}

// EndedNotification returns the summary of a cycle: one notification for all of its members and their attempts. name is
// the title of the cycle, if it has one. There is no notification if no member was due.
func EndedNotification(r Run, name string, now time.Time) (alert.Notification, bool) {
	out := r.Output(now)
	if out.OK+out.Failed == 0 {
		return alert.Notification{}, false
	}
	n := alert.Notification{
		Type: alert.NotificationCycleEnded, At: now, Namespace: r.Namespace, Task: r.Cycle, Schedule: r.Schedule, JobID: r.JobID, DisplayTitle: name,
		Title: fmt.Sprintf("Cycle %s: %d ok, %d failed, %d skipped", title.Named(name, r.Cycle), out.OK, out.Failed, out.Skipped),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Took %s.", core.SpanText(out.Took.D()))
	for i, m := range r.Results {
		if i == core.MaxLines {
			fmt.Fprintf(&b, "\nand %d more", len(r.Results)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s: %s", m.Task, m.State)
		switch {
		case m.State == MemberSkipped:
			b.WriteString(", " + m.Reason)
		case !m.StartedAt.IsZero():
			fmt.Fprintf(&b, " in %s", core.SpanText(m.EndedAt.Sub(m.StartedAt)))
			if m.Attempts > 1 {
				fmt.Fprintf(&b, " after %d attempts", m.Attempts)
			}
		}
		if m.Error != "" {
			text, _ := core.CleanText(core.OneLine(m.Error), 200)
			b.WriteString(": " + text)
		}
	}
	n.Text = b.String()
	return n, true
}

// Status is the state of a cycle, for people.
type Status struct {
	Task    task.Task      `json:"task"`
	Run     *Run           `json:"run,omitempty" doc:"The one under way"`
	Done    int            `json:"done" doc:"Members that are done in it"`
	Last    *Output        `json:"last,omitempty" doc:"Of the last one that ended"`
	LastJob int64          `json:"last_job,omitempty"`
	NextAt  time.Time      `json:"next_at,omitzero" doc:"When the next one begins"`
	Members []MemberStatus `json:"members"`
}

// MemberStatus is the state of a member, for people: whether it is due, and why.
type MemberStatus struct {
	task.Member
	Timing task.MemberTiming `json:"timing"`
	Due    bool              `json:"due"`
	DueAt  time.Time         `json:"due_at,omitzero" doc:"When its interval is over"`
	Why    string            `json:"why"`
}
