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

// judgedKept is how many judged checks are remembered for those that watch. A watcher that
// falls further behind misses some, and reads again what is shown anyway.
const judgedKept = 256

// judged is what this process judged last. Checks that go well leave no row
// that could be read in the order of their ends, and to write one for people
// that may watch would cost every check. So these events are known to the
// process that settled the check alone: with several nodes, watchers
// of another one do not hear of them.
type judged struct {
	mu     sync.Mutex
	life   int64 // of this process, so that cursors of another one mean nothing here
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

// JudgedFrom answers a mark for what is judged from now on: the life of this process, and a number in it.
func (s *Store) JudgedFrom() (life, next int64) {
	j := s.judged
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.life, j.next
}

// JudgedSince answers what a mark has not seen, and moves it on. A mark of another process begins here.
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

// judgedNow are the events of a transition.
type judgedNow struct{ events []view.Event }

// publishJudged has those who watch hear of a monitor's check once this is committed.
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
