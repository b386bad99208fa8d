package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// StepKeeper is a [Leaser] that records steps of jobs, for handlers that continue
// where an earlier attempt ended.
//
// As for Finish, a stale lease is an answer, and repeated calls do no harm.
type StepKeeper interface {
	// Steps returns the recorded steps of the job of an attempt.
	Steps(ctx context.Context, session string, ref Ref) (StepList, error)
	// SaveStep records the next step of a job. If the same step is saved again under the same lease, the answer is the
	// recorded step. A different step with its number or name is a [core.Conflict]. Later attempts may save a waiting step
	// again: the answer says whether its wait is over.
	SaveStep(ctx context.Context, session string, ref Ref, s NewStep) (SavedStep, error)
	// LinkSignal creates a link through which a signal can be sent to the job without a token. Each call creates another
	// link. A lost lease is a [core.Conflict].
	LinkSignal(ctx context.Context, session string, ref Ref, l Link) (NewLink, error)
}

// Step is a recorded part of a job. Later attempts take its result from the record.
type Step struct {
	Number   int             `json:"number" doc:"Place among the steps of the job, from 1"`
	Name     string          `json:"name"`
	Kind     StepKind        `json:"kind" enum:"step,sleep,version,signal,spawn,await"`
	Type     string          `json:"type,omitempty" doc:"Type of the result, in the words of the program"`
	Result   json.RawMessage `json:"result,omitempty"`
	WakeAt   time.Time       `json:"wake_at,omitzero" doc:"Of a sleep or a signal: its end"`
	EndedAt  time.Time       `json:"ended_at,omitzero" doc:"Of a signal or an await: when the wait was over; none: it is not"`
	TimedOut bool            `json:"timed_out,omitempty" doc:"Of a signal: the wait ended without one"`
	Child    int64           `json:"child,omitempty" doc:"Of a spawn or an await: the job"`
	Attempt  int             `json:"attempt" doc:"The attempt that recorded it"`
	Lease    int64           `json:"lease"`
	Took     core.Duration   `json:"took" doc:"How long it ran, by the clock of the worker"`
	SavedAt  time.Time       `json:"saved_at"`
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	StepRun     StepKind = "step"    // the result of a function
	StepSleep   StepKind = "sleep"   // a wait for a time
	StepVersion StepKind = "version" // the version of the code that the job follows
	StepSignal  StepKind = "signal"  // a wait for the signal with the step's name
	StepSpawn   StepKind = "spawn"   // an enqueued job
	StepAwait   StepKind = "await"   // a wait for the end of an enqueued job
)

// NewStep is a step to record.
type NewStep struct {
	Number int             `json:"number" doc:"One more than the steps that are recorded"`
	Name   string          `json:"name" doc:"At most 128 bytes; each name once in a job"`
	Kind   StepKind        `json:"kind,omitempty" enum:"step,sleep,version,signal,spawn,await" doc:"Default: step"`
	Type   string          `json:"type,omitempty" doc:"Type of the result, in the words of the program; it is kept and not interpreted; at most 256 bytes"`
	Result json.RawMessage `json:"result,omitempty" doc:"JSON; at most 256 KiB and 500 levels deep"`
	Sleep  core.Duration   `json:"sleep,omitempty" doc:"With kind sleep: how long, from now; with kind signal: how long to wait at most; at most ten years"`
	Took   core.Duration   `json:"took,omitempty" doc:"How long it ran"`
	Job    *NewJob         `json:"job,omitempty" doc:"With kind spawn: the job to enqueue, in the namespace of this one; its id is the result of the step"`
	Child  int64           `json:"child,omitempty" doc:"With kind await: the job to wait for, which a step has enqueued"`
}

// SavedStep is the result of saving a [NewStep].
type SavedStep struct {
	Stale bool `json:"stale,omitempty" doc:"The lease was lost before; nothing was written"`
	Step  Step `json:"step,omitzero" doc:"As it is recorded; missing when stale"`
}

// StepList lists the recorded steps of a job.
type StepList struct {
	Stale bool      `json:"stale,omitempty" doc:"The lease was lost"`
	Now   time.Time `json:"now" doc:"The time by the clock that ends sleeps"`
	Steps []Step    `json:"steps" doc:"In order"`
}

// Limits of steps.
const (
	MaxSteps      = 1000      // of a job
	MaxStepName   = 128       // bytes
	MaxStepType   = 256       // bytes
	MaxStepResult = 256 << 10 // bytes
	MaxStepsSize  = 8 << 20   // bytes of all results of a job
	MaxStepSleep  = MaxDelay
)

// WithDefaults returns a copy with the defaults of empty fields.
func (s NewStep) WithDefaults() NewStep {
	if s.Kind == "" {
		s.Kind = StepRun
	}
	return s
}

