package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stop ends one part of the node and waits for it.
type stop struct {
	name string
	fn   func(ctx context.Context) error
}

// onStop registers the function that ends a started part.
func (a *App) onStop(name string, fn func(ctx context.Context) error) {
	a.stops = append(a.stops, stop{name, fn})
}

// loop runs a part in a goroutine. If the part ends before Stop, the node
// fails.
func (a *App) loop(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() == nil {
			a.fail(fmt.Errorf("%s ended by itself: %w", name, errors.Join(err, errEnded)))
		}
	}()
	a.onStop(name, func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

var errEnded = errors.New("it must run for as long as the node does")

// fail reports the first part that failed.
func (a *App) fail(err error) {
	select {
	case a.fatal <- err:
	default: // an earlier failure already stops the node
	}
}

// stopSlack is the time limit of a stop beyond the grace for running jobs.
const stopSlack = 30 * time.Second

// Stop ends all started parts in reverse order, and waits for them: for running
// jobs up to the grace, and for all parts together up to 30 seconds more. After
// a Stop, Start refuses. A second Stop does nothing.
func (a *App) Stop(ctx context.Context) error {
	a.drainOnce.Do(func() { close(a.draining) })
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopLocked(ctx)
}

func (a *App) stopLocked(ctx context.Context) error {
	a.stopped = true
	ctx, cancel := context.WithTimeout(ctx, a.opt.Grace.D()+stopSlack)
	defer cancel()
	var errs []error
	for len(a.stops) > 0 {
		last := a.stops[len(a.stops)-1]
		a.stops = a.stops[:len(a.stops)-1]
		begun := time.Now()
		err := bounded(ctx, last.fn)
		a.log.Debug("stopped", "part", last.name, "took", time.Since(begun), "error", err)
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// bounded calls fn and waits for it no longer than ctx. If fn hangs, its
// goroutine goes on; the process is about to end.
func bounded(ctx context.Context, fn func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		select { // fn may have ended for the same reason
		case err := <-done:
			return err
		case <-time.After(time.Second):
			return fmt.Errorf("did not end in time: %w", ctx.Err())
		}
	}
}
