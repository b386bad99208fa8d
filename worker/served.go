package worker

import (
	"context"
	"maps"
	"slices"
)

// Serve replaces the queues that the worker serves: see [Options.Queues]. A running worker keeps its session. It serves
// new queues when the server has answered, and claims no more from removed queues, whose running jobs go on. If a name
// or number is invalid, or queues is empty, Serve fails with [core.Invalid] and changes nothing.
func (w *Worker) Serve(queues map[string]int) error {
	o := w.options
	o.Queues = maps.Clone(queues)
	if err := o.validateQueues(); err != nil {
		return err
	}
	w.served.Set(o.Queues)
	return nil
}

// updateConsumers starts a consumer for each served queue that the server knows, and ends the consumers of other queues. It does nothing
// before and after the consumers run.
func (s *session) updateConsumers(slots map[string]int) {
	queues, other := s.worker.served.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.running.Err() != nil {
		return
	}
	s.consumers = slices.DeleteFunc(s.consumers, func(consumer *consumer) bool {
		_, wanted := queues[consumer.queue]
		if !wanted && other {
			s.worker.log.Info("queue is no longer served", "queue", consumer.queue)
			consumer.stop()
		}
		return !wanted && other
	})
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		n, known := slots[queue]
		if !known || slices.ContainsFunc(s.consumers, func(consumer *consumer) bool { return consumer.queue == queue }) {
			continue
		}
		s.worker.log.Info("queue is served from now on", "queue", queue)
		consumer := newConsumer(s, queue, slotsOf(n))
		s.consumers = append(s.consumers, consumer)
		s.start(consumer)
	}
}

// start runs a consumer. Call it under the lock, while the consumers run.
func (s *session) start(consumer *consumer) {
	ctx, stop := context.WithCancel(s.running)
	consumer.stop = stop
	s.serving.Go(func() {
		defer stop()
		_ = consumer.run(ctx) // only a consumer with once set fails
	})
}

// serveQueues runs a consumer for each queue until the context ends. The queues may change meanwhile.
func (s *session) serveQueues(ctx context.Context) {
	s.mu.Lock()
	s.running = ctx
	for _, consumer := range s.consumers {
		s.start(consumer)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock() // so that a later start sees the end
	s.running = nil
	s.mu.Unlock()
	s.serving.Wait()
}

// allConsumers returns the current consumers.
func (s *session) allConsumers() []*consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.consumers)
}
