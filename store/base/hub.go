package base

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Hub wakes goroutines of this process that wait for a change. A wake-up is a hint: the goroutine reads the rows again. After a
// missed wake-up it reads them at its next poll.
type Hub struct {
	Mu     sync.Mutex
	Topics map[string]*Topic
}

// Topics.
const (
	TopicEngine       = "engine"       // a row may be due earlier than was known
	TopicJobs         = "jobs"         // jobs changed, for live pages and lists
	TopicJudged       = "judged"       // check results, for live pages and lists; never leaves the process
	TopicRequirements = "requirements" // tasks have new requirements
)

// TopicQueue is the topic of new ready jobs of a queue.
func TopicQueue(name string) string { return "queue:" + name }

// TopicCapacity is the topic of a free place under the global limit of a queue.
func TopicCapacity(name string) string { return "place:" + name }

// TopicSession is the topic of cancellations for a session of a worker.
func TopicSession(id string) string { return "session:" + id }

// forClaims reports whether only claims wait for a topic.
func forClaims(topic string) bool {
	return strings.HasPrefix(topic, "queue:") || strings.HasPrefix(topic, "place:")
}

// CanGather reports whether wake-ups of a topic may reach other processes a little later, because no job waits for them there:
// people watch the jobs, and a free place under a limit is usually taken by the process that freed it.
func CanGather(topic string) bool {
	return topic == TopicJobs || strings.HasPrefix(topic, "place:")
}

// NewHub returns a hub without topics.
func NewHub() *Hub { return &Hub{Topics: map[string]*Topic{}} }

// maxTopics bounds the topics with waiting goroutines. Names of sessions and queues come from outside, and need not exist. Beyond
// the bound, all waiting goroutines are woken.
const maxTopics = 100_000

// On returns a channel that is closed at the next wake-up of topic. Call it before reading the rows; otherwise a wake-up between
// the read and the wait is lost.
func (h *Hub) On(topic string) <-chan struct{} { return h.Topic(topic).Woken }

// Topic is On for claims, which also register their wait.
func (h *Hub) Topic(topic string) *Topic {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	b, ok := h.Topics[topic]
	if !ok {
		if len(h.Topics) >= maxTopics {
			h.wakeAllLocked()
		}
		b = &Topic{Woken: make(chan struct{})}
		h.Topics[topic] = b
	}
	return b
}

// Topic is a topic until its next wake-up.
type Topic struct {
	Woken  chan struct{}   // closed at the wake-up
	Claims []*WaitingClaim // in the order of their begin; guarded by the hub
}

// WaitingClaim is a claim that waits for a topic. A transition that would wake it may carry it out instead.
type WaitingClaim struct {
	R      job.ClaimRequest
	Since  time.Time // by the monotonic clock
	Seen   Nothing   // the last look that found no job
	topic  *Topic
	taken  bool        // a transition carries the claim out, and has to answer; guarded by the hub
	Answer chan Answer // with a buffer of one
}

// takenPatience bounds how long a taken claim waits for its answer after the end of its own wait: a transition of another caller
// that hangs must not hang the claim. If jobs are leased to it later, they are given back with a renewal.
const takenPatience = 2 * time.Second

// Soon returns the answer to a taken claim, or an empty answer after [takenPatience].
func (w *WaitingClaim) Soon() Answer {
	over := time.NewTimer(takenPatience)
	defer over.Stop()
	select {
	case a := <-w.Answer:
		return a
	case <-over.C:
		return Answer{}
	}
}

// Wait adds a claim that waits for a topic. It is answered on its channel once, and that never blocks the sender.
func (h *Hub) Wait(b *Topic, r job.ClaimRequest, seen Nothing) *WaitingClaim {
	w := &WaitingClaim{R: r, Since: time.Now(), Seen: seen, topic: b, Answer: make(chan Answer, 1)}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	b.Claims = append(b.Claims, w)
	return w
}

// Leave ends the wait of a claim, or reports that a transition has taken it.
func (h *Hub) Leave(w *WaitingClaim) bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if !w.taken {
		w.topic.Claims = slices.DeleteFunc(w.topic.Claims, func(o *WaitingClaim) bool { return o == w })
	}
	return !w.taken
}

// Waiting returns the longest waiting claim of a topic, if it has waited for at least long.
func (h *Hub) Waiting(topic string, long time.Duration) *WaitingClaim {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if b := h.Topics[topic]; b != nil && len(b.Claims) > 0 && time.Since(b.Claims[0].Since) >= long {
		return b.Claims[0]
	}
	return nil
}

// Take reports whether a claim still waits. If so, the caller has to answer it.
func (h *Hub) Take(w *WaitingClaim) bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	select {
	case <-w.topic.Woken:
		return false
	default:
	}
	i := slices.Index(w.topic.Claims, w)
	if i >= 0 {
		w.topic.Claims, w.taken = slices.Delete(w.topic.Claims, i, i+1), true
	}
	return i >= 0
}

// Nothing records a look of a claim that left no job which it could have taken. The zero value: this is not known.
type Nothing struct {
	At      time.Time // by the monotonic clock
	Version int64     // of the queues, if other processes may write without a wake-up; otherwise 0
}

// Fresh reports whether the look is recent enough: without a wake-up, another look is not needed.
func (n Nothing) Fresh(poll time.Duration) bool { return time.Since(n.At) < poll }

// Wake wakes topics, and returns the number of claims that waited for them.
func (h *Hub) Wake(topics ...string) (woken int) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	for _, t := range topics {
		if b, ok := h.Topics[t]; ok {
			woken += len(b.Claims)
			close(b.Woken)
			delete(h.Topics, t)
		}
	}
	return woken
}

// wakeAnnounced wakes a topic that another process announced; "" wakes all topics.
func (h *Hub) wakeAnnounced(topic string) {
	if topic != "" {
		h.Wake(topic)
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.wakeAllLocked()
}

func (h *Hub) wakeAllLocked() {
	for t, b := range h.Topics {
		close(b.Woken)
		delete(h.Topics, t)
	}
}

// Woken returns a channel that is closed when a row may be due earlier than the last pass found. Call it before the pass.
func (s *Store) Woken() <-chan struct{} { return s.Hub.On(TopicEngine) }

// Answer is the result of a claim.
type Answer struct {
	job.Claim
	Limited bool    // a global limit of a queue left jobs unclaimed
	Seen    Nothing // set if no job was left
}

// Signaled reports whether a channel is closed or has a value, which it receives.
func Signaled[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
