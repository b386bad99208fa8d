package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/bell"
	"github.com/belfry-run/belfry/worker/internal/pace"
)

// lane serves one queue in one life. It claims as many jobs as it has free slots, and a reserve for those that will be
// free soon, and never waits for another lane.
//
// Of each claim it says how many jobs would have to wait. If this process dies, those are handed back, and the others
// are lost: a job that arrives for a free slot begins at once. So no slot that was promised to a claim is given away
// before it is answered.
//
// A runner is a goroutine that has a slot. When its attempt has ended it takes the next from the reserve by itself;
// without one it waits for the loop, which claims beside it and is woken when the reserve runs low.
type lane struct {
	life   *life
	queue  string
	bell   Doorbell // tells which jobs to claim; nil: the broker itself does
	once   bool     // return when nothing is ready
	wake   chan struct{}
	idle   chan *attempt // to runners without one
	closed chan struct{} // the loop has ended
	stop   func()        // claims no more

	runners sync.WaitGroup
	answers *bell.Answers   // to the doorbell
	bells   patience.Outage // seen by one claim at a time

	mu        sync.Mutex
	slots     int
	fewer     int // slots from the next claim on, if not 0
	running   int
	waiting   int // runners that listen on idle
	unsettled int // ended here, and not yet answered by the broker
	claiming  bool
	reserve   []*attempt
	mayWait   bool // the last job that arrived may: others like it can be claimed ahead
	dry       bool // nothing could be claimed ahead: ask again for a free slot
	pace      pace.Pace
}

// answer is what came of one claim.
type answer struct {
	attempts []*attempt
	err      error
	early    bool // empty before its wait was over
	ahead    bool // all that it asked for would have had to wait
	idle     bool // nothing was held when it was asked
}

func newLane(l *life, queue string, slots int) *lane {
	o := l.worker.options
	return &lane{
		life: l, queue: queue, bell: o.Doorbells[queue], slots: slots, wake: make(chan struct{}, 1), idle: make(chan *attempt), mayWait: true, pace: pace.New(),
		answers: bell.New(o.Logger, queue, o.Doorbells[queue]),
		bells:   patience.Outage{Log: o.Logger, What: "doorbell of queue " + queue + " cannot be heard"},
	}
}

// run serves until the context ends, or once: until nothing is ready. It returns when every attempt has ended and its
// result was handed over.
func (l *lane) run(ctx context.Context) error {
	l.closed, l.waiting = make(chan struct{}), 0
	defer l.runners.Wait()
	defer l.answers.Wait()
	defer l.close()
	answers := make(chan answer, 1)
	pause := pace.NewPause(l.life.worker.options.Poll)
	claiming, mayClaim := false, true
	defer func() {
		if claiming {
			l.handBack((<-answers).attempts)
		}
	}()
	for {
		if l.start() {
			runtime.Gosched() // those it woke first: what follows would be before them on this core
		}
		draining := l.life.drain.Load()
		if mayClaim && !claiming && !draining {
			if want, spare := l.wants(); want > 0 {
				claiming = true
				go func() { answers <- l.claim(ctx, want, spare) }()
			}
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
		case <-pause.Over():
			mayClaim = true
		case a := <-answers:
			claiming = false
			l.arrive(a)
			if l.once && (a.err != nil || len(a.attempts) == 0 && a.idle) {
				return a.err
			}
			mayClaim = pause.After(a.err, a.early) && !l.waitsForOwn(a)
		}
	}
}

// close lets runners go that wait, and hands back what none of them took.
func (l *lane) close() {
	l.mu.Lock()
	left := l.reserve
	l.reserve = nil
	l.mu.Unlock()
	close(l.closed)
	l.handBack(left)
}

func (l *lane) arrive(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claiming = false
	l.reserve = append(l.reserve, a.attempts...)
	if n := len(a.attempts); n > 0 {
		last := &a.attempts[n-1].run
		l.mayWait = !last.inTurn && last.Job.MayWait(last.Task.Retry)
	} else if a.err == nil {
		l.dry = a.ahead
	}
}

