package job

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Leaser leases jobs to workers and takes back their results. The store is one,
// for workers with access to the database. The HTTP client is the other, for
// workers without database credentials. Both behave the same.
//
// Calls return when their context ends. The effect of a call that returned an
// error is unknown; jobs of such a claim are handed back when a renewal does not
// name them.
//
// Every call but OpenSession names a session. A session that was closed or did
// not renew in time is given up: Claim returns [core.Unauthorized], and a Renewal
// has Lost set. The worker then stops all attempts and opens a new session.
type Leaser interface {
	// OpenSession opens a session of the worker.
	OpenSession(ctx context.Context, w WorkerInfo) (Session, error)
	// Claim leases up to the requested number of ready jobs per queue. If there
	// are none, it waits up to Wait. It may return early and empty.
	Claim(ctx context.Context, c ClaimRequest) (Claim, error)
	// Renew keeps the session alive and returns the jobs that must end. An attempt
	// up to lease [Holdings.Settled] that is not among the holdings never arrived
	// and is handed back. For jobs claimed ahead, the holdings decide what happens
	// if the worker is lost. A call may take effect late, and twice.
	Renew(ctx context.Context, session string, has Holdings) (Renewal, error)
	// Finish settles attempts. The answers are in the order of fs. A stale lease is
	// an answer, not an error. Repeating a call does no harm: an attempt that ended
	// ok, with an error or snoozed is answered as recorded, not as stale. Finish
	// does not keep fs.
	Finish(ctx context.Context, session string, fs []Finish) ([]Finished, error)
	// Append stores pieces of logs. Pieces under a stale lease and repeated pieces
	// are dropped without an error.
	Append(ctx context.Context, session string, ls []LogPiece) error
	// CloseSession ends the session. Jobs that it still holds are handed back.
	CloseSession(ctx context.Context, session string) error
}

// CancelNotifier is a [Leaser] that can tell a worker to renew its session now,
// because one of its jobs must end. Without it the worker learns of this at its
// next renewal.
type CancelNotifier interface {
	Nudged(session string) <-chan struct{}
}

// WorkerInfo describes a worker that opens a session.
type WorkerInfo struct {
	Name      string         `json:"name" doc:"Host or node name"`
	Namespace string         `json:"namespace,omitempty" doc:"Whose jobs it runs; default: the token's, or all"`
	Kinds     []task.Kind    `json:"kinds" doc:"What it can run"`
	Funcs     []string       `json:"funcs,omitempty" doc:"Names of the tasks it has Go handlers for"`
	Queues    map[string]int `json:"queues" doc:"Queues it serves and its slots in each; 0: as many as the queue says"`
	ByTicket  []string       `json:"by_ticket,omitempty" doc:"Those of its queues whose jobs it claims by the tickets of a broker"`
	Version   string         `json:"version,omitempty"`
	Has       task.Has       `json:"has,omitzero" doc:"What its machine offers, which a task may need"`
	Once      bool           `json:"once,omitempty" doc:"The session is for one job, whose attempt reports by itself, and ends with that report"`
	TTL       core.Duration  `json:"ttl,omitempty" doc:"How long the session is to live without being renewed, 1s to 10m; default: the server's, 30s"`
	Remote    bool           `json:"-"` // the worker reaches the store through a node; set by that node
	Token     int64          `json:"-"` // ID of the token that opened the session; 0: the session is a node's own
}

// Session is one life of a worker.
type Session struct {
	ID     string         `json:"id"`
	TTL    core.Duration  `json:"ttl" doc:"How long it lives without being renewed"`
	Queues map[string]int `json:"queues" doc:"Slots per queue"`
	Order  []string       `json:"order" doc:"Queues by priority, the first to be served first"`
}

