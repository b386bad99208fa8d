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

// OnFull says what becomes of new jobs for which a queue with a bound has no room.
type OnFull string

// The ways. Refuse is the default.
const (
	OnFullRefuse     OnFull = "refuse"      // they are refused
	OnFullDropOldest OnFull = "drop_oldest" // the oldest waiting jobs of the lowest priority are dropped for them
)

// OnFulls lists them.
var OnFulls = []OnFull{OnFullRefuse, OnFullDropOldest}

// Limits of the bound of a queue.
const (
	MaxMaxWaiting  = 100_000
	MaxDropWaiting = 10_000 // with drop_oldest, because a full queue is counted by each enqueue
)

// ReasonDropped is that of a job which was dropped from a full queue.
const ReasonDropped core.Reason = "dropped"

// Bounded reports that only so many jobs may wait in the queue.
func (q Queue) Bounded() bool { return q.MaxWaiting > 0 }

// BoundText is the bound for people: 100, then refuse. It is empty without a bound.
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

// Overflow is for how many of the jobs that are asked for the queue has no room, beside those that wait.
func (q Queue) Overflow(waiting, asked int) int {
	if !q.Bounded() {
		return 0
	}
	return max(waiting+asked-q.MaxWaiting, 0)
}

// Place is how a job stands to the bound of its queue.
type Place int

// The places. A job that the engine runs takes no worker and does not count. A requested job may be dropped; jobs that follow
// from something that has begun, and checks of monitors, count and are never dropped.
const (
	PlaceNone Place = iota
	PlaceDroppable
	PlaceKept
)

// PlaceIn is the place of a job in a queue with a bound.
func PlaceIn(kind task.Kind, trigger schedule.Trigger, attempt int) Place {
	switch {
	case task.RunByEngine(kind):
		return PlaceNone
	case attempt > 0, trigger == TriggerCheck, trigger == TriggerCycle, trigger == TriggerStep:
		return PlaceKept
	}
	return PlaceDroppable
}

// FullNote says that a queue is full, for histories.
func (q Queue) FullNote(waiting int) string {
	return fmt.Sprintf("queue %s has %s waiting of at most %d", q.Name, core.Plural(waiting, "job"), q.MaxWaiting)
}

// DroppedNote is the note of a job that was dropped.
func (q Queue) DroppedNote() string {
	return fmt.Sprintf("queue %s was full: %d jobs may wait, and newer ones took its place", q.Name, q.MaxWaiting)
}

// FullWait is when to ask a full queue again.
const FullWait = time.Second

// Full is the refusal of jobs for which the queue has no room beside those that wait. Droppable is how many of these
// could be dropped for them.
func (q Queue) Full(waiting, asked, droppable int) *core.Error {
	e := core.Errorf(core.QueueFull, "queue %q is full: %d of %d jobs wait, %d more asked for", q.Name, waiting, q.MaxWaiting, asked)
	e.RetryAfter = core.Duration(FullWait)
	raise := "raise its bound: belfry queue update " + q.Name + " --max-waiting …"
	switch {
	case asked > q.MaxWaiting:
		return e.WithHint("enqueue at most %d at once, or %s", q.MaxWaiting, raise)
	case q.OnFull == OnFullDropOldest:
		e.Message += fmt.Sprintf(", and only %d could be dropped for them: retries, steps, checks and jobs of a higher priority are kept", droppable)
	}
	return e.WithHint("wait until workers have begun some, or %s", raise)
}
