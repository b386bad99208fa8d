package pace

import (
	"time"
)

const (
	// aheadFor is how much work a reserve holds that sizes itself: enough that
	// slots do not stand empty while a claim travels, and so little that a more
	// urgent job does not notice it.
	aheadFor = 50 * time.Millisecond
	maxAhead = 2000
	// paceOver is the shortest time a rate is taken over, but for a lane that ran
	// dry. That one asks after its rate at each claim, and leastBusy keeps what it
	// held from looking like more than ten times as much: a few jobs of
	// microseconds say little of those behind them.
	paceOver  = 20 * time.Millisecond
	leastBusy = paceOver / 4
	// paceKept is how long a lane that has nothing remembers its rate. Later jobs
	// may take long, and would be kept from other workers; the rate of
	// short jobs is found again in a few claims.
	paceKept = time.Second
)

// Pace is how fast a lane's attempts end while there are any. The time in which
// nothing ran was the broker's, and counted it would keep a lane that has too few
// jobs from asking for more.
type Pace struct {
	Ended int       // since
	since time.Time // the last count
	busy  time.Duration
	from  time.Time // something has run; zero: nothing does
	last  time.Time // something ran
	rate  float64   // per second
}

func New() Pace { return Pace{since: time.Now()} }

// Begin is told when an attempt starts and none ran.
func (p *Pace) Begin(now time.Time) { p.from = now }

// End is told when none runs any more.
func (p *Pace) End(now time.Time) { p.busy, p.from, p.last = p.busy+now.Sub(p.from), time.Time{}, now }

// Update takes what ended since the last time into account, half and half.
func (p *Pace) Update(now time.Time) {
	dry := p.from.IsZero()
	if now.Sub(p.since) < paceOver && (!dry || p.Ended == 0) {
		return
	}
	if !dry {
		p.End(now)
		p.Begin(now)
	}
	switch {
	case p.busy > 0:
		p.rate = (p.rate + float64(p.Ended)/max(p.busy, leastBusy).Seconds()) / 2
	case now.Sub(p.last) >= paceKept:
		p.rate = 0
	}
	p.Ended, p.busy, p.since = 0, 0, now
}

// Ahead is how many attempts end in aheadFor, so jobs that take longer than
// that times the slots are not claimed ahead at all.
func (p *Pace) Ahead() int { return min(maxAhead, int(p.rate*aheadFor.Seconds())) }
