package marks

import (
	"slices"
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// PendingWakes keeps the topics to wake for attempts that were settled in transactions of callers, whose commits are not seen.
// The worker reports each such attempt once more; by then its transaction has ended.
type PendingWakes struct {
	mu     sync.Mutex
	topics map[job.Ref][]string
}

// maxPending bounds the kept attempts, because a worker may never report one. Beyond it all are dropped, and waiting callers
// see the change at their next poll.
const maxPending = 1000

// Put keeps the topics of an attempt.
func (p *PendingWakes) Put(ref job.Ref, topics []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics == nil || len(p.topics) >= maxPending {
		p.topics = map[job.Ref][]string{}
	}
	p.topics[ref] = topics
}

// Late returns the attempts whose reported end was stale.
func Late(out []job.Finished) (refs []job.Ref) {
	for _, f := range out {
		if f.Stale {
			refs = append(refs, f.Ref)
		}
	}
	return refs
}

// Take returns and removes the topics of late attempts. out says which of them turned out to be recorded. For an attempt that
// another process settled, it returns only the topics that every end wakes.
func (p *PendingWakes) Take(late []job.Ref, out []job.Finished) (topics []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(late)+len(p.topics) == 0 {
		return nil
	}
	for _, ref := range late {
		topics = append(topics, p.topics[ref]...)
		delete(p.topics, ref)
	}
	for _, f := range out { // an attempt that is settled only now: the transaction of the caller was rolled back
		delete(p.topics, f.Ref)
	}
	if slices.ContainsFunc(out, func(f job.Finished) bool { return !f.Stale && slices.Contains(late, f.Ref) }) {
		topics = append(topics, base.TopicEngine, base.TopicJobs)
	}
	return base.Unique(topics)
}
