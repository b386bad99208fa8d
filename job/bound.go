package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// OnFull is the policy of a bounded queue for new jobs that exceed its bound.
type OnFull string

// The policies of a full queue. Refuse is the default.
const (
	OnFullRefuse     OnFull = "refuse"      // refuse the new jobs
	OnFullDropOldest OnFull = "drop_oldest" // drop the oldest waiting jobs of the lowest priority
)

// OnFulls lists the policies of a full queue.
var OnFulls = []OnFull{OnFullRefuse, OnFullDropOldest}

// Limits of the bound of a queue.
const (
	MaxMaxWaiting  = 100_000
	MaxDropWaiting = 10_000 // with drop_oldest, because each enqueue counts a full queue
)

// ReasonDropped is the reason of a job that was dropped from a full queue.
const ReasonDropped core.Reason = "dropped"

// Bounded reports whether the queue limits its waiting jobs.
func (q Queue) Bounded() bool { return q.MaxWaiting > 0 }

// BoundText returns the bound for people, such as "100, then refuse", or "" without a bound.
func (q Queue) BoundText() string {
	if !q.Bounded() {
		return ""
	}
	return fmt.Sprintf("%d, then %s", q.MaxWaiting, strings.ReplaceAll(string(q.OnFull), "_", " "))
}

func (q Queue) checkBound(p *core.Problems) {
	if q.MaxWaiting < 0 || q.MaxWaiting > MaxMaxWaiting {
		p.Add("max_waiting", strconv.Itoa(q.MaxWaiting), fmt.Sprintf("is outside 0 to %d", MaxMaxWaiting), "0 is no bound")
	}
	switch {
	case q.OnFull != "" && !slices.Contains(OnFulls, q.OnFull):
		p.Add("on_full", string(q.OnFull), "is not a way to deal with a full queue", "one of refuse, drop_oldest")
	case q.OnFull != "" && q.MaxWaiting == 0:
		p.Add("on_full", string(q.OnFull), "needs a bound", "give max_waiting, such as 1000")
	case q.OnFull == OnFullDropOldest && q.MaxWaiting > MaxDropWaiting:
		p.Add("max_waiting", strconv.Itoa(q.MaxWaiting), fmt.Sprintf("is over %d, the most with drop_oldest", MaxDropWaiting), "lower it, or set on_full to refuse")
	}
	if q.Bounded() && (q.Name == SystemQueue || q.Name == task.ChecksQueue) {
		p.Add("max_waiting", strconv.Itoa(q.MaxWaiting), "cannot stand in a queue of Belfry's own work", "leave it out")
	}
}

// Overflow returns how many of the asked new jobs exceed the bound of a queue with that many waiting jobs.
func (q Queue) Overflow(waiting, asked int) int {
	if !q.Bounded() {
		return 0
	}
	return max(waiting+asked-q.MaxWaiting, 0)
}

// Place is whether a job counts towards the bound of its queue, and whether it may be dropped.
type Place int

// The places. A job that the engine runs needs no worker and does not count. A requested job counts and may be dropped. Jobs
// that continue started work, and checks of monitors, count and are never dropped.
const (
	PlaceNone Place = iota
	PlaceDroppable
	PlaceKept
)

// PlaceIn returns the place of a job in a queue with a bound.
func PlaceIn(kind task.Kind, trigger schedule.Trigger, attempt int) Place {
	switch {
	case task.RunByEngine(kind):
		return PlaceNone
	case attempt > 0, trigger == TriggerCheck, trigger == TriggerCycle, trigger == TriggerStep:
		return PlaceKept
	}
	return PlaceDroppable
}

// FullNote returns the note of a full queue for histories.
func (q Queue) FullNote(waiting int) string {
	return fmt.Sprintf("queue %s has %s waiting of at most %d", q.Name, core.Plural(waiting, "job"), q.MaxWaiting)
}

// DroppedNote returns the note of a dropped job.
func (q Queue) DroppedNote() string {
	return fmt.Sprintf("queue %s was full: %d jobs may wait, and newer ones took its place", q.Name, q.MaxWaiting)
}

// FullWait is the time after which a client retries an enqueue into a full queue.
const FullWait = time.Second

// Full returns the error for jobs that exceed the bound of the queue. droppable is how many of the waiting jobs could be
// dropped.
func (q Queue) Full(waiting, asked, droppable int) *core.Error {
	e := core.Errorf(core.QueueFull, "queue %q is full: %d of %d jobs wait, %d more asked for", q.Name, waiting, q.MaxWaiting, asked)
	raise := "raise its bound: belfry queue update " + q.Name + " --max-waiting …"
	switch {
	case asked > q.MaxWaiting:
		return e.WithHint("enqueue at most %d at once, or %s", q.MaxWaiting, raise) // and no time to ask again: it never fits
	case q.OnFull == OnFullDropOldest:
		e.Message += fmt.Sprintf(", and only %d could be dropped for them: retries, steps, checks and jobs of a higher priority are kept", droppable)
	}
	e.RetryAfter = core.Duration(FullWait)
	return e.WithHint("wait until workers have begun some, or %s", raise)
}
