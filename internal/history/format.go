// Package history records what clients of an installation did and were told, and what handlers saw, and checks that one
// order of it all keeps the promises of Belfry. A history is a file of JSON Lines, which docs/reference/history.md describes
// for drivers in other languages.
//
// [Writer] records, [Read] reads, and [Check] judges. Nothing here looks at the installation.
package history

import (
	"encoding/json"
	"slices"

	"github.com/belfry-run/belfry/schedule"
)

// Version is the version of the format.
const Version = 1

// Header is the first line.
type Header struct {
	Version   int    `json:"belfry_history"`
	Source    string `json:"source"`              // which installation and which driver
	Clock     string `json:"clock"`               // what the times of events and executions count from
	Precision int64  `json:"precision,omitempty"` // times of executions may be too small by up to so many microseconds
}

// Kind is what a line is about.
type Kind string

// The kinds of lines behind the header.
const (
	KindEvent      Kind = "event"      // a client asks, or is told
	KindExecution  Kind = "execution"  // what a handler saw of one attempt
	KindJob        Kind = "job"        // what the installation recorded of a job
	KindSchedule   Kind = "schedule"   // the definition of a schedule, and when it was in force
	KindOccurrence Kind = "occurrence" // a nominal time, or several, and what was decided
	KindMonitor    Kind = "monitor"    // the recorded uptime of a monitor
	KindTarget     Kind = "target"     // a change that the target of a monitor logged itself
	KindLimit      Kind = "limit"      // a limit or a sequence of a task
	KindWorkflow   Kind = "workflow"   // the steps of a workflow
	KindEnd        Kind = "end"        // the last line
)

var kinds = []Kind{KindEvent, KindExecution, KindJob, KindSchedule, KindOccurrence, KindMonitor, KindTarget, KindLimit, KindWorkflow, KindEnd}

// Type is the place of an event in its operation.
type Type string

// An operation is invoked, and then ends in one of three ways. One that does not end is unknown.
const (
	Invoke  Type = "invoke"
	OK      Type = "ok"
	Fail    Type = "fail"    // it had no effect
	Unknown Type = "unknown" // it had its effect once, or has it later, or never
)

// The operations.
const (
	OpEnqueue        = "enqueue"
	OpCancel         = "cancel"
	OpRetry          = "retry"
	OpRunAgain       = "run_again"
	OpRead           = "read"
	OpPauseQueue     = "pause_queue"
	OpResumeQueue    = "resume_queue"
	OpPauseSchedule  = "pause_schedule"
	OpResumeSchedule = "resume_schedule"
	OpOpenSession    = "open_session"
	OpClaim          = "claim"
	OpRenew          = "renew"
	OpFinish         = "finish"
	OpCloseSession   = "close_session"
)

var ops = []string{
	OpEnqueue, OpCancel, OpRetry, OpRunAgain, OpRead, OpPauseQueue, OpResumeQueue, OpPauseSchedule, OpResumeSchedule,
	OpOpenSession, OpClaim, OpRenew, OpFinish, OpCloseSession,
}

// Event is one line of an operation. Times are microseconds of one clock that is never set.
type Event struct {
	Process string  `json:"process"`
	ID      int64   `json:"id"` // of the operation, unique within its process
	Type    Type    `json:"type"`
	Op      string  `json:"op"`
	Args    *Args   `json:"args,omitempty"`   // of invoke
	Result  *Result `json:"result,omitempty"` // of ok
	Error   string  `json:"error,omitempty"`  // of fail and unknown
	Time    int64   `json:"time"`
}

// Args is what was asked for.
type Args struct {
	Jobs    []JobArgs `json:"jobs,omitempty"`
	Name    string    `json:"name,omitempty"` // of a queue or schedule
	Session string    `json:"session,omitempty"`
}

// JobArgs is what was asked for one job.
type JobArgs struct {
	ID        int64  `json:"id,omitempty"`
	Task      string `json:"task,omitempty"`
	Key       string `json:"key,omitempty"`        // idempotency key
	KeyWindow int64  `json:"key_window,omitempty"` // microseconds; 0: 24 h
	ActiveKey string `json:"active_key,omitempty"`
	Lease     int64  `json:"lease,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
}

// Result is what was answered.
type Result struct {
	Jobs    []JobResult `json:"jobs,omitempty"`
	Session string      `json:"session,omitempty"`
	Lost    bool        `json:"lost,omitempty"` // the session was given up
}

// JobResult is what was answered for one job. Of enqueue and finish, results stand in the order of the arguments; of cancel
// and retry, a job that it was not done to is left.
type JobResult struct {
	ID       int64  `json:"id"`
	Existing bool   `json:"existing,omitempty"` // it was there already, under the same key
	Left     bool   `json:"left,omitempty"`
	Lease    int64  `json:"lease,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	Stale    bool   `json:"stale,omitempty"`
	State    string `json:"state,omitempty"` // of read; not_found if there is no such job
}

