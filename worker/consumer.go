package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/broker"
	"github.com/belfry-run/belfry/worker/internal/pace"
)

// consumer serves one queue in one session. It claims jobs for its free slots, and a reserve for slots that will soon be free.
// It never waits for another consumer.
//
// Each claim states how many of its jobs would have to wait. If this process dies, these jobs are handed back and the
// others count as lost, because a job for a free slot begins at once. So a slot that was promised to a claim is not
// given to other jobs before the claim is answered.
//
// A runner is a goroutine that has a slot. After its attempt it takes the next one from the reserve. If the reserve is
// empty, it waits for the loop, which claims in parallel and is woken when the reserve runs low.
type consumer struct {
	session *session
	queue   string
	broker  Broker // delivers the tickets of jobs to claim; nil: the server chooses them
	once    bool   // return when nothing is ready
	wake    chan struct{}
	idle    chan *attempt // hands attempts to waiting runners
	closed  chan struct{} // closed when the loop has ended
	stop    func()        // ends claiming

	runners  sync.WaitGroup
	answers  *broker.Answers // to the broker
	receives patience.Outage // used by one claim at a time

	mu        sync.Mutex
	slots     int
	fewer     int // number of slots from the next claim on; 0: unchanged
	running   int
	waiting   int // runners that wait on idle
	unsettled int // ended attempts whose results the server has not answered
	claiming  bool
	reserve   []*attempt
	mayWait   bool // the last job that arrived may wait, so jobs like it can be claimed ahead
	dry       bool // no job could be claimed ahead: claim next when a slot is free
	pace      pace.Pace
}

// claimResult is the result of one claim.
type claimResult struct {
	attempts []*attempt
	err      error
	early    bool // empty, and came before the end of the wait
	ahead    bool // all requested jobs would have had to wait
	idle     bool // the consumer held nothing when it claimed
}

func newConsumer(s *session, queue string, slots int) *consumer {
	o := s.worker.options
	return &consumer{
		session: s, queue: queue, broker: o.Brokers[queue], slots: slots, wake: make(chan struct{}, 1), idle: make(chan *attempt), mayWait: true, pace: pace.New(),
		answers:  broker.New(o.Logger, queue, o.Brokers[queue]),
		receives: patience.Outage{Log: o.Logger, What: "broker of queue " + queue + " cannot be read"},
	}
}

// run serves until the context ends, or, if once is set, until no job is ready. It returns when every attempt has ended
// and its result was passed on for delivery.
func (c *consumer) run(ctx context.Context) error {
	c.closed, c.waiting = make(chan struct{}), 0
	defer c.runners.Wait()
	defer c.answers.Wait()
	defer c.close()
	answers := make(chan claimResult, 1)
	pause := pace.NewPause(c.session.worker.options.Poll)
	claiming, mayClaim := false, true
	defer func() {
		if claiming {
			c.handBack((<-answers).attempts)
		}
	}()
	for {
		if c.start() {
			runtime.Gosched() // let woken runners run first: the code below would hold them up on this core
		}
		draining := c.session.drain.Load()
		if mayClaim && !claiming && !draining {
			if want, spare := c.wantedJobs(); want > 0 {
				claiming = true
				go func() { answers <- c.claim(ctx, want, spare) }()
			}
		}
		if c.once && draining && !claiming {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.reserveOver():
		case <-c.wake:
			mayClaim = mayClaim || c.once
		case <-pause.Over():
			mayClaim = true
		case a := <-answers:
			claiming = false
			c.addClaimed(a)
			if c.once && (a.err != nil || len(a.attempts) == 0 && a.idle) {
				return a.err
			}
			mayClaim = pause.After(a.err, a.early) && !c.waitsForRunning(a)
		}
	}
}

// close ends waiting runners, and hands back the attempts that none of them took.
func (c *consumer) close() {
	c.mu.Lock()
	left := c.reserve
	c.reserve = nil
	c.mu.Unlock()
	close(c.closed)
	c.handBack(left)
}

// addClaimed puts the jobs of a claim into the reserve.
func (c *consumer) addClaimed(a claimResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claiming = false
	c.reserve = append(c.reserve, a.attempts...)
	if n := len(a.attempts); n > 0 {
		last := &a.attempts[n-1].run
		c.mayWait = !last.inTurn && last.Job.MayWait(last.Task.Retry)
	} else if a.err == nil {
		c.dry = a.ahead
	}
}

