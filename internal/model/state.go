package model

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
)

// State is the whole world at one instant: the rows of the store, the reads of its
// transactions under way, the views of the workers, and the calls between them. It
// has no instants, only ticks that are left or have passed, so that time can go on
// forever in finitely many states.
type State struct {
	Now      uint8 // used only with planned nominal times, which come to an end
	Number   uint8 // last drawn lease number
	Queue    uint8 // the claim that has locked the queue's row: worker + 1
	Twice    bool  // a worker got a job that it still runs
	Fails    uint8 // crashes and freezes so far, if limited
	Jobs     [MaxJobs]Job
	Leases   [MaxJobs][2]Lease // a second lease exists only without UniqueLease
	Sessions [MaxSessions]Session
	Workers  [MaxWorkers]Worker
	Schedule Schedule
	Nominals [Nominals]Decision
	Nodes    [2]Node
	Looks    [MaxJobs]Look // reads of cancels and follow-ups
	Looked   uint8         // reads of release or a pause: sessions or jobs, one bit each
	Looking  Verb          // whose reads these are: those of release or of a pause
}

// Job is a row of jobs, or of history once it has ended.
type Job struct {
	State    JobState
	Failures uint8
	Due      uint8 // ticks until a scheduled job may be promoted
	Last     uint8 // number of its last ended lease
	High     uint8 // largest number it ever had; kept only by the model
	Ends     uint8 // how often it has ended
	Tried    bool  // with Ahead: it had a lease before
	Begins   uint8 // with Ahead: how often it has begun; kept only by the model
}

// JobState is the state of a job. A running job is ready and has a lease.
type JobState uint8

// The states.
const (
	NoJob JobState = iota
	Scheduled
	Ready
	Succeeded
	Failed
	CanceledJob
	Skipped
)

// Final reports whether a job has ended.
func (s JobState) Final() bool { return s >= Succeeded }

// Live reports whether a job exists and has not ended.
func (s JobState) Live() bool { return s == Scheduled || s == Ready }

// Lease is a row of leases; number 0 is none.
type Lease struct {
	Number  uint8
	Session uint8 // index + 1
	Age     uint8 // ticks, up to settledAfter + 1
	Cancel  bool  // its end is requested
	Ahead   bool  // granted beyond the free slots, and not reported as begun
}

// Session is a row of sessions.
type Session struct {
	Life Life
	Left int8 // ticks until it may be given up
}

// Life is the state of a session.
type Life uint8

// The states of a session. An ended session is forgotten when nothing names it.
const (
	NoSession Life = iota
	Alive
	Ended
)

// Worker is a process with its calls under way.
type Worker struct {
	Frozen  bool
	Session uint8          // index + 1; 0: none
	Settled uint8          // lease up to which its claims have settled, by the last answer
	Fence   int8           // ticks until it stops by itself
	Runs    [MaxJobs]uint8 // lease number under which it runs a job; 0: none
	Waits   [MaxJobs]uint8 // lease number under which a job waits for a slot
	Claim   ClaimCall
	Renew   RenewCall
	Finish  [MaxJobs]FinishCall
}

// ClaimCall is a claim under way.
type ClaimCall struct {
	Phase   Phase
	Session uint8
	Age     uint8 // ticks since the request
	Jobs    uint8 // picked and then leased jobs, one bit each
	Ahead   uint8 // jobs beyond the free slots, one bit each
	Number  uint8
}

// Phase is the phase of a call.
type Phase uint8

// The phases: no call, requested (for a claim: it has read), answered.
const (
	Idle Phase = iota
	Asked
	Answered
)

// RenewCall is a renewal under way.
type RenewCall struct {
	Phase   Phase
	Session uint8
	Age     uint8 // ticks since it was sent
	Hold    [MaxJobs]uint8
	Settled uint8 // of the request, and then of the answer
	Waits   uint8 // held jobs that have not begun, one bit each
	Cancel  uint8 // jobs that must end, one bit each
	Lost    bool
}

// FinishCall is a finish under way.
type FinishCall struct {
	Number  uint8
	Outcome Outcome
	Matched Look // used only without FinishMatchesLocked
}

// Look is the read of a transaction before it locks.
type Look uint8

// The results of a read: of a job, whether it runs; of a schedule, whether a run can
// follow.
const (
	NotLooked Look = iota
	SawNo
	SawYes
)

// Schedule is a row of schedules. With a plan, High and Next are nominal
// times, which are ticks; with a loop, When is its next time.
type Schedule struct {
	State   ScheduleState
	High    uint8
	Next    uint8
	When    When
	MarkNow bool  // loop: the high-water mark is now
	RanNow  bool  // loop: a decided nominal time is now
	Missed  uint8 // plan: nominal times during a pause, one bit each
}

// ScheduleState is the state of a schedule.
type ScheduleState uint8

// The states.
const (
	NoSchedule ScheduleState = iota
	Active
	Paused
	Completed
)

// When is the next time of a loop, relative to now.
type When uint8

