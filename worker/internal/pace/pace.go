package pace

import (
	"time"
)

const (
	// aheadFor is how much work an automatic reserve holds: enough that slots do
	// not idle while a claim is under way, and too little to delay a more urgent
	// job noticeably.
	aheadFor = 50 * time.Millisecond
	maxAhead = 2000
	// paceOver is the shortest time over which a rate is measured, except for a
	// consumer that ran dry. Such a consumer measures at each claim; leastBusy then limits
	// the result to about ten times the jobs it held, because a few jobs of
	// microseconds say little about later jobs.
	paceOver  = 20 * time.Millisecond
	leastBusy = paceOver / 4
	// paceKept is how long an idle consumer remembers its rate. Later jobs may take
	// long, and claiming them ahead would keep them from other workers. The rate
	// of short jobs is measured again within a few claims.
	paceKept = time.Second
)

// Pace measures how fast the attempts of a consumer end while any run. Idle time is
// not counted: the consumer waited for the server then, and a lower rate would keep
// it from claiming more jobs.
type Pace struct {
	Ended int       // attempts since the last update
	since time.Time // last update
	busy  time.Duration
	from  time.Time // start of the current busy time; zero: idle
	last  time.Time // end of the last busy time
	rate  float64   // attempts per second
}

// New returns a pace without measurements.
func New() Pace { return Pace{since: time.Now()} }

// Begin must be called when an attempt starts and none runs.
func (p *Pace) Begin(now time.Time) { p.from = now }

// End must be called when the last running attempt ends.
func (p *Pace) End(now time.Time) { p.busy, p.from, p.last = p.busy+now.Sub(p.from), time.Time{}, now }

// Update averages the rate with that of the attempts since the last update, half and half.
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

// Ahead returns how many attempts end in aheadFor. It is 0 for jobs that take
// longer than aheadFor times the slots.
func (p *Pace) Ahead() int { return min(maxAhead, int(p.rate*aheadFor.Seconds())) }
