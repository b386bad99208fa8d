package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Cycle is a list of tasks that run strictly one after another. Schedules decide
// when the cycle runs. The last success of each member decides which members are
// due then.
type Cycle struct {
	Members []Member      `json:"members" doc:"In the order in which they run; at most 500"`
	Stagger core.Duration `json:"stagger,omitempty" doc:"Longest pause before a member, the first excepted; how long is spread evenly; default: none; at most 1h"`
}

// Member is a task in a cycle. It may be in several cycles, but never runs in two
// of them at the same time, nor twice within its interval.
type Member struct {
	Task        string          `json:"task" doc:"Name of the task, in the namespace of the cycle"`
	Every       core.Duration   `json:"every,omitempty" doc:"Least time between two runs that succeeded, from start to start; default: it is due each time"`
	Timeout     core.Duration   `json:"timeout,omitempty" doc:"Instead of the task's own"`
	MaxAttempts int             `json:"max_attempts,omitempty" doc:"Instead of the task's own"`
	OnFailure   OnFailure       `json:"on_failure,omitempty" enum:"continue,stop" doc:"What becomes of the members behind it when it fails; default: continue"`
	Input       json.RawMessage `json:"input,omitempty" doc:"Instead of the task's own"`
}

// OnFailure is the policy of a cycle after the failure of a member.
type OnFailure string

// The policies. A cycle that stops skips the remaining members.
const (
	FailureContinue OnFailure = "continue"
	FailureStop     OnFailure = "stop"
)

const MaxMembers = 500

const MaxStagger = core.Duration(time.Hour)

func (c Cycle) WithDefaults() Cycle {
	c.Members = slices.Clone(c.Members)
	for i := range c.Members {
		c.Members[i].OnFailure = core.Or(c.Members[i].OnFailure, FailureContinue)
	}
	return c
}

// names returns the names of the members, in order.
func (c Cycle) names() string {
	list := make([]string, len(c.Members))
	for i, m := range c.Members {
		list[i] = m.Task
	}
	return strings.Join(list, ", ")
}

func (c Cycle) validate() error {
	var p core.Problems
	if len(c.Members) == 0 || len(c.Members) > MaxMembers {
		p.Addf("members", fmt.Sprint(len(c.Members), " entries"), "has not between 1 and %d entries", MaxMembers)
	}
	if c.Stagger < 0 || c.Stagger > MaxStagger {
		p.Addf("stagger", c.Stagger, "is outside 0s to %s", MaxStagger)
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		path := fmt.Sprintf("members[%d]", i)
		core.CheckName(&p, path+".task", m.Task)
		if seen[m.Task] {
			p.Add(path+".task", m.Task, "is in the list twice", "")
		}
		seen[m.Task] = true
		if m.Every < 0 || m.Every > MaxEvery {
			p.Addf(path+".every", m.Every, "is outside 0s to %s", MaxEvery)
		}
		if m.Timeout != 0 && (m.Timeout < MinTimeout || m.Timeout > MaxTimeout) {
			p.Addf(path+".timeout", m.Timeout, "is outside %s to %s", MinTimeout, MaxTimeout)
		}
		if m.MaxAttempts < 0 || m.MaxAttempts > 100 {
			p.Addf(path+".max_attempts", m.MaxAttempts, "is outside 1 to 100")
		}
		if m.OnFailure != FailureContinue && m.OnFailure != FailureStop {
			p.Add(path+".on_failure", string(m.OnFailure), "is not a choice", "one of continue, stop")
		}
		core.CheckInput(&p, path+".input", m.Input)
	}
	return p.Err("cycle")
}

// MemberTiming is the time of the last success of a member, in any cycle. It is
// kept forever, and written only in the transaction that settles a success.
type MemberTiming struct {
	Task        string    `json:"task"`
	StartedAt   time.Time `json:"started_at,omitzero" doc:"Start of the last run that succeeded; its interval counts from here"`
	CycleAt     time.Time `json:"cycle_at,omitzero" doc:"Time of the cycle in which that was"`
	SucceededAt time.Time `json:"succeeded_at,omitzero"`
	ResetAt     time.Time `json:"reset_at,omitzero" doc:"When an earlier success was last forgotten, by a reset of its timing"`
	RunningJob  int64     `json:"running_job,omitempty" doc:"The job that runs it now, of whatever cycle"`
}

// Slack returns by how much the time between two starts of a member may fall below
// its interval: a tenth of it, at most five minutes. Members start a varying short
// time after their cycle; without slack, an hourly member of an hourly cycle would
// run every other hour. There is no slack between the times of cycles.
func (m Member) Slack() core.Duration { return min(m.Every/10, core.Duration(5*time.Minute)) }

// DueAt returns when the member is due by its interval. Zero means now.
func (m Member) DueAt(t MemberTiming) time.Time {
	if m.Every <= 0 || t.StartedAt.IsZero() {
		return time.Time{}
	}
	at := t.StartedAt.Add((m.Every - m.Slack()).D())
	if !t.CycleAt.IsZero() {
		at = core.Later(at, t.CycleAt.Add(m.Every.D()))
	}
	return at
}

// Due reports whether the member is due now in a cycle with nominal time at, and
// why. Its interval must have passed since the nominal time of the cycle in which
// it last succeeded, and, less the slack, since its start there.
func (m Member) Due(t MemberTiming, at, now time.Time) (due bool, why string) {
	switch {
	case t.StartedAt.IsZero() && !t.ResetAt.IsZero():
		return true, fmt.Sprintf("its timing was reset at %s, and it has not succeeded since", core.Stamp(t.ResetAt))
	case t.StartedAt.IsZero():
		return true, "it has never succeeded"
	case m.Every <= 0:
		return true, "it has no interval"
	case now.Before(t.StartedAt.Add((m.Every - m.Slack()).D())) || !t.CycleAt.IsZero() && at.Before(t.CycleAt.Add(m.Every.D())):
		return false, fmt.Sprintf("it last succeeded in a run of %s, and is due again at %s", core.Stamp(t.StartedAt), core.Stamp(m.DueAt(t)))
	}
	return true, fmt.Sprintf("it last succeeded in a run of %s, at least %s ago", core.Stamp(t.StartedAt), m.Every)
}
