package worker

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// slot runs attempts, one after the other. Above their contexts is one that they
// share until it is canceled, and so is a timer: made anew for each attempt, these
// were half of what a short one cost.
type slot struct {
	parent context.Context
	ctx    context.Context // above those of attempts
	cancel context.CancelCauseFunc
	timer  *time.Timer // for leaving
	unwait func() bool // for the end of ctx

	mu       sync.Mutex
	attempt  *attemptContext
	leave    func()    // the attempt that runs behind
	leaveAt  time.Time // when it is time
	rings    time.Time // when the timer does, or has; zero: it is not set
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

// refresh makes the slot fit for the next attempt when the one before was
// canceled. Nothing else holds the slot then.
func (s *slot) refresh() {
	if s.ctx.Err() != nil {
		s.open()
	}
}

// close gives up what the slot holds. It is not needed if the parent ends.
func (s *slot) close() {
	s.unwait()
	s.timer.Stop()
	s.cancel(nil)
}

// execute runs one attempt in this goroutine and answers once: what came of it
// and why its context ended, or, when that has ended and patience after that has
// passed, that the attempt was left behind. It returns when the executor does,
// and says whether it was in time; one that was not gave its own answer to late,
// and its slot is of no more use.
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
	if s.ctx.Err() != nil { // before there was anybody to hurry
		s.hurry(s.ctx)
	}
}

// overtime gives an attempt another time from now on, if it has not ended. Whatever else ends it still does.
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
	if s.attempt == ctx && ctx.parent.Err() == nil { // else its patience has begun
		s.leaveAt = now.Add(d + s.patience)
		s.set()
	}
	return context.WithTimeout(context.WithValue(ctx.parent, runKey{}, ctx.run), d)
}

// end reports that the attempt was not left behind.
func (s *slot) end() (inTime bool) {
	s.mu.Lock()
	inTime = s.leave != nil
	s.attempt, s.leave = nil, nil
	s.mu.Unlock()
	return inTime
}

// set sees to it that the timer rings when it is time, or earlier: it stays set
// over the attempts of which none is left behind.
func (s *slot) set() {
	if s.rings.IsZero() || s.leaveAt.Before(s.rings) {
		s.rings = s.leaveAt
		s.timer.Reset(time.Until(s.leaveAt))
	}
}

// hurry is called when a context has ended before its attempt's time. That may
// have been the attempt before, by now.
func (s *slot) hurry(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != ctx || s.leave == nil {
		return
	}
	_ = s.attempt.real() // which keeps what was first: this end, or its time
	if at := time.Now().Add(s.patience); at.Before(s.leaveAt) {
		s.leaveAt = at
		s.set()
	}
}

// overdue leaves the attempt behind, if the timer has not rung for one before.
func (s *slot) overdue() {
	s.mu.Lock()
	s.rings = time.Time{}
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
