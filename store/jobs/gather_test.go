package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/bounds"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/turns"
)

// faulty is a database in which every transaction fails.
type faulty struct {
	base.DB
	err   error
	tries atomic.Int64
}

func (f *faulty) Write(context.Context, func(base.Tx, base.Moment) error) error {
	f.tries.Add(1)
	return f.err
}

func (*faulty) Dialect() base.Dialect { return nil }

// A commit whose answer was lost may have happened. To repeat each call would make its jobs twice.
func TestCallsThatCameTogetherAreNotRepeatedAfterAFault(t *testing.T) {
	for _, c := range []struct {
		err   error
		tries int64
	}{
		{core.Errorf(core.Unknown, "the answer to the commit was lost"), 1},
		{errors.New("unexpected"), 1},
		{context.DeadlineExceeded, 1},
		{core.Errorf(core.NotFound, "no task"), 3}, // together, and each alone
		{core.Errorf(core.OverQuota, "no room"), 3},
		{core.Errorf(core.QueueFull, "no room"), 3},
	} {
		db := &faulty{err: c.err}
		b := base.New(db, base.Options{})
		u, q := quotas.New(b), queues.New(b)
		ts := tasks.New(b, u, q)
		tu := turns.New(b, q)
		s := New(b, q, bounds.New(b, q, u), tu, ts, limits.New(b, q, ts, tu))
		all := []*gather.Call{gather.NewCall("", nil), gather.NewCall("", nil)}
		s.enqueueTogether(t.Context(), all)
		if n := db.tries.Load(); n != c.tries {
			t.Errorf("error %v: got %d transactions, want %d", c.err, n, c.tries)
		}
		for _, a := range all {
			if _, err := a.Wait(); !errors.Is(err, c.err) {
				t.Errorf("answer to a call: got error %v, want %v", err, c.err)
			}
		}
	}
}
