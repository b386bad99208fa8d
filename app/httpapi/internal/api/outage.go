package api

import (
	"sync"
	"time"
)

// outage limits the log lines about failing requests: during an outage of the database every request fails.
type outage struct {
	mu   sync.Mutex
	seen map[string]*failing // by error text
}

// failing counts the requests that fail with one error.
type failing struct {
	said time.Time // of the last log line
	more int       // requests since then
}

const (
	sayAgain   = 10 * time.Second // interval of log lines with the same error
	mostErrors = 100              // error texts that are kept
)

// failed counts a failed request. It returns whether to log the error, and how many requests had the same error since the last line.
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