// Defaults and limits of a session.
const (
	DefaultSessionTTL = core.Duration(30 * time.Second)
	MinSessionTTL     = core.Duration(time.Second)
	MaxSessionTTL     = core.Duration(10 * time.Minute)
	// MaxSessions is the most live sessions of a token.
	MaxSessions = 5000
	// LostGrace is the time between the end of a session and its release. A
	// worker stops itself before the end, so it never runs beside its successor.
	LostGrace = 5 * time.Second
	// DeadlineGrace is the time from a job's timeout until the server ends the
	// attempt. The worker's own timer comes first; this one is for a worker that
	// is alive but stuck.
	DeadlineGrace = time.Minute
	// SendTime is how long sending the files of a program may take, in addition to its timeout.
	SendTime = 10 * time.Minute
)

// Deadline returns when the server ends the attempt of a job with that claim time, kind and timeout.
func Deadline(claimedAt time.Time, kind task.Kind, timeout core.Duration) time.Time {
	return claimedAt.Add(timeout.D() + GraceOf(kind))
}

// GraceOf returns the time from the timeout of a job of that kind until the server ends the attempt.
func GraceOf(kind task.Kind) time.Duration {
	if kind == task.KindProgram {
		return DeadlineGrace + SendTime
	}
	return DeadlineGrace
}

// ClaimRequest asks for jobs.
type ClaimRequest struct {
	Session string         `json:"session"`
	Tickets []Ticket       `json:"tickets,omitempty" doc:"Tickets that a broker delivered. Only their jobs are claimed, as far as possible; at most 100"`
	Want    map[string]int `json:"want" doc:"Most jobs wanted per queue"`
	Remote  bool           `json:"-"` // the answer is sent with the task of each job, and bounded by their bytes too; set by the node that sends it
	Ahead   map[string]int `json:"ahead,omitempty" doc:"How many of those wanted are more than the worker has free slots, and would wait in it; default: none"`
	Without []task.Kind    `json:"without,omitempty" doc:"Kinds of jobs that the worker runs and cannot begin just now"`
	Wait    core.Duration  `json:"wait,omitempty" doc:"How long to wait when there are none; more than 30s counts as 30s"`
}

// Of returns w without the kinds that the worker cannot start now.
func (c *ClaimRequest) Of(w WorkerState) WorkerState {
	if len(c.Without) > 0 {
		w.Kinds = slices.DeleteFunc(slices.Clone(w.Kinds), func(k task.Kind) bool { return slices.Contains(c.Without, k) })
	}
	return w
}

// Slots returns for how many of n jobs of a queue the claim has free slots. Jobs
// beyond these are claimed ahead, which [Job.MayWait] must allow.
func (c *ClaimRequest) Slots(queue string, n int) int { return max(0, n-max(0, c.Ahead[queue])) }

// MaxTickets bounds the tickets of one claim.
const MaxTickets = 100

// MaxClaimWait bounds how long a claim may wait.
const MaxClaimWait = core.Duration(30 * time.Second)

// ClaimSettled is the time after the grant of a lease within which the answer to
// its claim arrives, if ever. A client gives up a claim sooner than this after
// the end of its wait.
const ClaimSettled = 20 * time.Second

// Claim is a batch of jobs under one lease number. The number is larger than
// every earlier lease number of these jobs.
type Claim struct {
	Lease       int64       `json:"lease"`
	Jobs        []LeasedJob `json:"jobs"`
	VoidTickets []int64     `json:"void_tickets,omitempty" doc:"Of the tickets that were shown and did not bring their job: the jobs for which they never will. For the others it is too early"`
}

// LeasedJob is a job with all data that a worker needs to run it.
type LeasedJob struct {
	Job  Job        `json:"job"`
	Task *task.Task `json:"task" doc:"As it stands at the claim"` // shared by the jobs of a claim: not to be changed

	InTurn bool `json:"in_turn,omitempty" doc:"Its queue is fair: no jobs of it are claimed ahead of free slots"`

	Token    string              `json:"token,omitempty" doc:"Of a program: a right to this attempt alone, for a short time; renewals bring new ones"`
	Artifact *task.SignedRequest `json:"artifact,omitempty" doc:"Of a program: where its bytes are"`
	Secrets  map[string]string   `json:"secrets,omitempty" doc:"Of a program: environment variables with the values of its secrets"`
}

