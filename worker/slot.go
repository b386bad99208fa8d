package worker

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// slot runs attempts, one after the other. They share a parent context until it
// is canceled, and a timer: creating both for each attempt was half the cost of a
// short attempt.
type slot struct {
	parent context.Context
	ctx    context.Context // parent of the contexts of attempts
	cancel context.CancelCauseFunc
	timer  *time.Timer // calls overdue
	unwait func() bool // stops the wait for the end of ctx

	mu       sync.Mutex
	attempt  *attemptContext
	leave    func()    // leaves the running attempt behind
	leaveAt  time.Time // when to leave it behind
	firesAt  time.Time // when the timer fires or has fired; zero: it is not set
	patience time.Duration
}

func newSlot(parent context.Context) *slot {
	s := &slot{parent: parent}
	s.timer = time.AfterFunc(time.Hour, s.overdue)
	s.timer.Stop()
	s.open()
	return s
}

func (s *slot) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(s.parent)
	s.ctx, s.cancel = ctx, cancel
	s.unwait = context.AfterFunc(ctx, func() { s.hurry(ctx) })
}

// refresh renews the parent context if the previous attempt was canceled. No
// attempt may be using the slot.
func (s *slot) refresh() {
	if s.ctx.Err() != nil {
		s.open()
	}
}

// close releases the context and timer. It is not needed if the parent ends.
func (s *slot) close() {
	s.unwait()
	s.timer.Stop()
	s.cancel(nil)
}

// execute runs one attempt in this goroutine and calls answer once, with the
// result and the cause that ended its context. If the executor still runs when
// patience has passed after that end, the answer is that the attempt was left
// behind. execute returns when the executor does, and reports whether that was in
// time. If not, the actual result goes to late, and the slot must not be reused.
func (s *slot) execute(ex Executor, r *Run, now time.Time, patience time.Duration, answer func(f job.Finish, cause error, now time.Time, left bool), late func(job.Finish)) (inTime bool) {
	ctx := &attemptContext{parent: s.ctx, deadline: now.Add(r.Timeout()), run: r}
	defer ctx.end()
	r.overtime = func(d time.Duration) (context.Context, context.CancelFunc) { return s.overtime(ctx, d) }
	s.begin(ctx, patience, func() {
		now := time.Now()
		answer(r.Failed("did not stop within %s of being told to, and was left behind", core.Duration(patience)), ctx.cause(now), now, true)
	})
	runGuarded(ctx, ex, r, func(f job.Finish) {
		if inTime = s.end(); inTime {
			now := time.Now()
			answer(f, ctx.cause(now), now, false)
		} else {
			late(f)
		}
	})
	return inTime
}

func (s *slot) begin(ctx *attemptContext, patience time.Duration, leave func()) {
	s.mu.Lock()
	s.attempt, s.leave, s.patience, s.leaveAt = ctx, leave, patience, ctx.deadline.Add(patience)
	s.set()
	s.mu.Unlock()
	if s.ctx.Err() != nil { // ended before hurry had an attempt
		s.hurry(s.ctx)
	}
}

// overtime replaces the timeout of an attempt by d from now, if it has not ended. All other causes still end it.
func (s *slot) overtime(ctx *attemptContext, d time.Duration) (context.Context, context.CancelFunc) {
	now := time.Now()
	if ctx.cause(now) != nil {
		return context.WithCancel(ctx)
	}
	ctx.mu.Lock()
	ctx.past = true
	ctx.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt == ctx && ctx.parent.Err() == nil { // otherwise its patience has begun
		s.leaveAt = now.Add(d + s.patience)
		s.set()
	}
	return context.WithTimeout(context.WithValue(ctx.parent, runKey{}, ctx.run), d)
}

// end ends the attempt and reports whether it was in time, so not left behind.
func (s *slot) end() (inTime bool) {
	s.mu.Lock()
	inTime = s.leave != nil
	s.attempt, s.leave = nil, nil
	s.mu.Unlock()
	return inTime
}

// set makes the timer fire at leaveAt or earlier. It stays set across attempts
// that end in time.
func (s *slot) set() {
	if s.firesAt.IsZero() || s.leaveAt.Before(s.firesAt) {
		s.firesAt = s.leaveAt
		s.timer.Reset(time.Until(s.leaveAt))
	}
}

// hurry starts the patience when a context has ended before the timeout of its
// attempt. By now it may be the context of the previous attempt.
func (s *slot) hurry(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != ctx || s.leave == nil {
		return
	}
	_ = s.attempt.real() // records which came first: this end or the timeout
	if at := time.Now().Add(s.patience); at.Before(s.leaveAt) {
		s.leaveAt = at
		s.set()
	}
}

// overdue leaves the attempt behind, unless the timer fired for an earlier attempt.
func (s *slot) overdue() {
	s.mu.Lock()
	s.firesAt = time.Time{}
	leave := s.leave
	switch {
	case leave == nil:
	case time.Now().Before(s.leaveAt):
		leave = nil
		s.set()
	default:
		s.attempt, s.leave = nil, nil
	}
	s.mu.Unlock()
	if leave != nil {
		leave()
	}
}
