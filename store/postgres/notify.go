package postgres

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/store"
)

// channel is the one NOTIFY channel of all nodes.
const channel = "belfry"

// How long announcements gather after one was sent. NOTIFY takes a lock of the
// whole database at its commit, so a busy node sends it once for many, an idle
// one at once, and nobody from inside a transition.
const (
	settle = 2 * time.Millisecond
	// settleSlow is the same for what no job waits for, [store.CanGather]. A busy
	// node has such news with each of its calls.
	settleSlow = 25 * time.Millisecond
)

// notifier announces and hears by NOTIFY.
type notifier struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	mu      sync.Mutex
	pending map[string]bool
	kick    chan struct{}
	slow    chan struct{} // kick, for what can wait
}

func newNotifier(pool *pgxpool.Pool, log *slog.Logger) *notifier {
	return &notifier{pool: pool, log: log, pending: map[string]bool{}, kick: make(chan struct{}, 1), slow: make(chan struct{}, 1)}
}

func (n *notifier) Mode() string { return "notify" }

// Announce only notes the topics; Run sends them.
func (n *notifier) Announce(topics ...string) {
	kick := n.slow
	n.mu.Lock()
	for _, t := range topics {
		n.pending[t] = true
		if !store.CanGather(t) {
			kick = n.kick
		}
	}
	n.mu.Unlock()
	select {
	case kick <- struct{}{}:
	default:
	}
}

// Run sends and hears until ctx ends.
func (n *notifier) Run(ctx context.Context, heard func(string)) error {
	var sender sync.WaitGroup
	sender.Go(func() { n.send(ctx) })
	defer sender.Wait()
	for ctx.Err() == nil {
		if err := n.listen(ctx, heard); err != nil && ctx.Err() == nil {
			n.log.Warn("wake-ups interrupted, polling meanwhile", "error", err)
		}
		heard("")
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

func (n *notifier) send(ctx context.Context) {
	var settled time.Time // when what is watched may be sent again
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.kick:
		case <-n.slow:
			select {
			case <-ctx.Done():
				return
			case <-n.kick:
			case <-time.After(time.Until(settled)):
			}
		}
		if topics := n.take(); topics != "" {
			if _, err := n.pool.Exec(ctx, "select pg_notify($1, $2)", channel, topics); err != nil && ctx.Err() == nil {
				n.log.Debug("wake-up not sent, others will poll", "error", err)
			}
			settled = time.Now().Add(settleSlow)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

// maxPayload is below the 8000 bytes that NOTIFY can carry. What does not fit
// is said as "look at everything".
const maxPayload = 7000

func (n *notifier) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	topics := make([]string, 0, len(n.pending))
	size := 0
	for t := range n.pending {
		topics = append(topics, t)
		size += len(t) + 1
	}
	clear(n.pending)
	if size > maxPayload {
		return "*"
	}
	return strings.Join(topics, "\n")
}

func (n *notifier) listen(ctx context.Context, heard func(string)) error {
	conn, err := n.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return err
	}
	// A released connection must not go on listening in the pool.
	raw := conn.Hijack()
	defer raw.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is going away
	heard("")
	for {
		msg, err := raw.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		for topic := range strings.SplitSeq(msg.Payload, "\n") {
			if topic == "*" {
				topic = ""
			}
			heard(topic)
		}
	}
}

// poller hears nothing.
type poller struct{}

func (poller) Mode() string       { return "poll" }
func (poller) Announce(...string) {}
func (poller) Run(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}
