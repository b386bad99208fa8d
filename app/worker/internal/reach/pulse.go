package reach

import (
	"sync"
	"sync/atomic"
	"time"
)

// pulse notices when the process gets no time. During a measurement, one
// goroutine wakes again and again; when it wakes late, so did all others,
// and a latency measured meanwhile is not the target's.
type pulse struct {
	mu    sync.Mutex
	users int
	stop  chan struct{}
	since time.Time // when the first measurement began

	beat atomic.Int64 // when it woke last, in ns after since
	late atomic.Int64 // when it last woke late; 0: never
}

const (
	beatEvery = 10 * time.Millisecond
	beatLate  = 20 * time.Millisecond // later than this is starved
)

// watch begins to measure. The function it returns ends that, and calls starved
// when the process had no time for it.
func (p *pulse) watch(began time.Time, starved func()) (done func()) {
	p.mu.Lock()
	if p.users++; p.users == 1 {
		if p.since.IsZero() {
			p.since = time.Now()
		}
		p.stop = make(chan struct{})
		p.beat.Store(int64(time.Since(p.since)))
		go p.run(p.stop, p.since)
	}
	since := p.since
	p.mu.Unlock()
	return func() {
		last, late := p.beat.Load(), p.late.Load()
		if late != 0 && late >= int64(began.Sub(since)) || int64(time.Since(since))-last > int64(beatEvery+beatLate) {
			starved()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.users--; p.users == 0 {
			close(p.stop)
		}
	}
}

func (p *pulse) run(stop chan struct{}, since time.Time) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			p.note(int64(time.Since(since)))
		}
	}
}

func (p *pulse) note(now int64) {
	if now-p.beat.Swap(now) > int64(beatEvery+beatLate) {
		p.late.Store(now)
	}
}
