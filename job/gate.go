package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Gate is a parsed limit or sequence that a job must pass to become ready.
type Gate struct {
	Owner   string // owner of the limit: [TaskOwner], [QueueOwner] or [NamespaceOwner]
	Name    string
	Key     string
	Running int  // most at once; 0: any number
	Pace    Pace // zero: no rate
	// Strict admits one job at a time, in the order of their IDs; each keeps its place until it ends. OnFailure is the
	// effect of its failure on the other jobs.
	Strict    bool
	OnFailure flow.AfterFailure
	Leaseless bool // no worker leases the jobs: runs of workflows, which have begun when they are no longer ready
}

// CountsUnbegun reports whether the gate must count admitted jobs that have not begun, because they may exceed the burst of
// its rate. They cannot if no more jobs than the burst may run.
func (g Gate) CountsUnbegun() bool {
	return !g.Pace.IsZero() && (g.Running == 0 || g.Running > g.Pace.Burst())
}

// TaskOwner returns the owner name of limits of a task.
func TaskOwner(id int64) string { return "task:" + strconv.FormatInt(id, 10) }

// QueueOwner returns the owner name of limits of a queue.
func QueueOwner(name string) string { return "queue:" + name }

// NamespaceOwner returns the owner name of limits of a namespace.
func NamespaceOwner(name string) string { return "namespace:" + name }

// GatesIn returns the gates of valid limits of an owner, in order.
func GatesIn(owner string, limits []flow.Limit) []Gate {
	gates := make([]Gate, len(limits))
	for i, l := range limits {
		gates[i] = gateOf(owner, l)
	}
	return gates
}

// GatesOf returns the gates that a valid task sets for its jobs, in order.
func GatesOf(t task.Task) []Gate {
	if !t.Gated() {
		return nil
	}
	gates, owner := make([]Gate, 0, len(t.Limits)+1), TaskOwner(t.ID)
	if s := t.Sequence; s != nil {
		gates = append(gates, Gate{Owner: owner, Name: flow.SequenceGateName, Key: s.Key, Running: 1, Strict: true, OnFailure: s.OnFailure})
	}
	gates = append(gates, GatesIn(owner, t.Limits)...)
	for i := range gates {
		gates[i].Leaseless = task.RunByEngine(t.Kind)
	}
	return gates
}

func gateOf(owner string, l flow.Limit) Gate {
	g := Gate{Owner: owner, Name: l.Name, Key: l.Key, Running: l.Running}
	if n, per, err := flow.ParseRate(l.Rate); err == nil {
		g.Pace = PaceOf(n, per, l.Burst)
	}
	return g
}

// Pace is a rate in the form of the generic cell rate algorithm. Its whole state is one instant, next: the next start if
// starts were evenly spaced. Durations and instants are microseconds.
type Pace struct {
	Every int64 // time between two evenly spaced starts
	Slack int64 // unused time before now that still counts, for a burst
}

// slack is the least slack of every pace, so that a look at the queue that comes late costs nothing.
const slack = 100 * time.Millisecond

// PaceOf returns the pace of n starts in per, of which burst may begin at once.
func PaceOf(n int, per time.Duration, burst int) Pace {
	every := (per.Microseconds() + int64(n) - 1) / int64(n) // rounded up: never above the rate
	return Pace{every, max(int64(max(burst, 1)-1)*every, slack.Microseconds())}
}

// IsZero reports whether there is no rate.
func (p Pace) IsZero() bool { return p.Every == 0 }

// Burst returns how many jobs may begin at once after a rest.
func (p Pace) Burst() int { return int(p.Slack/p.Every) + 1 }

// Take starts one job if the rate allows it now. next is the state of the pace, 0 before the first start. If ok, then is
// the new state; otherwise the next start is possible at from.
func (p Pace) Take(next, now int64) (then int64, ok bool, from int64) {
	slot := max(next, now-p.Slack)
	if slot > now {
		return next, false, slot
	}
	return slot + p.Every, true, 0
}

// Behind is the most by which the time of a transaction may precede that of an earlier one on the same pace: it reads the
// time at its start, and then waits for the transactions before it. A state further ahead stems from a slower rate or from
// a clock that was set back.
const Behind = 5 * time.Second

// Near returns the state of a pace at an instant. It corrects a state that is too far ahead: see [Behind].
func (p Pace) Near(next, now int64) int64 {
	if next > now+p.Every+Behind.Microseconds() {
		return now + p.Every
	}
	return next
}

// TakeAll is [Pace.Take] for a batch: it starts n jobs at once, or none. A batch larger than the burst never fits.
func (p Pace) TakeAll(n int, next, now int64) (then int64, ok bool, from int64) {
	slot := max(next, now-p.Slack)
	if next > now+p.Every+Behind.Microseconds() { // the clock was set back
		slot = now
	}
	last := slot + int64(max(n, 1)-1)*p.Every
	if last > now {
		return next, false, last
	}
	return last + p.Every, true, 0
}

// Used returns how many starts of the burst are used at an instant.
func (p Pace) Used(next, now int64) int64 {
	if p.IsZero() || next <= now-p.Slack {
		return 0
	}
	return min((next-now+p.Slack+p.Every-1)/p.Every, int64(p.Burst()))
}