// Execution is what a handler saw of one attempt.
type Execution struct {
	Job     int64  `json:"job"`
	Lease   int64  `json:"lease"`
	Attempt int    `json:"attempt"`
	Nominal int64  `json:"nominal,omitempty"` // microseconds since 1970; 0: not said
	Start   int64  `json:"start"`
	End     int64  `json:"end,omitempty"`     // 0: it did not come to its end
	Outcome string `json:"outcome,omitempty"` // ok, error or snoozed; empty: it did not come to its end
}

// Job is what the installation recorded of a job, read at Time.
type Job struct {
	ID        int64     `json:"id"`
	Task      string    `json:"task"`
	Kind      string    `json:"kind,omitempty"` // of its task; the job of a cycle or workflow ends without an attempt
	Queue     string    `json:"queue,omitempty"`
	Key       string    `json:"key,omitempty"`
	ActiveKey string    `json:"active_key,omitempty"`
	Schedule  string    `json:"schedule,omitempty"`
	Trigger   string    `json:"trigger,omitempty"`
	Nominal   int64     `json:"nominal,omitempty"` // microseconds since 1970
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Attempts  []Attempt `json:"attempts,omitempty"`
	Group     string    `json:"group,omitempty"` // value of the key of its task's limit or sequence
	Run       int64     `json:"run,omitempty"`   // of a job of a workflow's step: the job of the run
	Step      string    `json:"step,omitempty"`
	Item      int       `json:"item,omitempty"`
	Time      int64     `json:"time"` // when it was asked for, by the clock of events
}

// Attempt is the record of an attempt that has ended.
type Attempt struct {
	Number  int    `json:"number"`
	Lease   int64  `json:"lease"`
	Outcome string `json:"outcome"`
}

// Schedule is a definition, and the nominal times From to To, both inclusive, for each of which there must be an occurrence.
type Schedule struct {
	Definition schedule.Schedule `json:"definition"`
	From       int64             `json:"from"` // microseconds since 1970
	To         int64             `json:"to"`
}

// Occurrence is what was decided about the nominal times Nominal to Until.
type Occurrence struct {
	Schedule string `json:"schedule"`
	Nominal  int64  `json:"nominal"`         // microseconds since 1970
	Until    int64  `json:"until,omitempty"` // 0: one nominal time
	Count    int    `json:"count,omitempty"` // 0: 1; more than 10,000 are 10,001
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitempty"`
	Job      int64  `json:"job,omitempty"`
}

// Monitor is the uptime that the installation reports for From to To. All values are microseconds, by the clock of the target's log.
type Monitor struct {
	Name        string `json:"name"`
	From        int64  `json:"from"`
	To          int64  `json:"to"`
	Up          int64  `json:"up"`
	Down        int64  `json:"down"`
	Maintenance int64  `json:"maintenance,omitempty"`
	Paused      int64  `json:"paused,omitempty"`
	Unknown     int64  `json:"unknown,omitempty"`
	Slack       int64  `json:"slack"` // how late a change may be seen: the interval of checks and the timeout of one
}

// Target is a change of a monitor's target: it is up or down from Time on, until its next line.
type Target struct {
	Monitor string `json:"monitor"`
	Time    int64  `json:"time"`
	State   string `json:"state"`
}

// End is the last line. It names the kinds of which the history has all that there is: what is missing then was lost.
type End struct {
	Lines    int    `json:"lines"` // with this one and the header
	Complete []Kind `json:"complete,omitempty"`
}

// row is any line: its kind, and the fields of that kind beside it.
type row struct {
	Line Kind `json:"line"`
}

// encode is v as a line of its kind.
func encode(kind Kind, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	begin := `{"line":"` + string(kind) + `"`
	if len(text) > 2 {
		begin += ","
	}
	return append(append([]byte(begin), text[1:]...), '\n'), nil
}

// History is a file that was read. Slices are in the order of its lines.
type History struct {
	Header      Header
	Operations  []*Operation
	Executions  []At[Execution]
	Jobs        []At[Job]
	Schedules   []At[Schedule]
	Occurrences []At[Occurrence]
	Monitors    []At[Monitor]
	Targets     []At[Target]
	Limits      []At[Limit]
	Workflows   []At[Workflow]
	End         End
	Lines       int
}

// At is a line with its number.
type At[T any] struct {
	V    T
	Line int
}

// Operation is an event and the event that ended it.
type Operation struct {
	Process string
	Op      string
	Args    Args
	Result  Result
	Type    Type // how it ended
	Error   string
	Invoked int64
	Ended   int64 // [never] of unknown operations
	Line    int   // of its invocation
	EndLine int   // 0: it did not end
}

// never is later than any time.
const never = int64(1) << 62

// complete reports whether the history has all lines of a kind.
func (h *History) complete(k Kind) bool { return slices.Contains(h.End.Complete, k) }
