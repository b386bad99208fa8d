package pace

import (
	"time"

	"github.com/belfry-run/belfry/internal/patience"
)

// Pause is what a lane waits between claims when the broker fails or answers
// empty at once; otherwise it does not wait.
type Pause struct {
	failed, empty patience.Backoff
	timer         *time.Timer
}

// NewPause waits up to poll after empty answers.
func NewPause(poll time.Duration) *Pause {
	return &Pause{
		failed: patience.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second},
		empty:  patience.Backoff{First: time.Millisecond, Most: poll},
	}
}

// After says whether the lane may claim again at once after an answer, which may
// have come empty before its time.
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

// Over is when the wait is.
func (p *Pause) Over() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}
