package worker

import (
	"context"
	"maps"
	"slices"
)

// Serve changes which queues the worker serves, each with its number of jobs at the same time, as [Options.Queues] has
// it. A running worker keeps its session: it begins with new queues when the broker has answered, and claims nothing
// more of queues that are left out, whose running jobs go on. It fails with [core.Invalid] and changes nothing for a
// wrong name or number, and for none.
func (w *Worker) Serve(queues map[string]int) error {
	o := w.options
	o.Queues = maps.Clone(queues)
	if err := o.validateQueues(); err != nil {
		return err
	}
	w.served.Set(o.Queues)
	return nil
}

// follow has a lane for each queue that is served and that the broker knows, and ends those of other queues. It does
// nothing before the lanes run, and after.
func (l *life) follow(slots map[string]int) {
	queues, other := l.worker.served.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil || l.running.Err() != nil {
		return
	}
	l.lanes = slices.DeleteFunc(l.lanes, func(lane *lane) bool {
		_, wanted := queues[lane.queue]
		if !wanted && other {
			l.worker.log.Info("queue is no longer served", "queue", lane.queue)
			lane.stop()
		}
		return !wanted && other
	})
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		n, known := slots[queue]
		if !known || slices.ContainsFunc(l.lanes, func(lane *lane) bool { return lane.queue == queue }) {
			continue
		}
		l.worker.log.Info("queue is served from now on", "queue", queue)
		lane := newLane(l, queue, slotsOf(n))
		l.lanes = append(l.lanes, lane)
		l.start(lane)
	}
}

// start runs a lane. It is called under the lock, while the lanes run.
func (l *life) start(lane *lane) {
	ctx, stop := context.WithCancel(l.running)
	lane.stop = stop
	l.serving.Go(func() {
		defer stop()
		_ = lane.run(ctx) // only a lane that runs once fails
	})
}

// serveLanes runs a lane for each queue until the context ends. Which these are may change meanwhile.
func (l *life) serveLanes(ctx context.Context) {
	l.mu.Lock()
	l.running = ctx
	for _, lane := range l.lanes {
		l.start(lane)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock() // a later start sees that it is over
	l.running = nil
	l.mu.Unlock()
	l.serving.Wait()
}

// allLanes is those that are served at this moment.
func (l *life) allLanes() []*lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lanes)
}
