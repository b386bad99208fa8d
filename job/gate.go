package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Gate is what a job has to pass to become ready, with its numbers read.
type Gate struct {
	Owner   string // whose limit it is: [TaskOwner], [QueueOwner] or [NamespaceOwner]
	Name    string
	Key     string
	Running int  // most at once; 0: any number
	Pace    Pace // zero: no rate
	// Strict lets in one after the other, by their ids, each of which keeps its place until it ends. OnFailure is what its
	// failure does to the others.
	Strict    bool
	OnFailure flow.AfterFailure
	Leaseless bool // no worker leases its jobs: those of a workflow, which have begun when they are no longer ready
}

// CountsUnbegun reports that more jobs than the burst of its rate may have been let in without having begun. Where no more
// than these may run, none is too many.
func (g Gate) CountsUnbegun() bool {
	return !g.Pace.IsZero() && (g.Running == 0 || g.Running > g.Pace.Burst())
}

// TaskOwner names a task as the owner of limits.
func TaskOwner(id int64) string { return "task:" + strconv.FormatInt(id, 10) }

// QueueOwner names a queue as the owner of limits.
func QueueOwner(name string) string { return "queue:" + name }

// NamespaceOwner names a namespace as the owner of limits.
func NamespaceOwner(name string) string { return "namespace:" + name }

// GatesIn are what valid limits of an owner let jobs pass, in order.
func GatesIn(owner string, limits []flow.Limit) []Gate {
	gates := make([]Gate, len(limits))
	for i, l := range limits {
		gates[i] = gateOf(owner, l)
	}
	return gates
}

// GatesOf are what the jobs of a valid task have to pass because of it, in order.
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

// Pace is a rate as it is counted: by the generic cell rate algorithm, whose whole state is the instant of the next
// start in an even row. Lengths and instants are microseconds.
type Pace struct {
	Every int64 // between two starts in an even row
	Slack int64 // how much of the row may lie behind and still be made up for
}

// slack is what every pace makes up for: a look that comes late costs nothing then.
const slack = 100 * time.Millisecond

// PaceOf is the pace of n in a length of time, of which burst may begin at once.
func PaceOf(n int, per time.Duration, burst int) Pace {
	every := (per.Microseconds() + int64(n) - 1) / int64(n) // never above the rate
	return Pace{every, max(int64(max(burst, 1)-1)*every, slack.Microseconds())}
}

// IsZero reports that there is no rate.
func (p Pace) IsZero() bool { return p.Every == 0 }

// Burst is how many may begin at once after a rest.
func (p Pace) Burst() int { return int(p.Slack/p.Every) + 1 }

// Take begins one job. The row is at next, 0 when none has begun: it answers where it is then, or that it is too early,
// and from when on it is not.
func (p Pace) Take(next, now int64) (then int64, ok bool, from int64) {
	slot := max(next, now-p.Slack)
	if slot > now {
		return next, false, slot
	}
	return slot + p.Every, true, 0
}

// Behind is by how much an instant may be before one that decided earlier about the same row: a transaction takes its own when
// it begins, and has the row when those before it are done. A row that is further ahead is of a slower rate, or of a clock
// that was set back.
const Behind = 5 * time.Second

// Near is where a row is at an instant, without what it is ahead for such reasons.
func (p Pace) Near(next, now int64) int64 {
	if next > now+p.Every+Behind.Microseconds() {
		return now + p.Every
	}
	return next
}

// TakeAll begins n jobs at once, or none of them: it is [Pace.Take] for a batch. One of more than the burst never fits.
func (p Pace) TakeAll(n int, next, now int64) (then int64, ok bool, from int64) {
	slot := max(next, now-p.Slack)
	if next > now+p.Every+Behind.Microseconds() { // the clock was set back since
		slot = now
	}
	last := slot + int64(max(n, 1)-1)*p.Every
	if last > now {
		return next, false, last
	}
	return last + p.Every, true, 0
}

// Used is how many of the burst are used up at an instant.
func (p Pace) Used(next, now int64) int64 {
	if p.IsZero() || next <= now-p.Slack {
		return 0
	}
	return min((next-now+p.Slack+p.Every-1)/p.Every, int64(p.Burst()))
}
