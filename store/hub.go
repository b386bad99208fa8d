package store

import "sync"

// hub wakes goroutines of this process that wait for something to change. A
// wake-up is a hint: whoever gets one looks at the rows again, and whoever
// misses one looks after a while anyway.
type hub struct {
	mu     sync.Mutex
	topics map[string]chan struct{}
}

// Topics.
const (
	topicEngine = "engine" // something may be due earlier than was known
	topicJobs   = "jobs"   // for those who watch
)

func topicQueue(name string) string { return "queue:" + name }
func topicPlace(name string) string { return "place:" + name } // under the queue's limit over all workers
func topicSession(id string) string { return "session:" + id }
func newHub() *hub                  { return &hub{topics: map[string]chan struct{}{}} }

// on returns a channel that is closed at the next wake-up of topic. Take it
// before looking at the rows, or the wake-up between the look and the wait is
// lost.
func (h *hub) on(topic string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch, ok := h.topics[topic]
	if !ok {
		ch = make(chan struct{})
		h.topics[topic] = ch
	}
	return ch
}

func (h *hub) wake(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if ch, ok := h.topics[t]; ok {
			close(ch)
			delete(h.topics, t)
		}
	}
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
	for t, ch := range h.topics {
		close(ch)
		delete(h.topics, t)
	}
}
