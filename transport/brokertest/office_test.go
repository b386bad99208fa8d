package brokertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// office keeps tickets in memory in front of a store that keeps none. All jobs
// here are alike, so a ticket brings whichever job the store leases next; the
// lease, the attempt and the record are the store's.
type office struct {
	*store.Store

	mu      sync.Mutex
	tickets map[belfry.Ticket]bool
	rung    map[int64]time.Time // by number of those that were not claimed
}

// ringAgain is how long a ticket may go unheard.
const ringAgain = 300 * time.Millisecond

func newOffice(st *store.Store, jobs int64) *office {
	o := &office{Store: st, tickets: map[belfry.Ticket]bool{}, rung: map[int64]time.Time{}}
	for id := range jobs {
		o.rung[id+1] = time.Time{}
	}
	return o
}

func (o *office) Ready(string) <-chan struct{} { return nil }

func (o *office) MakeTickets(_ context.Context, _ string, n int) (ts []belfry.Ticket, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, at := range o.rung {
		if len(ts) == n {
			break
		}
		if time.Since(at) > ringAgain {
			t := belfry.Ticket{JobID: id, Secret: fmt.Sprint("secret-", len(o.tickets))}
			o.tickets[t], o.rung[id] = true, time.Now()
			ts = append(ts, t)
		}
	}
	return ts, nil
}

func (o *office) Claim(ctx context.Context, r belfry.ClaimRequest) (c belfry.Claim, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var good, spent []int64
	for _, t := range r.Tickets {
		if _, open := o.rung[t.JobID]; open && o.tickets[t] {
			delete(o.rung, t.JobID)
			good = append(good, t.JobID)
		} else {
			spent = append(spent, t.JobID)
		}
	}
	if len(good) > 0 {
		c, err = o.Store.Claim(ctx, belfry.ClaimRequest{Session: r.Session, Want: map[string]int{"render": len(good)}})
	}
	for _, id := range good[len(c.Jobs):] { // as if they had not been shown
		o.rung[id] = time.Time{}
	}
	c.Spent = append(spent, good[:len(c.Jobs)]...)
	return c, err
}
