package monitors

import (
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// judgedKept is the number of judged checks kept for watchers. A watcher that falls further behind misses some, and reads the
// current state again.
const judgedKept = 256

// judged holds the last checks that this process judged. Successful checks leave no row that could be read in the order of
// their ends. Writing such a row for possible watchers would make every check more expensive. So only the process that settled
// a check knows the event: watchers on another node do not receive it.
type judged struct {
	mu     sync.Mutex
	life   int64 // start time of this process: cursors of another process are not valid here
	next   int64 // number of the next event
	latest [judgedKept]view.Event
}

func newJudged() *judged { return &judged{life: time.Now().UnixNano()} }

func (j *judged) put(events []view.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range events {
		j.latest[j.next%judgedKept] = e
		j.next++
	}
}

// JudgedFrom returns a cursor for the checks judged from now on: the life of this process and an event number in it.
func (s *Store) JudgedFrom() (life, next int64) {
	j := s.judged
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.life, j.next
}

// JudgedSince returns the events after a cursor and advances it. A cursor of another process starts with the next event.
func (s *Store) JudgedSince(namespace string, life, next *int64) (events []view.Event) {
	j := s.judged
	j.mu.Lock()
	defer j.mu.Unlock()
	if *life != j.life || *next > j.next {
		*life, *next = j.life, j.next
	}
	for i := max(*next, j.next-judgedKept); i < j.next; i++ {
		if e := j.latest[i%judgedKept]; namespace == core.AnyNamespace || e.Check.Namespace == namespace {
			events = append(events, e)
		}
	}
	*next = j.next
	return slices.Clip(events)
}

// judgedNow holds the events of a transition.
type judgedNow struct{ events []view.Event }

// publishJudged sends a monitor's check to watchers once this transition is committed.
func (c *Change) publishJudged(row MonitorRow, o *monitor.Observation) {
	e := view.CheckEvent{Namespace: row.Namespace, Monitor: row.Name, Status: row.State.Status()}
	if o != nil {
		e.Outcome = o.Outcome
	}
	told := base.Kept[judgedNow](c.Change)
	if len(told.events) == 0 {
		c.After(func() {
			c.s.judged.put(told.events)
			c.s.Hub.Wake(base.TopicJudged)
		})
	}
	told.events = append(told.events, view.Event{Type: "check", At: c.Now, Check: &e})
}
