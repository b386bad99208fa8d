package worker

import "time"

const (
	// aheadFor is how much work a reserve holds that sizes itself: enough that
	// slots do not stand empty while a claim travels, and so little that a more
	// urgent job does not notice it.
	aheadFor = 50 * time.Millisecond
	maxAhead = 2000
	paceOver = 20 * time.Millisecond // the shortest time a rate is taken over
)

// pace is how fast a lane's attempts end.
type pace struct {
	ended int       // since
	since time.Time // the last measure
	rate  float64   // per second
}

func newPace() pace { return pace{since: time.Now()} }

// measure takes what ended since the last time into account, half and half.
func (p *pace) measure(now time.Time) {
	took := now.Sub(p.since)
	if took < paceOver {
		return
	}
	p.rate = (p.rate + float64(p.ended)/took.Seconds()) / 2
	p.ended, p.since = 0, now
}

// ahead is how many attempts end in aheadFor, so jobs that take longer than
// that times the slots are not claimed ahead at all.
func (p *pace) ahead() int { return min(maxAhead, int(p.rate*aheadFor.Seconds())) }
