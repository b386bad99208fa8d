package monitor

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor/internal/runs"
	"github.com/belfry-run/belfry/task"
)

// Verdict is the assessed state of a target, without regard to actions of an
// operator such as a pause.
type Verdict string

// The verdicts. New: not assessed yet. Confirming: was up and fails, but not often
// enough to be down. Recovering: was down and passes, but not often enough to be up.
const (
	VerdictNew        Verdict = "new"
	VerdictUp         Verdict = "up"
	VerdictConfirming Verdict = "confirming"
	VerdictDown       Verdict = "down"
	VerdictRecovering Verdict = "recovering"
)

// Status is the displayed state of a monitor in one word. Paused takes precedence;
// confirming is shown as up and recovering as down.
type Status string

// The statuses. A new monitor was never checked.
const (
	StatusNew    Status = "new"
	StatusUp     Status = "up"
	StatusDown   Status = "down"
	StatusPaused Status = "paused"
)

// State is the data on which a verdict depends besides the monitor itself. The
// store keeps it as one document, and changes it in the transaction that settles
// a check.
type State struct {
	Verdict Verdict   `json:"verdict" enum:"new,up,confirming,down,recovering"`
	Since   time.Time `json:"since,omitzero" doc:"Since when the shown status holds; backdated to the first failure or success"`

	Failures    int            `json:"failures,omitempty" doc:"Failed checks in a row"`
	Passes      int            `json:"passes,omitempty" doc:"Good checks in a row"`
	Errors      int            `json:"errors,omitempty" doc:"Checks in a row that could not be made"`
	FirstFailAt time.Time      `json:"first_fail_at,omitzero" doc:"The first of the failures in a row"`
	FirstPassAt time.Time      `json:"first_pass_at,omitzero" doc:"The first of the passes in a row"`
	FirstCode   task.CheckCode `json:"first_code,omitempty" doc:"What was wrong at the first of the failures that came last"`
	FirstText   string         `json:"first_text,omitempty" doc:"The same for people"`
	OutageAt    time.Time      `json:"outage_at,omitzero" doc:"Begin of the outage that is, or was last"`

	PausedAt     time.Time `json:"paused_at,omitzero"`
	PausedUntil  time.Time `json:"paused_until,omitzero" doc:"Empty: until it is resumed"`
	PausedBy     string    `json:"paused_by,omitempty"`
	PausedReason string    `json:"paused_reason,omitempty"`
	Maintenance  string    `json:"maintenance,omitempty" doc:"Name of the window that it is in"`
	WindowEnd    time.Time `json:"window_end,omitzero" doc:"When that window ends; empty: not known yet"`
	Degraded     bool      `json:"degraded,omitempty" doc:"The last check broke a warning"`
	DegradedRun  int       `json:"degraded_run,omitempty" doc:"Degraded checks in a row, up to two; below zero: ones that were ok"`
	Flapping     bool      `json:"flapping,omitempty"`
	Stale        bool      `json:"stale,omitempty" doc:"Nothing is known now, through no fault of the target"`
	Slow         bool      `json:"slow,omitempty" doc:"Slower than usual"`

	LastAt      time.Time         `json:"last_at,omitzero" doc:"Nominal time of the last check"`
	LastOutcome task.CheckOutcome `json:"last_outcome,omitempty" enum:"ok,degraded,fail,error"`
	LastCode    task.CheckCode    `json:"last_code,omitempty"`
	LastMessage string            `json:"last_message,omitempty"`
	LastLatency core.Duration     `json:"last_latency,omitempty"`
	LastSeenAt  time.Time         `json:"last_seen_at,omitzero" doc:"Nominal time of the last check that came to something: ok, degraded or fail"`
	LastGoodAt  time.Time         `json:"last_good_at,omitzero"`
	CertEnd     time.Time         `json:"cert_end,omitzero"`
	CertWarned  time.Time         `json:"cert_warned,omitzero" doc:"The end that was warned of"`
	CertsWarned []time.Time       `json:"certs_warned,omitempty" doc:"Ends that were warned of before, the last few: two servers may take turns"`

	Incident         int64                    `json:"incident,omitempty" doc:"The one that is open"`
	Notified         []alert.NotificationType `json:"notified,omitempty" doc:"Problems of which a notification was sent, and none yet that they are over"`
	NotifiedIncident int64                    `json:"notified_incident,omitempty" doc:"An outage that is over, of which a notification was sent, and none yet that it is over"`

	Recent  Recent   `json:"recent,omitzero" doc:"The last outcomes, for flapping"`
	Turns   Recent   `json:"turns,omitzero" doc:"The last checks that turned it down or up, for flapping"`
	Typical Baseline `json:"typical,omitzero" doc:"Latency of good checks"`
	SlowRun int      `json:"slow_run,omitempty" doc:"Slow checks in a row; below zero: quick ones while it is slow"`

	// Of the timeline.
	GapAt     time.Time `json:"gap_at,omitzero" doc:"If no check comes to something until seen_until: from when on nothing is known"`
	SeenUntil time.Time `json:"seen_until,omitzero" doc:"How long the last check is good for"`
	Floor     time.Time `json:"floor,omitzero" doc:"What was seen before does not count: it was created, resumed or pointed elsewhere then"`
	Tail      []Stretch `json:"tail,omitempty" doc:"The end of the timeline, as far as it may still be told otherwise"`
	WakeAt    time.Time `json:"wake_at,omitzero" doc:"When time alone will change something"`

	// Of a heartbeat.
	runs.Runs
	ExpectAt time.Time `json:"expect_at,omitzero" doc:"When the next call is to come; the grace comes on top"`

	// Of a page.
	Baseline     string `json:"baseline,omitempty" doc:"Digest of the text that versions are compared with"`
	BaselineHash string `json:"baseline_hash,omitempty" doc:"Hash of the settings that it was read with"`
	Candidate    string `json:"candidate,omitempty" doc:"Digest of a change that is not confirmed yet"`
	Reported     string `json:"reported,omitempty" doc:"Digest of the change that was told last"`
	Unstable     bool   `json:"unstable,omitempty" doc:"Each of the last checks differs from the baseline and from the check before: no change can be confirmed until two agree"`
	UnstableRun  int    `json:"unstable_run,omitempty" doc:"Checks in a row that differ from the baseline and from the check before"`

	CandidateAt time.Time `json:"candidate_at,omitzero" doc:"When that change was first seen"`
}