// Ticket is the message that a broker carries: the ID of a ready job, and a
// secret with which its bearer can claim the job once. It holds no other data of
// the job.
type Ticket struct {
	JobID  int64  `json:"job_id"`
	Secret string `json:"secret"`
	// Made counts how often the ticket was made, from 1, for brokers that drop repeated messages: the earlier message may be
	// lost. It is not part of the message.
	Made int64 `json:"-"`
}

// Ref names one attempt: a job under a lease.
type Ref struct {
	JobID int64 `json:"job_id"`
	Lease int64 `json:"lease"`
}

// Holding is an attempt that a worker holds, in a renewal.
type Holding struct {
	Ref
	Waiting bool `json:"waiting,omitempty" doc:"It was claimed ahead and has not begun"`
}

// Holdings are the attempts that a worker holds, in a renewal.
type Holdings struct {
	Attempts []Holding `json:"holding,omitempty" doc:"Every attempt the worker has"`
	// Settled must come from an answer that arrived before Attempts was collected.
	// Only then had every claim up to this lease arrived by that time, if it ever
	// does, however late the renewal takes effect.
	Settled int64 `json:"settled,omitempty" doc:"As the last renewal was answered, before holding was collected. Attempts up to this lease that are not held are handed back; without it, none"`
	// Queues is set in each renewal of a worker whose queues changed since its session began.
	Queues   map[string]int `json:"queues,omitempty" doc:"Queues it serves now and its slots in each; 0: as many as the queue says; default: as before"`
	ByTicket []string       `json:"by_ticket,omitempty" doc:"With queues: those of them whose jobs it claims by the tickets of a broker"`
}

// Validate returns the problems of the holdings as one error, or nil.
func (h Holdings) Validate() error {
	var p core.Problems
	checkServed(&p, h.Queues, h.ByTicket)
	return p.Err("renewal")
}

// Held returns holdings of attempts that have begun.
func Held(refs ...Ref) (has Holdings) {
	for _, ref := range refs {
		has.Attempts = append(has.Attempts, Holding{Ref: ref})
	}
	return has
}

// Renewal is the answer to a renewal.
type Renewal struct {
	Lost   bool             `json:"lost,omitempty" doc:"The session was given up; stop everything"`
	Drain  bool             `json:"drain,omitempty" doc:"Finish what runs and claim no more"`
	Cancel []Ref            `json:"cancel,omitempty" doc:"Attempts that were asked to end"`
	Queues map[string]int   `json:"queues,omitempty" doc:"Slots per queue as they are now, of all its queues that exist"`
	Tokens map[int64]string `json:"tokens,omitempty" doc:"By job: new tokens of attempts whose old ones end soon"`
	// Settled is the highest lease of the session up to which all leases were
	// granted more than [ClaimSettled] ago.
	Settled int64 `json:"settled,omitempty" doc:"Claims up to this lease have arrived or never will. The next renewal says so"`
}

// Finish is the result of an attempt.
type Finish struct {
	Ref
	Outcome   Outcome           `json:"outcome" enum:"ok,error,timeout,canceled,lost,snoozed,handed_back" doc:"lost: it was cut off in the middle, and nobody knows how far it came; handed_back: its worker stops"`
	Error     string            `json:"error,omitempty"`
	Output    json.RawMessage   `json:"output,omitempty" doc:"JSON; at most 1 MiB and 500 levels deep"`
	ExitCode  *int              `json:"exit_code,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	NoRetry   bool              `json:"no_retry,omitempty" doc:"Do not try again, whatever the policy says"`
	Snooze    core.Duration     `json:"snooze,omitempty" doc:"With outcome snoozed: how long to put the job off; after 30 days it begins again, however long that is"`
	StartedIn core.Duration     `json:"started_in,omitempty" doc:"Time from the claim's arrival to the start, by the worker's monotonic clock"`
	LogCut    bool              `json:"log_cut,omitempty"`
	Check     *task.CheckResult `json:"check,omitempty" doc:"Of a monitor's check: what it saw; the outcome is then ok"`
	Sandboxed *task.Sandboxed   `json:"sandboxed,omitempty" doc:"Of a program: how it was kept apart, what it used and left"`
	Infra     bool              `json:"infra,omitempty" doc:"It was the fault of the machine and not of the task, such as a download that broke: spends an infrastructure retry and none of the task's own"`
}

// Finished is the answer to one [Finish].
type Finished struct {
	Ref
	Stale bool  `json:"stale,omitempty" doc:"The lease was lost before; nothing was written"`
	State State `json:"state,omitempty" doc:"What the job became; empty for a repeated finish that did not end it"`
}

// LogPiece is a part of the log of an attempt.
type LogPiece struct {
	Ref
	Seq    int       `json:"seq" doc:"From 0, growing; a piece with a number seen before is dropped"`
	Stream Stream    `json:"stream" enum:"stdout,stderr,log"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
}

