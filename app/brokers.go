package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/app/transport/nats"
	"github.com/belfry-run/belfry/app/transport/sqs"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Brokers are the brokers of a configuration, by queue.
type Brokers map[string]transport.Carrier

// OpenBrokers opens the brokers of those queues that have one. It does not
// contact the brokers: see [Brokers.Check].
func OpenBrokers(ctx context.Context, c config.Config, queues []string, logger *slog.Logger) (Brokers, error) {
	open := Brokers{}
	for _, queue := range slices.Sorted(slices.Values(queues)) {
		if c.Brokers[queue] == "" {
			continue
		}
		carrier, err := openBroker(ctx, c.Brokers[queue], c.NodeName(), logger.With("queue", queue))
		if err != nil {
			return nil, errors.Join(ofQueue(queue, err), open.Close())
		}
		open[queue] = carrier
	}
	return open, nil
}

func openBroker(ctx context.Context, address, name string, logger *slog.Logger) (transport.Carrier, error) {
	if strings.HasPrefix(address, "sqs:") {
		place, err := sqs.Parse(address)
		if err != nil {
			return nil, err
		}
		q, err := sqs.Open(ctx, place, sqs.Options{Logger: logger})
		if err != nil {
			return nil, err
		}
		return q, nil
	}
	place, err := nats.Parse(address)
	if err != nil {
		return nil, err
	}
	s, err := nats.Open(place, nats.Options{Name: "belfry " + name, Logger: logger})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// checkBrokers parses the addresses, so that a wrong one is refused before any
// broker is opened.
func checkBrokers(c config.Config) error {
	for _, queue := range slices.Sorted(maps.Keys(c.Brokers)) {
		var err error
		if strings.HasPrefix(c.Brokers[queue], "sqs:") {
			_, err = sqs.Parse(c.Brokers[queue])
		} else {
			_, err = nats.Parse(c.Brokers[queue])
		}
		if err != nil {
			return ofQueue(queue, err)
		}
	}
	return nil
}

// ofQueue adds the configuration entry of the queue to an error.
func ofQueue(queue string, err error) error {
	var refused *core.Error
	if errors.As(err, &refused) {
		for i := range refused.Fields {
			refused.Fields[i].Field = "brokers." + queue
		}
	}
	return err
}

// Time limits for the check of one broker, and of all together. A start waits
// for the checks.
const (
	brokerWait  = 5 * time.Second
	brokersWait = 30 * time.Second
)

// Check returns faults that the operator must mend. A broker that cannot be
// reached is only logged, because it may come back.
func (b Brokers) Check(ctx context.Context, logger *slog.Logger) error {
	return b.each(ctx, func(ctx context.Context, queue string, c transport.Carrier) error {
		err := checkSoon(ctx, c)
		if err != nil && core.CodeOf(err) != core.Invalid {
			logger.Warn("broker does not answer yet", "queue", queue, "error", err)
			return nil
		}
		return err
	})
}

// Verify is [Brokers.Check], but a broker that cannot be reached is an error.
func (b Brokers) Verify(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, _ string, c transport.Carrier) error { return checkSoon(ctx, c) })
}

// Setup creates missing resources at the brokers, and verifies the result.
func (b Brokers) Setup(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, _ string, c transport.Carrier) error {
		_ = checkSoon(ctx, c) // waits for the connection; Setup creates missing resources
		if err := c.Setup(ctx); err != nil {
			return err
		}
		return c.Check(ctx)
	})
}

// each stops at the first fault.
func (b Brokers) each(ctx context.Context, do func(ctx context.Context, queue string, c transport.Carrier) error) error {
	ctx, cancel := context.WithTimeout(ctx, brokersWait)
	defer cancel()
	for _, queue := range slices.Sorted(maps.Keys(b)) {
		if err := do(ctx, queue, b[queue]); err != nil {
			return err
		}
	}
	return nil
}

// checkSoon checks a broker, and gives a new client time to connect.
func checkSoon(ctx context.Context, c transport.Carrier) error {
	ctx, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	for last := error(nil); ; sleep(ctx, 200*time.Millisecond) {
		err := c.Check(ctx)
		if ctx.Err() != nil && last != nil {
			return last // says more than the error of the context
		}
		if err == nil || core.CodeOf(err) == core.Invalid || ctx.Err() != nil {
			return err
		}
		last = err
	}
}

// Close closes all brokers.
func (b Brokers) Close() error {
	var errs []error
	for _, c := range b {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// ofWorkers returns the brokers as workers need them.
func (b Brokers) ofWorkers() map[string]worker.Broker {
	out := map[string]worker.Broker{}
	for queue, c := range b {
		out[queue] = c
	}
	return out
}

var _ transport.Store = (*store.Store)(nil)

// startDispatchers starts the loops that send tickets to the brokers of queues.
func (a *App) startDispatchers(ctx context.Context) error {
	if !a.opt.Has(config.RoleEngine) || len(a.opt.Brokers) == 0 {
		return nil
	}
	numbers := newTicketNumbers(new(catalogue))
	if err := numbers.register(a.opt.Registry); err != nil {
		return err
	}
	brokers, err := OpenBrokers(ctx, a.opt.Config, slices.Collect(maps.Keys(a.opt.Brokers)), a.log)
	if err != nil {
		return err
	}
	a.onStop("brokers", func(context.Context) error { return brokers.Close() })
	if err := brokers.Check(ctx, a.log); err != nil {
		return err
	}
	for queue, carrier := range brokers {
		numbers.start(queue)
		r := transport.Dispatcher{Queue: queue, Store: a.store, Publisher: carrier, Observer: numbers, Logger: a.log}
		a.loop("dispatcher of queue "+queue, r.Run)
	}
	return nil
}

// ticketNumbers counts tickets.
type ticketNumbers struct {
	published *prometheus.CounterVec
	failed    *prometheus.CounterVec
	took      *prometheus.HistogramVec
}

func newTicketNumbers(c *catalogue) *ticketNumbers {
	return &ticketNumbers{
		published: c.counter("belfry_tickets_published_total", "Tickets that the broker of a queue has taken.", "queue"),
		failed:    c.counter("belfry_broker_errors_total", "Times that the broker of a queue did not take all tickets.", "queue"),
		took:      c.histogram("belfry_publish_seconds", "How long it took to publish a batch of tickets.", fast, "queue"),
	}
}

func (b *ticketNumbers) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{b.published, b.failed, b.took} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// start creates the counters of a queue at zero, so that an alert on their
// increase sees the first ticket.
func (b *ticketNumbers) start(queue string) {
	b.published.WithLabelValues(queue)
	b.failed.WithLabelValues(queue)
}

func (b *ticketNumbers) Published(queue string, tickets int, took time.Duration, err error) {
	b.published.WithLabelValues(queue).Add(float64(tickets))
	b.took.WithLabelValues(queue).Observe(took.Seconds())
	if err != nil {
		b.failed.WithLabelValues(queue).Inc()
	}
}