// Validate returns the problems of a step to record as one error, or nil.
func (s NewStep) Validate() error {
	var p core.Problems
	if s.Number < 1 || s.Number > MaxSteps {
		p.Addf("number", s.Number, "must be between 1 and %d, which is how many steps a job may have", MaxSteps)
	}
	checkStepName(&p, s.Name)
	if clean, cut := core.CleanText(s.Type, MaxStepType); cut || clean != s.Type {
		p.Addf("type", s.Type, "must be plain text of at most %d bytes", MaxStepType)
	}
	switch s.Kind {
	case StepRun, StepVersion, StepSpawn, StepAwait:
		if s.Sleep != 0 {
			p.Addf("sleep", s.Sleep, "must be left out of a step of kind %s", s.Kind)
		}
	case StepSleep, StepSignal:
		if s.Sleep < 0 || s.Sleep > MaxStepSleep {
			p.Addf("sleep", s.Sleep, "must be between 0s and %s", MaxStepSleep)
		}
	default:
		p.Add("kind", string(s.Kind), "is not a kind of step", "one of step, sleep, version, signal, spawn, await")
	}
	if (s.Kind == StepSignal || s.Kind == StepSpawn || s.Kind == StepAwait) && len(s.Result) > 0 {
		p.Add("result", fmt.Sprint(len(s.Result), " bytes"), fmt.Sprintf("must be left out of a step of kind %s", s.Kind), "")
	}
	s.checkSpawn(&p)
	switch {
	case len(s.Result) > MaxStepResult:
		p.Add("result", fmt.Sprint(len(s.Result), " bytes"), fmt.Sprintf("is over the limit of %d bytes", MaxStepResult), "keep large results elsewhere and record where")
	case len(s.Result) > 0 && !utf8.Valid(s.Result):
		p.Add("result", fmt.Sprint(len(s.Result), " bytes"), "is not JSON", "")
	case len(s.Result) > 0:
		if fault := core.JSONFault(s.Result); fault != "" {
			p.Add("result", fmt.Sprint(len(s.Result), " bytes"), fault, "")
		}
	}
	if s.Took < 0 {
		p.Addf("took", s.Took, "must not be negative")
	}
	return p.Err(fmt.Sprintf("step %q", s.Name))
}

// Word returns the name of a step as one quoted word of a shell command.
func (s Step) Word() string { return "'" + strings.ReplaceAll(s.Name, "'", `'\''`) + "'" }

func checkStepName(p *core.Problems, name string) {
	switch clean, cut := core.CleanText(name, MaxStepName); {
	case name == "":
		p.Add("name", "", "is missing", "name the step: later attempts find its result by the name")
	case cut || clean != name:
		p.Addf("name", name, "must be plain text of at most %d bytes", MaxStepName)
	}
}

func (s NewStep) checkSpawn(p *core.Problems) {
	switch {
	case s.Kind != StepSpawn && s.Job != nil:
		p.Addf("job", s.Job.Task, "must be left out of a step of kind %s", s.Kind)
	case s.Kind == StepSpawn && s.Job == nil:
		p.Add("job", "", "is missing", "say which job to enqueue")
	case s.Kind == StepSpawn && (s.Job.Key != "" || s.Job.ActiveKey != ""):
		p.Add("job", s.Job.Key+s.Job.ActiveKey, "must have no key and no active key", "the step makes it once by itself")
	}
	if (s.Kind == StepAwait) != (s.Child > 0) {
		p.Addf("child", s.Child, "must be the id of a job with kind await, and left out otherwise")
	}
}

// Is reports whether s is the record of step n by the attempt under that lease. The duration is not compared.
func (s Step) Is(n NewStep, lease int64) bool {
	slept := n.Kind != StepSleep && n.Kind != StepSignal || s.WakeAt.Equal(s.SavedAt.Add(n.Sleep.D().Truncate(time.Microsecond)))
	return s.Lease == lease && s.Number == n.Number && s.Name == n.Name && s.Kind == n.Kind && s.Type == n.Type && slept && (n.Kind != StepAwait || s.Child == n.Child) && (s.Kind == StepSignal || s.Kind == StepSpawn || s.Kind == StepAwait || bytes.Equal(s.Result, n.Result))
}

// StepReset selects the steps of a job to forget.
type StepReset struct {
	From string `json:"from,omitempty" doc:"Name of the first step to forget; default: all"`
	Note string `json:"note,omitempty" doc:"Why, for the audit"`
}

// Validate returns the problems of a reset as one error, or nil.
func (r StepReset) Validate() error {
	var p core.Problems
	for field, text := range map[string]string{"from": r.From, "note": r.Note} {
		if clean, cut := core.CleanText(text, core.MaxDescription); cut || clean != text {
			p.Addf(field, text, "must be plain text of at most %d bytes", core.MaxDescription)
		}
	}
	return p.Err("reset of steps")
}
