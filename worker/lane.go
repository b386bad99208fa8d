package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// lane serves one queue in one life. It claims as many jobs as it has free
// slots and again the moment one frees, and never waits for another lane.
//
// Its loop owns everything but the two counters: a claim runs beside it and
// answers into a channel, attempts run beside it and wake it when they end.
type lane struct {
	life    *life
	queue   string
	once    bool // return when nothing is ready
	reserve []*attempt
	started sync.WaitGroup
	wake    chan struct{}

	mu        sync.Mutex
	slots     int
	running   int
	unsettled int // ended here, and not yet answered by the broker
}

// answer is what came of one claim.
type answer struct {
	attempts []*attempt
	err      error
	early    bool // empty before its wait was over
	idle     bool // nothing was held when it was asked
}

func newLane(l *life, queue string, slots int) *lane {
	return &lane{life: l, queue: queue, slots: slots, wake: make(chan struct{}, 1)}
}

// run serves until the context ends, or once: until nothing is ready. It
// returns when every attempt has ended and its result was handed over.
func (l *lane) run(ctx context.Context) error {
	defer l.started.Wait()
	defer func() { l.handBack(l.reserve) }()
	answers := make(chan answer, 1)
	pause := l.newPause()
	claiming, mayClaim := false, true
	defer func() {
		if claiming {
			l.handBack((<-answers).attempts)
		}
	}()
	for {
		l.start()
		draining := l.life.drain.Load()
		if want := l.room(); want > 0 && mayClaim && !claiming && !draining {
			claiming = true
			spare := len(l.reserve) == 0
			go func() { answers <- l.claim(ctx, want, spare) }()
		}
		if l.once && draining && !claiming {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.reserveOver():
		case <-l.wake:
			mayClaim = mayClaim || l.once
		case <-pause.over():
			mayClaim = true
		case a := <-answers:
			claiming = false
			l.reserve = append(l.reserve, a.attempts...)
			if l.once && (a.err != nil || len(a.attempts) == 0 && a.idle) {
				return a.err
			}
			mayClaim = pause.after(a) && !l.waitsForOwn(a)
		}
	}
}

// waitsForOwn reports that a lane which runs once and found nothing ready has
// jobs of its own under way: when one ends it asks again.
func (l *lane) waitsForOwn(a answer) bool {
	return l.once && len(a.attempts) == 0 && l.held() > 0
}

// reserveOver is when the oldest job of the reserve has waited too long.
func (l *lane) reserveOver() <-chan time.Time {
	if len(l.reserve) == 0 {
		return nil
	}
	return time.After(time.Until(l.reserve[0].arrived.Add(reserveFor)))
}

// start moves attempts from the reserve into free slots.
func (l *lane) start() {
	l.reserve = slices.DeleteFunc(l.reserve, func(a *attempt) bool {
		switch {
		case a.ctx.Err() != nil || time.Since(a.arrived) >= reserveFor:
			l.handBack([]*attempt{a})
		case l.takeSlot():
			l.started.Go(func() { l.attempt(a) })
		default:
			return false
		}
		return true
	})
}

// reserveFor is how long a job may wait in the reserve before somebody else
// gets it. The broker's own deadline for the attempt runs since the claim, and
// has [belfry.DeadlineGrace] to spare.
const reserveFor = time.Duration(belfry.DeadlineGrace) / 2

// resize takes over the number of slots that the broker says. Attempts beyond
// a smaller one go on; their slots are not filled again.
func (l *lane) resize(slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slots > 0 {
		l.slots = slots
	}
}

func (l *lane) takeSlot() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.slots {
		return false
	}
	l.running++
	return true
}

// attempt runs one attempt. Its slot frees before its result travels.
func (l *lane) attempt(a *attempt) {
	f, report := a.execute()
	a.log.close()
	l.count(-1, +1)
	if !report {
		l.life.release(a)
		return
	}
	a.report(f)
}

// handBack reports attempts that were not started.
func (l *lane) handBack(as []*attempt) {
	for _, a := range as {
		l.count(0, +1)
		a.log.close()
		a.report(a.unstarted())
	}
}

func (l *lane) count(running, unsettled int) {
	l.mu.Lock()
	l.running += running
	l.unsettled += unsettled
	l.mu.Unlock()
	signal(l.wake)
}

// room is how many more jobs the lane can take. While results cannot be
// delivered it takes a second set of jobs and then no more: what it holds
// stays bounded.
func (l *lane) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.running + len(l.reserve)
	most := l.slots + l.life.worker.options.Prefetch
	return max(0, min(most-held, most+l.slots-held-l.unsettled, belfry.MaxBatch))
}

func (l *lane) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running + l.unsettled
}

// claim asks once. What arrives is held by the life before anybody else knows,
// so that the next renewal names it.
func (l *lane) claim(ctx context.Context, want int, spare bool) (a answer) {
	wait := l.life.worker.options.Poll
	if l.once {
		wait = 0
	}
	a.idle = spare && l.held() == 0
	ctx, cancel := context.WithTimeout(ctx, wait+claimPatience)
	defer cancel()
	begun := time.Now()
	c, err := l.life.worker.options.Broker.Claim(ctx, belfry.ClaimRequest{
		Session: l.life.session.ID,
		Want:    map[string]int{l.queue: want},
		Wait:    belfry.Duration(wait),
	})
	took := time.Since(begun)
	l.life.worker.options.Observer.Claimed(l.queue, len(c.Jobs), took, err)
	if err != nil {
		a.err = l.life.sawClaim(ctx, err)
		return a
	}
	_ = l.life.sawClaim(ctx, nil)
	a.early = len(c.Jobs) == 0 && took < wait
	a.attempts = l.life.hold(l, c, took <= wait+claimPatience)
	return a
}

// pause is what a lane waits between claims when the broker fails or answers
// empty at once; otherwise it does not wait.
type pause struct {
	failed, empty backoff
	timer         *time.Timer
}

func (l *lane) newPause() *pause {
	return &pause{
		failed: backoff{first: 100 * time.Millisecond, most: 5 * time.Second},
		empty:  backoff{first: time.Millisecond, most: l.life.worker.options.Poll},
	}
}

// after says whether the lane may claim again at once.
func (p *pause) after(a answer) bool {
	var d time.Duration
	switch {
	case a.err != nil:
		d = p.failed.next()
	case a.early:
		d = p.empty.next()
	default:
		p.failed.reset()
		p.empty.reset()
		return true
	}
	p.timer = time.NewTimer(d)
	return false
}

func (p *pause) over() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}
