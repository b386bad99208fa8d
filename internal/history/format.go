// Package history records the calls of clients to an installation with their answers, and the executions of handlers. It
// checks that one order of all of them keeps the promises of Belfry. A history is a file of JSON Lines; the format is
// described in docs/reference/history.md for drivers in other languages.
//
// [Writer] records, [Read] reads, and [Check] checks a history. The package does not access the installation.
package history

import (
	"encoding/json"
	"slices"

	"github.com/belfry-run/belfry/schedule"
)

// Version is the version of the format.
const Version = 1

// Header is the first line of a history.
type Header struct {
	Version   int    `json:"belfry_history"`
	Source    string `json:"source"`              // installation and driver
	Clock     string `json:"clock"`               // origin of the times of events and executions
	Precision int64  `json:"precision,omitempty"` // times of executions may be too small by up to this many microseconds
}

// Kind is the kind of a line.
type Kind string

// The kinds of lines after the header.
const (
	KindEvent      Kind = "event"      // a request of a client, or its answer
	KindExecution  Kind = "execution"  // one attempt, as logged by its handler
	KindJob        Kind = "job"        // the record of a job in the installation
	KindSchedule   Kind = "schedule"   // the definition of a schedule, and when it was in force
	KindOccurrence Kind = "occurrence" // one or more nominal times with their decision
	KindMonitor    Kind = "monitor"    // the recorded uptime of a monitor
	KindTarget     Kind = "target"     // a change that the target of a monitor logged itself
	KindLimit      Kind = "limit"      // a limit or a sequence of a task
	KindWorkflow   Kind = "workflow"   // the steps of a workflow
	KindEnd        Kind = "end"        // the last line
)

var kinds = []Kind{KindEvent, KindExecution, KindJob, KindSchedule, KindOccurrence, KindMonitor, KindTarget, KindLimit, KindWorkflow, KindEnd}

// Type is the place of an event in its operation.
type Type string

// An operation is invoked, and then ends in one of three ways. An operation without an end is unknown.
const (
	Invoke  Type = "invoke"
	OK      Type = "ok"
	Fail    Type = "fail"    // it had no effect
	Unknown Type = "unknown" // it took effect once, takes effect later, or never does
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
	ID      int64   `json:"id"` // ID of the operation, unique within its process
	Type    Type    `json:"type"`
	Op      string  `json:"op"`
	Args    *Args   `json:"args,omitempty"`   // of invoke
	Result  *Result `json:"result,omitempty"` // of ok
	Error   string  `json:"error,omitempty"`  // of fail and unknown
	Time    int64   `json:"time"`
}

// Args are the arguments of an operation.
type Args struct {
	Jobs    []JobArgs `json:"jobs,omitempty"`
	Name    string    `json:"name,omitempty"` // name of a queue or schedule
	Session string    `json:"session,omitempty"`
}

// JobArgs are the arguments for one job.
type JobArgs struct {
	ID        int64  `json:"id,omitempty"`
	Task      string `json:"task,omitempty"`
	Key       string `json:"key,omitempty"`        // idempotency key
	KeyWindow int64  `json:"key_window,omitempty"` // microseconds; 0: 24 h
	ActiveKey string `json:"active_key,omitempty"`
	Lease     int64  `json:"lease,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
}

// Result is the answer to an operation.
type Result struct {
	Jobs    []JobResult `json:"jobs,omitempty"`
	Session string      `json:"session,omitempty"`
	Lost    bool        `json:"lost,omitempty"` // the session was given up
}

// JobResult is the answer for one job. For enqueue and finish, results are in the order of the arguments. For cancel and
// retry, Left marks a job that was not changed.
type JobResult struct {
	ID       int64  `json:"id"`
	Existing bool   `json:"existing,omitempty"` // the job existed already, under the same key
	Left     bool   `json:"left,omitempty"`
	Lease    int64  `json:"lease,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	Stale    bool   `json:"stale,omitempty"`
	State    string `json:"state,omitempty"` // for read; not_found if the job does not exist
}

// Execution is one attempt, as logged by its handler.
type Execution struct {
	Job     int64  `json:"job"`
	Lease   int64  `json:"lease"`
	Attempt int    `json:"attempt"`
	Nominal int64  `json:"nominal,omitempty"` // microseconds since 1970; 0: unknown
	Start   int64  `json:"start"`
	End     int64  `json:"end,omitempty"`     // 0: the handler did not end
	Outcome string `json:"outcome,omitempty"` // ok, error or snoozed; empty: the handler did not end
}

// Job is the record of a job in the installation, read at Time.
type Job struct {
	ID        int64     `json:"id"`
	Task      string    `json:"task"`
	Kind      string    `json:"kind,omitempty"` // kind of its task; the job of a cycle or workflow ends without an attempt
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
	Run       int64     `json:"run,omitempty"`   // for a job of a workflow's step: the job of the run
	Step      string    `json:"step,omitempty"`
	Item      int       `json:"item,omitempty"`
	Time      int64     `json:"time"` // when the record was requested, by the clock of events
}

// Attempt is the record of an ended attempt.
type Attempt struct {
	Number  int    `json:"number"`
	Lease   int64  `json:"lease"`
	Outcome string `json:"outcome"`
}

// Schedule is a definition, with the nominal times From to To, both inclusive. Each of them must have an occurrence.
type Schedule struct {
	Definition schedule.Schedule `json:"definition"`
	From       int64             `json:"from"` // microseconds since 1970
	To         int64             `json:"to"`
}

// Occurrence is the decision about the nominal times Nominal to Until.
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
	Slack       int64  `json:"slack"` // how late a change may be seen: the interval plus the timeout of a check
}

// Target is a change of a monitor's target: the target is up or down from Time until its next line.
type Target struct {
	Monitor string `json:"monitor"`
	Time    int64  `json:"time"`
	State   string `json:"state"`
}

// End is the last line. It names the kinds whose lines are complete: if one is missing, the installation has lost it.
type End struct {
	Lines    int    `json:"lines"` // number of lines, including this one and the header
	Complete []Kind `json:"complete,omitempty"`
}

// row is any line: its kind, and the fields of that kind.
type row struct {
	Line Kind `json:"line"`
}

// encode returns v as a line of its kind.
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

// History is the content of a file. Slices are in the order of its lines.
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
	Ended   int64 // [never] for unknown operations
	Line    int   // line of its invocation
	EndLine int   // 0: it did not end
}

// never is later than any time.
const never = int64(1) << 62

// complete reports whether the history is declared to have all lines of a kind.
func (h *History) complete(k Kind) bool { return slices.Contains(h.End.Complete, k) }
