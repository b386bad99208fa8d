package pace

import (
	"time"

	"github.com/belfry-run/belfry/internal/patience"
)

// Pause is the wait of a consumer between claims when the server fails or returns
// early without jobs. In other cases the consumer does not wait.
type Pause struct {
	failed, empty patience.Backoff
	timer         *time.Timer
}

// NewPause returns a pause that waits up to poll after empty answers.
func NewPause(poll time.Duration) *Pause {
	return &Pause{
		failed: patience.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second},
		empty:  patience.Backoff{First: time.Millisecond, Most: poll},
	}
}

// After records an answer, and reports whether the consumer may claim again at once.
// early means that the answer was empty and came before the end of its wait.
func (p *Pause) After(err error, early bool) bool {
	var d time.Duration
	switch {
	case err != nil:
		d = p.failed.Next()
	case early:
		d = p.empty.Next()
	default:
		p.failed.Reset()
		p.empty.Reset()
		return true
	}
	p.timer = time.NewTimer(d)
	return false
}

// Over returns the channel that receives at the end of the wait.
func (p *Pause) Over() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}