// The times. After is the smallest time after now.
const (
	Never When = iota
	Past
	Now
	After
	NextTick
)

// Decision is the decision about a nominal time.
type Decision struct {
	Kind Kind
	Jobs uint8 // number of its jobs
}

// Kind is the kind of a decision.
type Kind uint8

// The kinds.
const (
	Undecided Kind = iota
	SkippedTime
	Buffered
	Started
)

// Node is a node that fires in several steps, which happens only without a guard.
type Node struct {
	Phase      Phase
	High, Next uint8
}

// canonical replaces a state by the representative of all states that differ only in
// numbering. Lease numbers are only compared, so only their order matters. Sessions
// are distinguished by the workers and leases that name them.
func (c *Config) canonical(s *State) {
	s.forget()
	s.renumber()
	if c.Alike && s.Workers[1].before(&s.Workers[0]) {
		s.Workers[0], s.Workers[1] = s.Workers[1], s.Workers[0]
		if s.Queue > 0 {
			s.Queue = 3 - s.Queue
		}
	}
	s.sortSessions()
}

// forget drops data that can no longer make a difference.
func (s *State) forget() {
	for j := range s.Jobs {
		if job := &s.Jobs[j]; job.State.Final() {
			*job = Job{State: job.State, Ends: job.Ends, Begins: min(job.Begins, 1)}
		}
	}
	for w := range s.Workers {
		if c := &s.Workers[w].Claim; c.Phase == Idle {
			*c = ClaimCall{}
		}
		if r := &s.Workers[w].Renew; r.Phase == Idle {
			*r = RenewCall{}
		} else {
			r.Settled = s.upTo(r.Session, r.Settled)
		}
		s.Workers[w].Settled = s.upTo(s.Workers[w].Session, s.Workers[w].Settled)
	}
}

// upTo returns the highest remaining lease of a session up to a number: ended leases make no difference.
func (s *State) upTo(session, lease uint8) (most uint8) {
	for j := range s.Leases {
		for _, l := range s.Leases[j] {
			if l.Session == session && l.Number <= lease {
				most = max(most, l.Number)
			}
		}
	}
	return most
}

// before orders workers by all fields except the numbers of their sessions.
func (w *Worker) before(o *Worker) bool {
	a, b := w.key(), o.key()
	return bytes.Compare(a[:], b[:]) < 0
}