// waitsForRunning reports whether a consumer with once found no ready job but still runs jobs. It claims again when one ends.
func (c *consumer) waitsForRunning(a claimResult) bool {
	return c.once && len(a.attempts) == 0 && c.held() > 0
}

// reserveOver returns a channel that receives when the oldest job of the reserve has waited too long.
func (c *consumer) reserveOver() <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reserve) == 0 {
		return nil
	}
	return time.After(time.Until(c.reserve[0].run.Arrived.Add(reserveFor)))
}

// start gives attempts of the reserve to free slots, and reports whether there were any.
func (c *consumer) start() (any bool) {
	for ; ; any = true {
		a, waiting, unfit := c.takeAttempt(true)
		c.handBack(unfit)
		if a == nil {
			return any
		}
		if waiting {
			c.idle <- a
			continue
		}
		c.runners.Add(1)
		go c.serve(a)
	}
}

// takeAttempt moves an attempt of the reserve into a free slot, if there are both. It reports to the loop whether a runner waits
// for the attempt. A runner that gets none is counted as waiting. unfit are attempts that can no longer start; hand them back.
func (c *consumer) takeAttempt(loop bool) (a *attempt, waiting bool, unfit []*attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if a == nil && !loop {
			c.waiting++
		}
	}()
	for len(c.reserve) > 0 {
		first, now := c.reserve[0], time.Now()
		fit := first.stopCause() == nil && now.Sub(first.run.Arrived) < reserveFor && !c.session.worker.unwell.IsPaused(first.run.Job.Kind)
		if fit && c.running >= c.slots {
			return nil, false, unfit
		}
		c.reserve[0] = nil
		c.reserve = c.reserve[1:]
		if !fit {
			unfit = append(unfit, first)
			continue
		}
		if c.running++; c.running == 1 {
			c.pace.Begin(now)
		}
		if loop && c.waiting > 0 {
			c.waiting--
			return first, true, unfit
		}
		return first, false, unfit
	}
	return nil, false, unfit
}

// serve is a runner. It ends with the consumer, or with a handler that ends its goroutine. The consumer does not wait for a
// runner whose attempt was left behind.
func (c *consumer) serve(a *attempt) {
	s := newSlot(c.session.workCtx)
	defer func() {
		s.close()
		if a == nil || !a.leftBehind.Load() {
			c.runners.Done()
			signal(c.wake) // a slot may be free
		}
	}()
	for a != nil && a.execute(s, c.ended) {
		s.refresh()
		a = c.nextAttempt()
	}
}

// abandonRunner abandons a runner whose handler ignores the end of its context.
func (c *consumer) abandonRunner() {
	c.runners.Done()
	signal(c.wake)
}

// nextAttempt returns the next attempt of a runner, or nil when the consumer has ended.
func (c *consumer) nextAttempt() *attempt {
	a, _, unfit := c.takeAttempt(false)
	c.handBack(unfit)
	if a != nil {
		return a
	}
	signal(c.wake)
	select {
	case a = <-c.idle:
	case <-c.closed:
		select { // the loop may have sent an attempt before it ended
		case a = <-c.idle:
		default:
		}
	}
	return a
}

// reserveFor is how long a job may wait in the reserve before it is handed back to other workers. The server's deadline
// of the attempt counts from the claim, with an allowance of [job.DeadlineGrace].
const reserveFor = time.Duration(job.DeadlineGrace) / 2

// resize sets the number of slots that the server returned. Attempts beyond a smaller number go on; their slots are not
// filled again.
func (c *consumer) resize(slots int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case slots <= 0:
	case slots < c.slots && c.claiming: // the claim under way may bring jobs for all slots
		c.fewer = slots
	default:
		c.slots, c.fewer = slots, 0
	}
}

// ended frees the slot of an attempt, before its result is delivered.
func (c *consumer) ended(a *attempt, f job.Finish, now time.Time, report bool) {
	a.log.Close()
	c.mu.Lock()
	c.pace.Ended++
	if c.running--; c.running == 0 {
		c.pace.End(now)
	}
	c.mu.Unlock()
	c.countUnsettled(+1)
	if !report {
		a.removeSpooled()
		c.session.release(a)
		return
	}
	a.report(f, now)
}

