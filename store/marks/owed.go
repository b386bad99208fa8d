package marks

import (
	"slices"
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Owed keeps whom to wake for attempts that were settled in transactions of the caller's, whose commits are not seen. A
// worker reports each attempt once more: by then its transaction has ended.
type Owed struct {
	mu     sync.Mutex
	topics map[job.Ref][]string
}

// maxOwed bounds the attempts that no worker reports. Beyond it, those that wait for them look at their next poll.
const maxOwed = 1000

// Put keeps the topics of an attempt.
func (o *Owed) Put(ref job.Ref, topics []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.topics == nil || len(o.topics) >= maxOwed {
		o.topics = map[job.Ref][]string{}
	}
	o.topics[ref] = topics
}

// Late are the attempts whose ends came too late to be settled.
func Late(out []job.Finished) (refs []job.Ref) {
	for _, f := range out {
		if f.Stale {
			refs = append(refs, f.Ref)
		}
	}
	return refs
}

// Take answers the topics that late ends concern, and forgets them; out says which of these turned out to be recorded. Where
// another process has settled one, the topics are those alone that every end concerns.
func (o *Owed) Take(late []job.Ref, out []job.Finished) (topics []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(late)+len(o.topics) == 0 {
		return nil
	}
	for _, ref := range late {
		topics = append(topics, o.topics[ref]...)
		delete(o.topics, ref)
	}
	for _, f := range out { // the caller's transaction of one that is settled now was rolled back
		delete(o.topics, f.Ref)
	}
	if slices.ContainsFunc(out, func(f job.Finished) bool { return !f.Stale && slices.Contains(late, f.Ref) }) {
		topics = append(topics, base.TopicEngine, base.TopicJobs)
	}
	return base.Unique(topics)
}
