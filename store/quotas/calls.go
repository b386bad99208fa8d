package quotas

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/store/base"
)

// begun is the origin of the clock by which calls are counted. It is not the clock of the database: a call is counted without a
// statement.
var begun = time.Now()

// calls are the calls of the API that this node has counted.
type calls struct {
	reading sync.Mutex // held by the call that reads the quotas again

	mu   sync.Mutex
	next map[string]int64 // by namespace: the state of [job.Pace], in microseconds since [begun]
}

// AdmitCall counts a call by a token of a namespace, or refuses it with [core.OverQuota]. Each node counts its own calls, in
// memory. If the quotas cannot be read, no call is refused.
func (s *Store) AdmitCall(ctx context.Context, namespace string) error {
	known, fresh := s.recall()
	if !fresh && s.calls.reading.TryLock() { // other calls use the last known quotas, and do not wait
		defer s.calls.reading.Unlock()
		_ = s.DB().Read(ctx, func(tx base.Tx) error {
			all, err := s.read(ctx, tx)
			if err == nil {
				known = all
			}
			return err
		})
	}
	n, has := known[namespace]
	pace := n.Quota.CallPace()
	if !has || pace.IsZero() {
		return nil
	}
	wait := s.calls.take(namespace, pace.TakeAll)
	if wait == 0 {
		return nil
	}
	most := int64(pace.Burst())
	err := refuse(n, access.QuotaCallRate, most, most, 1, wait)
	s.TellOver(err)
	return err
}

// take counts one call, or returns how long it has to wait.
func (c *calls) take(namespace string, all func(n int, next, now int64) (then int64, ok bool, from int64)) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := sinceBegun()
	then, ok, from := all(1, c.next[namespace], now)
	if !ok {
		return time.Duration(from-now) * time.Microsecond
	}
	if c.next == nil {
		c.next = map[string]int64{}
	}
	c.next[namespace] = then
	return 0
}

// at returns the state of the pace of a namespace, and the present instant.
func (c *calls) at(namespace string) (next, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next[namespace], sinceBegun()
}

// sinceBegun returns the present instant. It is never small: the slack of a pace lies before it.
func sinceBegun() int64 { return (time.Since(begun) + 1000*time.Hour).Microseconds() }