func (w *Worker) key() (k [5 + 4 + 8 + 5*MaxJobs]byte) {
	k = [len(k)]byte{bit(w.Frozen), min(w.Session, 1), byte(w.Fence), bit(w.Renew.Lost), w.Renew.Cancel,
		byte(w.Claim.Phase), w.Claim.Age, w.Claim.Jobs, w.Claim.Number, byte(w.Renew.Phase), w.Renew.Age, w.Claim.Ahead, w.Renew.Waits, w.Settled, w.Renew.Settled}
	for j := range w.Runs {
		copy(k[17+5*j:], []byte{w.Runs[j], w.Waits[j], w.Renew.Hold[j], w.Finish[j].Number, byte(w.Finish[j].Outcome)<<2 | byte(w.Finish[j].Matched)})
	}
	return k
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// numbers visits every lease number but the last drawn.
func (s *State) numbers(visit func(*uint8)) {
	for j := range s.Jobs {
		visit(&s.Jobs[j].Last)
		visit(&s.Jobs[j].High)
		visit(&s.Leases[j][0].Number)
		visit(&s.Leases[j][1].Number)
	}
	for w := range s.Workers {
		worker := &s.Workers[w]
		visit(&worker.Claim.Number)
		visit(&worker.Settled)
		visit(&worker.Renew.Settled)
		for j := range worker.Runs {
			visit(&worker.Runs[j])
			visit(&worker.Waits[j])
			visit(&worker.Renew.Hold[j])
			visit(&worker.Finish[j].Number)
		}
	}
}

func (s *State) renumber() {
	var used uint64
	s.numbers(func(n *uint8) { used |= 1 << *n })
	used &^= 1
	s.Number = uint8(bits.OnesCount64(used))
	if used == 1<<(s.Number+1)-2 { // the usual case: no number is missing
		return
	}
	s.numbers(func(n *uint8) {
		if *n > 0 {
			*n = uint8(bits.OnesCount64(used&(1<<*n-1))) + 1
		}
	})
}

// named visits every place that names a session.
func (s *State) named(visit func(*uint8)) {
	for w := range s.Workers {
		visit(&s.Workers[w].Session)
		visit(&s.Workers[w].Claim.Session)
		visit(&s.Workers[w].Renew.Session)
	}
	for j := range s.Leases {
		visit(&s.Leases[j][0].Session)
		visit(&s.Leases[j][1].Session)
	}
}

func (s *State) sortSessions() {
	var to [MaxSessions + 1]uint8
	var sorted [MaxSessions]Session
	var looked uint8
	n := uint8(0)
	place := func(old uint8) {
		if old == 0 || to[old] > 0 {
			return
		}
		n++
		to[old] = n
		sorted[n-1] = s.Sessions[old-1]
		if s.Looking == ReleaseLook && s.Looked&(1<<(old-1)) != 0 {
			looked |= 1 << (n - 1)
		}
	}
	s.named(func(x *uint8) { place(*x) })
	for { // sessions that nothing names, but that must still be given up
		next := uint8(0)
		for i := range s.Sessions {
			if old := uint8(i + 1); s.Sessions[i].Life == Alive && to[old] == 0 && (next == 0 || s.Sessions[i].Left < s.Sessions[next-1].Left) {
				next = old
			}
		}
		if next == 0 {
			break
		}
		place(next)
	}
	s.named(func(x *uint8) { *x = to[*x] })
	s.Sessions = sorted
	if s.Looking == ReleaseLook {
		s.Looked = looked
	}
}

// leased reports whether a job has a lease.
func (s *State) leased(job int) bool {
	return s.Leases[job][0].Number > 0 || s.Leases[job][1].Number > 0
}

func (s *State) running() (n int) {
	for j := range s.Leases {
		if s.leased(j) {
			n++
		}
	}
	return n
}

// alive reports whether a session, by its index + 1, has not ended.
func (s *State) alive(session uint8) bool {
	return session > 0 && s.Sessions[session-1].Life == Alive
}

// active returns the number of jobs of the schedule that have not ended.
func (c Config) active(s *State) (n int) {
	for j := c.Jobs; j < MaxJobs; j++ {
		if s.Jobs[j].State.Live() {
			n++
		}
	}
	return n
}

// Show describes a state in lines.
func (c Config) Show(s State) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if c.Plan > 0 {
		say("now %d", s.Now)
	}
	for j, job := range s.Jobs {
		if job.State == NoJob {
			continue
		}
		text := fmt.Sprintf("job %d %s", j+1, [...]string{"", "scheduled", "ready", "succeeded", "failed", "canceled", "skipped"}[job.State])
		if job.Failures > 0 {
			text += fmt.Sprintf(", failed %d", job.Failures)
		}
		for _, l := range s.Leases[j] {
			if l.Number > 0 {
				text += fmt.Sprintf(", lease %d of session %d", l.Number, l.Session)
				if l.Cancel {
					text += " (asked to end)"
				}
				if l.Ahead {
					text += " (ahead)"
				}
			}
		}
		if job.Ends > 1 {
			text += fmt.Sprintf(", ended %d times", job.Ends)
		}
		lines = append(lines, text)
	}
	for i, x := range s.Sessions {
		if x.Life != NoSession {
			say("session %d %s", i+1, [...]string{"", fmt.Sprintf("alive, %d left", x.Left), "ended"}[x.Life])
		}
	}
	for w := range s.Workers[:c.Workers] {
		lines = append(lines, c.showWorker(w, s.Workers[w]))
	}
	if s.Schedule.State != NoSchedule {
		say("schedule %s", c.showSchedule(s))
	}
	return lines
}

func (c Config) showWorker(w int, x Worker) string {
	parts := []string{fmt.Sprintf("worker %d", w+1)}
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if x.Frozen {
		say("frozen")
	}
	if x.Session > 0 && c.TTL > 0 {
		say("in session %d", x.Session)
		if !c.Loose {
			say("fence in %d", x.Fence)
		}
	}
	for j := range x.Runs {
		if x.Runs[j] > 0 {
			say("runs job %d under %d", j+1, x.Runs[j])
		}
		if x.Waits[j] > 0 {
			say("keeps job %d under %d", j+1, x.Waits[j])
		}
		if f := x.Finish[j]; f.Number > 0 {
			say("sent a finish of job %d under %d", j+1, f.Number)
		}
	}
	if x.Claim.Phase == Asked {
		say("claim picked %s", bitList(x.Claim.Jobs))
	}
	if x.Claim.Phase == Answered {
		say("claim got %s under %d", bitList(x.Claim.Jobs), x.Claim.Number)
	}
	if x.Renew.Phase != Idle {
		say("renewal %s %d ago", [...]string{"", "sent", "accepted, sent"}[x.Renew.Phase], x.Renew.Age)
	}
	if len(parts) == 1 {
		say("idle")
	}
	return strings.Join(parts, ", ")
}

func bitList(mask uint8) string {
	var list []string
	for j := range 8 {
		if mask&(1<<j) != 0 {
			list = append(list, fmt.Sprint(j+1))
		}
	}
	return strings.Join(list, "+")
}

func (c Config) showSchedule(s State) string {
	x := s.Schedule
	text := [...]string{"", "active", "paused", "completed"}[x.State]
	if c.Loop {
		return text + ", next " + [...]string{"never", "was due", "now", "just after now", "at the next tick"}[x.When]
	}
	text += fmt.Sprintf(", next %d, mark %d", x.Next, x.High)
	for n, d := range s.Nominals {
		if d.Kind != Undecided {
			text += fmt.Sprintf(", %d %s", n+1, [...]string{"", "skipped", "waits", "started"}[d.Kind])
		}
	}
	return text
}
