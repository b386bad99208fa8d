package store

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

// hub wakes goroutines of this process that wait for something to change. A
// wake-up is a hint: whoever gets one looks at the rows again, and whoever
// misses one looks after a while anyway.
type hub struct {
	mu     sync.Mutex
	topics map[string]*bell
}

// Topics.
const (
	topicEngine  = "engine"  // something may be due earlier than was known
	topicJobs    = "jobs"    // for those who watch
	topicJudged  = "judged"  // for those who watch; never leaves the process
	topicDemands = "demands" // tasks need what none needed before
)

func topicQueue(name string) string { return "queue:" + name }
func topicPlace(name string) string { return "place:" + name } // under the queue's limit over all workers
func topicSession(id string) string { return "session:" + id }

// forClaims reports that claims wait for a topic, and nobody else.
func forClaims(topic string) bool {
	return strings.HasPrefix(topic, "queue:") || strings.HasPrefix(topic, "place:")
}

// CanGather reports that news of a topic may reach other processes a little
// later, because no job waits for it there: people watch, and a place under a
// limit is taken first by who freed it.
func CanGather(topic string) bool {
	return topic == topicJobs || strings.HasPrefix(topic, "place:")
}

func newHub() *hub { return &hub{topics: map[string]*bell{}} }

// maxBells bounds the topics that anybody has ever waited for. Names come from
// outside, those of sessions and of queues that need not exist; beyond it, all
// that wait look again.
const maxBells = 100_000

// on returns a channel that is closed at the next wake-up of topic. Take it
// before looking at the rows, or the wake-up between the look and the wait is
// lost.
func (h *hub) on(topic string) <-chan struct{} { return h.bell(topic).rung }

// bell is on, for those who say when they wait.
func (h *hub) bell(topic string) *bell {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.topics[topic]
	if !ok {
		if len(h.topics) >= maxBells {
			h.ringAllLocked()
		}
		b = &bell{rung: make(chan struct{})}
		h.topics[topic] = b
	}
	return b
}

type bell struct {
	rung   chan struct{}
	claims []*waitingClaim // the first came first; guarded by the hub
	took   sync.Map        // nothing by session: it took all there was, and nothing has rung since
}

// waitingClaim is a claim that waits for a bell. Whoever would ring it may carry
// it out instead.
type waitingClaim struct {
	r      job.ClaimRequest
	since  time.Time // by the monotonic clock
	seen   nothing   // that it could take
	bell   *bell
	taken  bool        // by somebody who owes the answer; guarded by the hub
	answer chan answer // with room for it
}

// takenPatience bounds how long a claim that was taken waits for its answer once
// it has nothing else to wait for: a database that hangs must not hang those who
// do not ask for it themselves. What is leased to them after all they give back
// with a renewal.
const takenPatience = 2 * time.Second

// soon is the answer to a claim that was taken.
func (w *waitingClaim) soon() answer {
	over := time.NewTimer(takenPatience)
	defer over.Stop()
	select {
	case a := <-w.answer:
		return a
	case <-over.C:
		return answer{}
	}
}

func (h *hub) wait(b *bell, r job.ClaimRequest, seen nothing) *waitingClaim {
	w := &waitingClaim{r: r, since: time.Now(), seen: seen, bell: b, answer: make(chan answer, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	b.claims = append(b.claims, w)
	return w
}

// leave ends the wait of a claim, or reports that somebody has taken it.
func (h *hub) leave(w *waitingClaim) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.taken {
		w.bell.claims = slices.DeleteFunc(w.bell.claims, func(o *waitingClaim) bool { return o == w })
	}
	return !w.taken
}

// waiting is the first of those who wait for a topic, if it has for so long.
func (h *hub) waiting(topic string, long time.Duration) *waitingClaim {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.topics[topic]; b != nil && len(b.claims) > 0 && time.Since(b.claims[0].since) >= long {
		return b.claims[0]
	}
	return nil
}

// take reports that a claim waits still, and is the caller's to answer.
func (h *hub) take(w *waitingClaim) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-w.bell.rung:
		return false
	default:
	}
	i := slices.Index(w.bell.claims, w)
	if i >= 0 {
		w.bell.claims, w.taken = slices.Delete(w.bell.claims, i, i+1), true
	}
	return i >= 0
}

func (b *bell) empty(session string, seen nothing) { b.took.Store(session, seen) }

// emptied is what was seen when the last claim of a session took all there was,
// if that is fresh. It says so once: who waits and hears nothing is to look.
func (b *bell) emptied(session string, poll time.Duration) (seen nothing) {
	if v, ok := b.took.LoadAndDelete(session); ok {
		seen = v.(nothing) //nolint:forcetypeassert // only empty stores
	}
	if !seen.fresh(poll) {
		return nothing{}
	}
	return seen
}

// nothing is that no job was left which a claim could have taken. The zero value
// is that this is not known.
type nothing struct {
	at      time.Time // by the monotonic clock
	version int64     // of the database, where others may write to it unheard; otherwise zero
}

// fresh reports that nobody has to look again, unless something rings.
func (n nothing) fresh(poll time.Duration) bool { return time.Since(n.at) < poll }

// wake rings, and answers how many waited for it.
func (h *hub) wake(topics ...string) (woken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if b, ok := h.topics[t]; ok {
			woken += len(b.claims)
			close(b.rung)
			delete(h.topics, t)
		}
	}
	return woken
}

// heard passes on what another process announced; "" means anything may have
// changed.
func (h *hub) heard(topic string) {
	if topic != "" {
		h.wake(topic)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ringAllLocked()
}

func (h *hub) ringAllLocked() {
	for t, b := range h.topics {
		close(b.rung)
		delete(h.topics, t)
	}
}

// Woken returns a channel that is closed when something may have become due
// earlier than the last pass said. Take it before the pass.
func (s *Store) Woken() <-chan struct{} { return s.hub.on(topicEngine) }
