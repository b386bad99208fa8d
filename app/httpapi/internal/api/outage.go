package api

import (
	"sync"
	"time"
)

// outage bounds how often it is logged that requests fail for now: while a database is away every one of them does.
type outage struct {
	mu   sync.Mutex
	seen map[string]*failing // by their errors
}

// failing is requests with the same error.
type failing struct {
	said time.Time
	more int // since then
}

const (
	sayAgain   = 10 * time.Second // after which the same error is logged again
	mostErrors = 100              // that are told apart
)

// failed notes a request with an error. It answers whether to log it, and how many had the same error since the last line.
func (o *outage) failed(err string, now time.Time) (say bool, more int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.seen[err]
	if f == nil {
		if o.seen == nil || len(o.seen) >= mostErrors {
			o.seen = map[string]*failing{}
		}
		o.seen[err] = &failing{said: now}
		return true, 0
	}
	if now.Sub(f.said) < sayAgain {
		f.more++
		return false, 0
	}
	more, f.said, f.more = f.more, now, 0
	return true, more
}
