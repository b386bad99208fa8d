package store

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	rung    chan struct{}
	waiting atomic.Int64
	took    sync.Map // time.Time by session: it took all there was, and nothing has rung since
}

func (b *bell) empty(session string) { b.took.Store(session, time.Now()) }

// emptied reports that the last claim of a session took all there was, up to so
// long ago. It says so once: who waits and hears nothing is to look.
func (b *bell) emptied(session string, ago time.Duration) bool {
	at, ok := b.took.LoadAndDelete(session)
	return ok && time.Since(at.(time.Time)) < ago //nolint:forcetypeassert // only empty stores
}

// wake rings, and answers how many waited for it.
func (h *hub) wake(topics ...string) (woken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if b, ok := h.topics[t]; ok {
			woken += int(b.waiting.Load())
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