// handBack reports attempts that were not started.
func (c *consumer) handBack(as []*attempt) {
	for _, a := range as {
		c.countUnsettled(+1)
		a.log.Close()
		a.report(a.unstartedResult(), time.Now())
	}
}

// countUnsettled changes the number of results without an answer, and wakes the loop if it may claim now.
func (c *consumer) countUnsettled(unsettled int) {
	c.mu.Lock()
	c.unsettled += unsettled
	low := !c.claiming && (c.once || c.capacity() > 0 && c.reserveLow())
	c.mu.Unlock()
	if low {
		signal(c.wake)
	}
}

// wantedJobs returns how many jobs to claim now, and whether the reserve is empty.
func (c *consumer) wantedJobs() (n int, spare bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.Update(time.Now())
	if c.fewer > 0 {
		c.slots, c.fewer = c.fewer, 0
	}
	if !c.reserveLow() || c.dry && c.free() == 0 {
		return 0, false
	}
	n = c.capacity()
	c.claiming = n > 0
	return n, len(c.reserve) == 0
}

// free returns how many slots are free for jobs that arrive.
func (c *consumer) free() int { return max(0, c.slots-c.running-len(c.reserve)) }

// waitingOf returns how many of n jobs would have to wait if they arrived now.
func (c *consumer) waitingOf(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, n-c.free())
}

// reserveLow reports whether half of the reserve is used. Claiming earlier would only make more and smaller claims.
func (c *consumer) reserveLow() bool { return len(c.reserve) <= c.prefetch()/2 }

// prefetch returns the size of the reserve.
func (c *consumer) prefetch() int {
	switch n := c.session.worker.options.Prefetch; {
	case n < 0 || c.once || !c.mayWait:
		return 0
	case n > 0:
		return n
	}
	return c.pace.Ahead()
}

// capacity returns how many more jobs the consumer can hold. While results cannot be delivered, the consumer holds at most
// twice as many jobs.
func (c *consumer) capacity() int {
	held := c.running + len(c.reserve)
	most := c.slots + c.prefetch()
	return max(0, min(most-held, 2*most-held-c.unsettled, core.MaxBatch))
}

func (c *consumer) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running + c.unsettled
}

// claim claims once.
func (c *consumer) claim(ctx context.Context, want int, spare bool) (a claimResult) {
	idle := spare && c.held() == 0
	if c.broker != nil {
		a = c.claimByTicket(ctx, want)
		a.idle = idle
		return a
	}
	wait, beyond := c.session.worker.options.Poll, c.waitingOf(want)
	without, again, trying := c.session.worker.unwell.State()
	if trying {
		want, beyond = 1, min(beyond, 1)
	}
	if len(without) > 0 {
		wait = max(0, min(wait, time.Until(again)))
	}
	without = c.session.worker.full(without)
	if c.once || beyond == want { // do not wait: a slot that becomes free meanwhile would need a new claim
		wait = 0
	}
	begun := time.Now()
	_, attempts, err := c.callClaim(ctx, job.ClaimRequest{Want: map[string]int{c.queue: want}, Ahead: c.ahead(beyond), Without: without, Wait: core.Duration(wait)})
	return claimResult{
		attempts: attempts, err: err, idle: idle, ahead: beyond == want,
		early: err == nil && len(attempts) == 0 && time.Since(begun) < wait,
	}
}

// ahead returns the field of a claim that states how many of its jobs would have to wait.
func (c *consumer) ahead(n int) map[string]int {
	if n == 0 {
		return nil
	}
	return map[string]int{c.queue: n}
}

// callClaim makes one call. The session holds arriving jobs before any other code sees them, so that the next renewal names them.
func (c *consumer) callClaim(ctx context.Context, r job.ClaimRequest) (job.Claim, []*attempt, error) {
	wait := r.Wait.D()
	ctx, cancel := context.WithTimeout(ctx, wait+claimPatience)
	defer cancel()
	r.Session = c.session.info.ID
	begun := time.Now()
	claim, err := c.session.worker.options.Leaser.Claim(ctx, r)
	took := time.Since(begun)
	c.session.worker.options.Observer.Claimed(c.queue, len(claim.Jobs), took, err)
	if err != nil {
		return claim, nil, c.session.recordClaim(ctx, err)
	}
	_ = c.session.recordClaim(ctx, nil)
	return claim, c.session.holdJobs(c, claim, took <= wait+claimPatience), nil
}