// Status returns the displayed state.
func (s State) Status() Status {
	switch {
	case !s.PausedAt.IsZero():
		return StatusPaused
	case s.Verdict == VerdictUp || s.Verdict == VerdictConfirming:
		return StatusUp
	case s.Verdict == VerdictDown || s.Verdict == VerdictRecovering:
		return StatusDown
	}
	return StatusNew
}

// Observation is an ended check.
type Observation struct {
	task.CheckResult
	At time.Time // nominal time; failures and successes count from it
}

// Judgement is the result of [Judge] and similar functions: the new state, and rows
// to write. The store writes all of it, or nothing, in the transaction that read
// the state.
type Judgement struct {
	State State
	// Spans are entries of the timeline, in order of time. Each lasts until the
	// next. An entry replaces all existing entries at or after its time: an outage
	// counts from its first failure, which was shown as up during the
	// confirmation.
	Spans []Span
	// Opened or Closed is the incident that begins or ends, never both. A new
	// incident has the ID -1 in the state and in notifications.
	Opened        *Incident
	Closed        *IncidentEnd
	Notifications []alert.Notification
	// AgainAt is the time of an extra check before the next nominal time, to
	// confirm a result. Zero: none.
	AgainAt time.Time
	// WakeAt is when time alone will change the state. Zero: never.
	WakeAt time.Time
	// Version is a new text of a page, to be stored.
	Version *PageVersion
}

// Span is the state of a target from an instant on.
type Span struct {
	From  time.Time      `json:"from"`
	State SpanState      `json:"state" enum:"up,down,paused,maintenance,unknown"`
	Cause task.CheckCode `json:"cause,omitempty" doc:"Of down"`
}

// SpanState is the state of a span. Only up and down count for uptime; up, down
// and maintenance count as observed.
type SpanState string

// The states of a span.
const (
	SpanUp          SpanState = "up"
	SpanDown        SpanState = "down"
	SpanPaused      SpanState = "paused"
	SpanMaintenance SpanState = "maintenance"
	SpanUnknown     SpanState = "unknown"
)

// Incident is one outage.
type Incident struct {
	ID          int64          `json:"id"`
	Namespace   string         `json:"namespace"`
	Monitor     string         `json:"monitor"`
	StartedAt   time.Time      `json:"started_at" doc:"Time of the first failure"`
	EndedAt     time.Time      `json:"ended_at,omitzero" doc:"Time of the first success after the last failure"`
	Code        task.CheckCode `json:"code,omitempty" doc:"What was wrong at first"`
	Message     string         `json:"message,omitempty"`
	LastGoodAt  time.Time      `json:"last_good_at,omitzero"`
	Failures    int            `json:"failures" doc:"Failed checks until it was confirmed"`
	Maintenance bool           `json:"maintenance,omitempty" doc:"It began within a window"`
	EndedBy     string         `json:"ended_by,omitempty" enum:"recovered,paused,edited,deleted" doc:"Why it ended"`
	Snapshot    *task.Snapshot `json:"snapshot,omitempty" doc:"What came back instead"`
	Hops        []task.Hop     `json:"hops,omitempty"`

	Acknowledged *Acknowledgement `json:"acknowledged,omitempty" doc:"Who looks after it; absent when no one said so"`
	Assigned     *Assignment      `json:"assigned,omitempty" doc:"Whose work it is; absent when it is no one's"`
	Assignments  []Assignment     `json:"assignments,omitempty" doc:"All there were, oldest first; only where one incident is shown"`
	Updates      []Update         `json:"updates,omitempty" doc:"What people wrote, oldest first; only where one incident is shown"`
}

// IncidentEnd closes the open incident.
type IncidentEnd struct {
	ID int64
	At time.Time
	By string
}

// PageVersion is one version of the text of a page.
type PageVersion struct {
	Seq        int64           `json:"seq" doc:"Counts from 1"`
	At         time.Time       `json:"at" doc:"When it was first seen"`
	Digest     string          `json:"digest"`
	RawDigest  string          `json:"raw_digest,omitempty"`
	ConfigHash string          `json:"config_hash"`
	Change     task.PageChange `json:"change" enum:"first,changed,reset"`
	Size       int             `json:"size" doc:"Bytes of the text"`
	Pruned     bool            `json:"pruned,omitempty" doc:"The text itself is no longer kept"`
	Baseline   bool            `json:"baseline,omitempty" doc:"What versions are compared with"`
	AcceptedBy string          `json:"accepted_by,omitempty"`
	AcceptedAt time.Time       `json:"accepted_at,omitzero"`
	Before     string          `json:"before,omitempty" doc:"Digest that it was compared with"`
	Text       string          `json:"text,omitempty"`
}