// Stream is the source of a piece of log.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	Log    Stream = "log" // the worker, or a handler's logger
)

const MaxLogPiece = 64 << 10

// How far before and after its arrival the time of a piece of log may be, which the worker sets.
const (
	LogLate  = time.Hour
	LogEarly = time.Minute
)

// LastLogSeq is the number of the piece with which the store ends a log that exceeds a quota. Numbers of workers are
// smaller.
const LastLogSeq = math.MaxInt32

// RunsIn reports whether the worker takes jobs of a namespace.
func (w WorkerInfo) RunsIn(namespace string) bool {
	return w.Namespace == core.AnyNamespace || w.Namespace == namespace
}

// Runs reports whether the worker takes jobs of a kind.
func (w WorkerInfo) Runs(kind task.Kind) bool { return slices.Contains(w.Kinds, kind) }

// Handles reports whether the worker has the handler of task t. It is true for kinds without handlers.
func (w WorkerInfo) Handles(kind task.Kind, t string) bool {
	return kind != task.KindFunc || slices.Contains(w.Funcs, t)
}

// WorkerState is a session of a worker, for people.
type WorkerState struct {
	WorkerInfo
	Session   string    `json:"session"`
	StartedAt time.Time `json:"started_at"`
	RenewedAt time.Time `json:"renewed_at"`
	ExpiresAt time.Time `json:"expires_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Lost      bool      `json:"lost,omitempty" doc:"It ended because it did not renew"`
	Drain     bool      `json:"drain,omitempty"`
	Running   int       `json:"running" doc:"Jobs it holds"`
	MoreFuncs int       `json:"more_funcs,omitempty" doc:"Handlers that are not in funcs: a list of workers names at most 8 MiB of them in all"`

	RunningByQueue map[string]int `json:"running_by_queue,omitempty" doc:"Jobs it holds, by queue"`
}

// State returns the state of the session: active, draining, ended or lost.
func (w WorkerState) State() string {
	switch {
	case w.Lost:
		return "lost"
	case !w.EndedAt.IsZero():
		return "ended"
	case w.Drain:
		return "draining"
	}
	return "active"
}

// Limits of a worker.
const (
	MaxFuncs  = 1000
	MaxQueues = 1000
)

// Validate returns the problems of the description of a worker as one error, or nil.
func (w WorkerInfo) Validate() error {
	const maxVersion = 128
	var p core.Problems
	core.CheckName(&p, "name", w.Name)
	if w.Namespace != "" && w.Namespace != core.AnyNamespace {
		core.CheckName(&p, "namespace", w.Namespace)
	}
	for _, k := range w.Kinds {
		if !slices.Contains(task.Kinds, k) {
			p.Add("kinds", string(k), "is not a kind that this Belfry knows", "")
		}
	}
	if len(w.Kinds) == 0 {
		p.Add("kinds", "", "is missing", "a worker runs at least one kind")
	}
	if len(w.Funcs) > MaxFuncs {
		p.Add("funcs", fmt.Sprint(len(w.Funcs), " entries"), fmt.Sprintf("has more than %d entries", MaxFuncs), "divide the handlers among several workers")
	}
	for _, f := range w.Funcs {
		core.CheckName(&p, "funcs", f)
	}
	if len(w.Queues) == 0 {
		p.Addf("queues", 0, "has not between 1 and %d entries", MaxQueues)
	}
	checkServed(&p, w.Queues, w.ByTicket)
	if w.TTL != 0 && (w.TTL < MinSessionTTL || w.TTL > MaxSessionTTL) {
		p.Addf("ttl", w.TTL, "is outside %s to %s", MinSessionTTL, MaxSessionTTL)
	}
	if len(w.Version) > maxVersion {
		p.Addf("version", w.Version, "has more than %d bytes", maxVersion)
	}
	p.Nest("has", w.Has.Validate())
	return p.Err("worker")
}

// checkServed records the problems of the queues of a worker.
func checkServed(p *core.Problems, queues map[string]int, byTicket []string) {
	p.AtMost("queues", len(queues), MaxQueues)
	for name, slots := range queues {
		core.CheckName(p, "queues", name)
		if slots < 0 || slots > MaxConcurrency {
			p.Addf("queues."+name, slots, "is outside 0 to %d", MaxConcurrency)
		}
	}
	if len(byTicket) > len(queues) {
		p.Addf("by_ticket", len(byTicket), "has more entries than there are queues")
	}
}

// Validate returns the problems of a claim request as one error, or nil.
func (c ClaimRequest) Validate() error {
	var p core.Problems
	for name, n := range c.Want {
		if n < 0 || n > core.MaxBatch {
			p.Addf("want."+name, n, "is outside 0 to %d", core.MaxBatch)
		}
	}
	for name, n := range c.Ahead {
		if n < 0 || n > core.MaxBatch {
			p.Addf("ahead."+name, n, "is outside 0 to %d", core.MaxBatch)
		}
	}
	if len(c.Without) > len(task.Kinds) {
		p.Addf("without", len(c.Without), "has more entries than there are kinds")
	}
	p.AtMost("tickets", len(c.Tickets), MaxTickets)
	p.AtMost("want", len(c.Want), MaxQueues)
	p.AtMost("ahead", len(c.Ahead), MaxQueues)
	return p.Err("claim")
}

// Validate returns the problems of the result of an attempt as one error, or nil.
func (f Finish) Validate() error {
	var p core.Problems
	switch f.Outcome {
	case OutcomeOK, OutcomeError, OutcomeTimeout, OutcomeCanceled, OutcomeLost, OutcomeSnoozed, OutcomeHandedBack:
	default:
		p.Add("outcome", string(f.Outcome), "is not an outcome", "one of ok, error, timeout, canceled, lost, snoozed, handed_back")
	}
	if len(f.Output) > core.MaxOutput {
		p.Addf("output", fmt.Sprint(len(f.Output), " bytes"), "is over the limit of %d bytes", core.MaxOutput)
	} else if len(f.Output) > 0 {
		if fault := core.JSONFault(f.Output); fault != "" {
			p.Add("output", string(f.Output), fault, "")
		}
	}
	if f.Outcome == OutcomeSnoozed && f.Snooze <= 0 {
		p.Addf("snooze", f.Snooze, "is not a time to put the job off")
	}
	p.Nest("sandboxed", f.Sandboxed.Validate())
	if len(p) == 0 {
		return nil // the usual case, kept cheap
	}
	return p.Err(fmt.Sprintf("finish of job %d", f.JobID))
}

// Validate returns the problems of a piece of log as one error, or nil.
func (l LogPiece) Validate() error {
	var p core.Problems
	if l.Seq < 0 || l.Seq >= LastLogSeq {
		p.Addf("seq", l.Seq, "is outside 0 to %d", LastLogSeq-1)
	}
	if l.Stream != Stdout && l.Stream != Stderr && l.Stream != Log {
		p.Add("stream", string(l.Stream), "is not a stream", "one of stdout, stderr, log")
	}
	if len(l.Text) > MaxLogPiece {
		p.Addf("text", fmt.Sprint(len(l.Text), " bytes"), "is over the limit of %d bytes", MaxLogPiece)
	}
	return p.Err(fmt.Sprintf("log of job %d", l.JobID))
}

// Defaults and limits of join tokens.
const (
	DefaultJoinLife = time.Hour
	MaxJoinLife     = 30 * 24 * time.Hour
	MaxJoinUses     = 10_000
)
