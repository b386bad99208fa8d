package base

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Hub wakes goroutines of this process that wait for something to change. A
// wake-up is a hint: a goroutine that gets one looks at the rows again, and one that
// misses one looks after a while anyway.
type Hub struct {
	Mu     sync.Mutex
	Topics map[string]*Bell
}

// Topics.
const (
	TopicEngine       = "engine"       // something may be due earlier than was known
	TopicJobs         = "jobs"         // for those who watch
	TopicJudged       = "judged"       // for those who watch; never leaves the process
	TopicRequirements = "requirements" // tasks need what none needed before
)

func TopicQueue(name string) string { return "queue:" + name }

func TopicPlace(name string) string { return "place:" + name } // under the queue's limit over all workers

func TopicSession(id string) string { return "session:" + id }

// forClaims reports that only claims wait for a topic.
func forClaims(topic string) bool {
	return strings.HasPrefix(topic, "queue:") || strings.HasPrefix(topic, "place:")
}

// CanGather reports that news of a topic may reach other processes a little
// later, because no job waits for it there: people watch, and a place under a
// limit is taken first by who freed it.
func CanGather(topic string) bool {
	return topic == TopicJobs || strings.HasPrefix(topic, "place:")
}

func NewHub() *Hub { return &Hub{Topics: map[string]*Bell{}} }

// maxBells bounds the topics that anybody has ever waited for. Names come from
// outside, those of sessions and of queues that need not exist; beyond it, all
// that wait look again.
const maxBells = 100_000

// On returns a channel that is closed at the next wake-up of topic. Take it
// before looking at the rows, or the wake-up between the look and the wait is
// lost.
func (h *Hub) On(topic string) <-chan struct{} { return h.Bell(topic).Rung }

// Bell is on, for those who say when they wait.
func (h *Hub) Bell(topic string) *Bell {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	b, ok := h.Topics[topic]
	if !ok {
		if len(h.Topics) >= maxBells {
			h.ringAllLocked()
		}
		b = &Bell{Rung: make(chan struct{})}
		h.Topics[topic] = b
	}
	return b
}

type Bell struct {
	Rung   chan struct{}
	Claims []*WaitingClaim // the first came first; guarded by the hub
}

// WaitingClaim is a claim that waits for a bell. The transition that would ring it may carry
// it out instead.
type WaitingClaim struct {
	R      job.ClaimRequest
	Since  time.Time // by the monotonic clock
	Seen   Nothing   // that it could take
	bell   *Bell
	taken  bool        // by a transition that owes the answer; guarded by the hub
	Answer chan Answer // with room for it
}

// takenPatience bounds how long a claim that was taken waits for its answer once
// it has nothing else to wait for: a database that hangs must not hang claims that
// do not ask for it themselves. Jobs leased to them after all are given back
// with a renewal.
const takenPatience = 2 * time.Second

// Soon is the answer to a claim that was taken.
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

func (h *Hub) Wait(b *Bell, r job.ClaimRequest, seen Nothing) *WaitingClaim {
	w := &WaitingClaim{R: r, Since: time.Now(), Seen: seen, bell: b, Answer: make(chan Answer, 1)}
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
		w.bell.Claims = slices.DeleteFunc(w.bell.Claims, func(o *WaitingClaim) bool { return o == w })
	}
	return !w.taken
}

// Waiting is the first of those who wait for a topic, if it has for so long.
func (h *Hub) Waiting(topic string, long time.Duration) *WaitingClaim {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if b := h.Topics[topic]; b != nil && len(b.Claims) > 0 && time.Since(b.Claims[0].Since) >= long {
		return b.Claims[0]
	}
	return nil
}

// Take reports that a claim waits still, and is the caller's to answer.
func (h *Hub) Take(w *WaitingClaim) bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	select {
	case <-w.bell.Rung:
		return false
	default:
	}
	i := slices.Index(w.bell.Claims, w)
	if i >= 0 {
		w.bell.Claims, w.taken = slices.Delete(w.bell.Claims, i, i+1), true
	}
	return i >= 0
}

// Nothing is that no job was left which a claim could have taken. The zero value
// is that this is not known.
type Nothing struct {
	At      time.Time // by the monotonic clock
	Version int64     // of the database, where others may write to it unheard; otherwise zero
}

// Fresh reports that another look is needless, unless something rings.
func (n Nothing) Fresh(poll time.Duration) bool { return time.Since(n.At) < poll }

// Wake rings, and answers how many waited for it.
func (h *Hub) Wake(topics ...string) (woken int) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	for _, t := range topics {
		if b, ok := h.Topics[t]; ok {
			woken += len(b.Claims)
			close(b.Rung)
			delete(h.Topics, t)
		}
	}
	return woken
}

// heard passes on what another process announced; "" means anything may have
// changed.
func (h *Hub) heard(topic string) {
	if topic != "" {
		h.Wake(topic)
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.ringAllLocked()
}

func (h *Hub) ringAllLocked() {
	for t, b := range h.Topics {
		close(b.Rung)
		delete(h.Topics, t)
	}
}

// Woken returns a channel that is closed when something may have become due
// earlier than the last pass said. Take it before the pass.
func (s *Store) Woken() <-chan struct{} { return s.Hub.On(TopicEngine) }

// Answer is what came of a claim.
type Answer struct {
	job.Claim
	Limited bool    // a limit over all workers is in the way
	Seen    Nothing // left, if that is known
}

// IsRung reports that a channel has something, or is closed, and takes it.
func IsRung[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