// waitsForOwn reports that a lane which runs once and found nothing ready has jobs of its own under way: when one ends
// it asks again.
func (l *lane) waitsForOwn(a answer) bool {
	return l.once && len(a.attempts) == 0 && l.held() > 0
}

// reserveOver is when the oldest job of the reserve has waited too long.
func (l *lane) reserveOver() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.reserve) == 0 {
		return nil
	}
	return time.After(time.Until(l.reserve[0].arrived.Add(reserveFor)))
}

// start gives attempts of the reserve to free slots, and reports whether there were any.
func (l *lane) start() (any bool) {
	for ; ; any = true {
		a, waiting, unfit := l.next(true)
		l.handBack(unfit)
		if a == nil {
			return any
		}
		if waiting {
			l.idle <- a
			continue
		}
		l.runners.Add(1)
		go l.serve(a)
	}
}

// next takes an attempt of the reserve into a free slot, if there are both. To the loop it says whether a runner waits
// for it; a runner that gets none is counted as one that waits. Attempts that can no longer start are answered, to be
// handed back.
func (l *lane) next(loop bool) (a *attempt, waiting bool, unfit []*attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if a == nil && !loop {
			l.waiting++
		}
	}()
	for len(l.reserve) > 0 {
		first, now := l.reserve[0], time.Now()
		fit := first.ended() == nil && now.Sub(first.arrived) < reserveFor && !l.life.worker.unwell.Cannot(first.run.Job.Kind)
		if fit && l.running >= l.slots {
			return nil, false, unfit
		}
		l.reserve[0] = nil
		l.reserve = l.reserve[1:]
		if !fit {
			unfit = append(unfit, first)
			continue
		}
		if l.running++; l.running == 1 {
			l.pace.Begin(now)
		}
		if loop && l.waiting > 0 {
			l.waiting--
			return first, true, unfit
		}
		return first, false, unfit
	}
	return nil, false, unfit
}

// serve is a runner. It ends with the lane, or with a handler that ends its goroutine. One whose attempt was left behind
// is not waited for.
func (l *lane) serve(a *attempt) {
	s := newSlot(l.life.work)
	defer func() {
		s.close()
		if a == nil || !a.left.Load() {
			l.runners.Done()
			signal(l.wake) // there may be a slot to fill
		}
	}()
	for a != nil && a.execute(s, l.ended) {
		s.refresh()
		a = l.another()
	}
}

// leave gives up a runner whose handler ignores the end of its context.
func (l *lane) leave() {
	l.runners.Done()
	signal(l.wake)
}

// another is what a runner does next, or nothing when the lane has ended.
func (l *lane) another() *attempt {
	a, _, unfit := l.next(false)
	l.handBack(unfit)
	if a != nil {
		return a
	}
	signal(l.wake)
	select {
	case a = <-l.idle:
	case <-l.closed:
		select { // the loop may have meant this one before it ended
		case a = <-l.idle:
		default:
		}
	}
	return a
}

// reserveFor is how long a job may wait in the reserve before it is handed back to other workers. The broker's own deadline for the
// attempt runs since the claim, and has [job.DeadlineGrace] to spare.
const reserveFor = time.Duration(job.DeadlineGrace) / 2

// resize takes over the number of slots that the broker says. Attempts beyond a smaller one go on; their slots are not
// filled again.
func (l *lane) resize(slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case slots <= 0:
	case slots < l.slots && l.claiming: // the claim under way may bring jobs for all of them
		l.fewer = slots
	default:
		l.slots, l.fewer = slots, 0
	}
}

// ended frees the slot of an attempt, before its result travels.
func (l *lane) ended(a *attempt, f job.Finish, now time.Time, report bool) {
	a.log.Close()
	l.mu.Lock()
	l.pace.Ended++
	if l.running--; l.running == 0 {
		l.pace.End(now)
	}
	l.mu.Unlock()
	l.count(+1)
	if !report {
		a.forget()
		l.life.release(a)
		return
	}
	a.report(f, now)
}

// handBack reports attempts that were not started.
func (l *lane) handBack(as []*attempt) {
	for _, a := range as {
		l.count(+1)
		a.log.Close()
		a.report(a.unstarted(), time.Now())
	}
}

func (l *lane) count(unsettled int) {
	l.mu.Lock()
	l.unsettled += unsettled
	low := !l.claiming && (l.once || l.room() > 0 && l.low())
	l.mu.Unlock()
	if low {
		signal(l.wake)
	}
}

// wants is how many jobs to claim now, and whether nothing is held in reserve.
func (l *lane) wants() (n int, spare bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.Update(time.Now())
	if l.fewer > 0 {
		l.slots, l.fewer = l.fewer, 0
	}
	if !l.low() || l.dry && l.free() == 0 {
		return 0, false
	}
	n = l.room()
	l.claiming = n > 0
	return n, len(l.reserve) == 0
}

// free is how many slots there are for jobs that arrive.
func (l *lane) free() int { return max(0, l.slots-l.running-len(l.reserve)) }

// beyond is how many of n jobs would have to wait if they arrived now.
func (l *lane) beyond(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, n-l.free())
}

// low reports that the reserve is half used up. Claiming earlier would only make claims smaller and more of them.
func (l *lane) low() bool { return len(l.reserve) <= l.prefetch()/2 }

// prefetch is the size of the reserve.
func (l *lane) prefetch() int {
	switch n := l.life.worker.options.Prefetch; {
	case n < 0 || l.once || !l.mayWait:
		return 0
	case n > 0:
		return n
	}
	return l.pace.Ahead()
}

// room is how many more jobs the lane can take. While results cannot be delivered it takes up to twice as many: what it
// holds stays bounded.
func (l *lane) room() int {
	held := l.running + len(l.reserve)
	most := l.slots + l.prefetch()
	return max(0, min(most-held, 2*most-held-l.unsettled, core.MaxBatch))
}

func (l *lane) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running + l.unsettled
}

// claim asks once.
func (l *lane) claim(ctx context.Context, want int, spare bool) (a answer) {
	idle := spare && l.held() == 0
	if l.bell != nil {
		a = l.listen(ctx, want)
		a.idle = idle
		return a
	}
	wait, beyond := l.life.worker.options.Poll, l.beyond(want)
	without, again, trying := l.life.worker.unwell.State()
	if trying {
		want, beyond = 1, min(beyond, 1)
	}
	if len(without) > 0 {
		wait = max(0, min(wait, time.Until(again)))
	}
	without = l.life.worker.full(without)
	if l.once || beyond == want { // with a slot that gets free meanwhile it would have to ask anew
		wait = 0
	}
	begun := time.Now()
	_, attempts, err := l.ask(ctx, job.ClaimRequest{Want: map[string]int{l.queue: want}, Ahead: l.ahead(beyond), Without: without, Wait: core.Duration(wait)})
	return answer{
		attempts: attempts, err: err, idle: idle, ahead: beyond == want,
		early: err == nil && len(attempts) == 0 && time.Since(begun) < wait,
	}
}

func (l *lane) ahead(n int) map[string]int {
	if n == 0 {
		return nil
	}
	return map[string]int{l.queue: n}
}

// ask is one call. Jobs that arrive are held by the life before any other part knows, so that the next renewal names them.
func (l *lane) ask(ctx context.Context, r job.ClaimRequest) (job.Claim, []*attempt, error) {
	wait := r.Wait.D()
	ctx, cancel := context.WithTimeout(ctx, wait+claimPatience)
	defer cancel()
	r.Session = l.life.session.ID
	begun := time.Now()
	c, err := l.life.worker.options.Broker.Claim(ctx, r)
	took := time.Since(begun)
	l.life.worker.options.Observer.Claimed(l.queue, len(c.Jobs), took, err)
	if err != nil {
		return c, nil, l.life.sawClaim(ctx, err)
	}
	_ = l.life.sawClaim(ctx, nil)
	return c, l.life.hold(l, c, took <= wait+claimPatience), nil
}
