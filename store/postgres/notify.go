package postgres

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/store/base"
)

// How long announcements gather after one was sent. NOTIFY takes a lock of the
// whole database, until its transaction is committed and flushed, so a busy node
// sends it once for many and from a transaction that has nothing else to flush.
// An idle one sends it with the transition that it is about, see
// [transition.Announce], which saves who waits for the job a journey.
const (
	settle = 2 * time.Millisecond
	// settleSlow is the same for what no job waits for, [base.CanGather]. A busy
	// node has such news with each of its calls.
	settleSlow = 25 * time.Millisecond
)

const notifySQL = "select pg_notify($1, $2)"

// notifier announces and hears by NOTIFY.
type notifier struct {
	pool    *pgxpool.Pool
	channel string // of all nodes that share a schema, and its name
	log     *slog.Logger

	mu      sync.Mutex
	pending map[string]bool
	kick    chan struct{}
	slow    chan struct{} // kick, for what can wait
	along   time.Time     // when a transition may carry the next
}

func newNotifier(pool *pgxpool.Pool, channel string, log *slog.Logger) *notifier {
	return &notifier{pool: pool, channel: channel, log: log, pending: map[string]bool{}, kick: make(chan struct{}, 1), slow: make(chan struct{}, 1)}
}

func (n *notifier) Mode() string { return "notify" }

// Announce only notes the topics; Run sends them.
func (n *notifier) Announce(topics ...string) {
	if len(topics) == 0 {
		return
	}
	kick := n.slow
	n.mu.Lock()
	for _, t := range topics {
		n.pending[t] = true
		if hasty(t) {
			kick = n.kick
		}
	}
	n.mu.Unlock()
	select {
	case kick <- struct{}{}:
	default:
	}
}

// hasty reports that a job may wait for a topic.
func hasty(topic string) bool { return !base.CanGather(topic) }

// Run sends and hears until ctx ends.
func (n *notifier) Run(ctx context.Context, heard func(string)) error {
	var sender sync.WaitGroup
	sender.Go(func() { n.send(ctx) })
	defer sender.Wait()
	away := false // said once, or a night without the database would be a line a second
	for ctx.Err() == nil {
		err := n.listen(ctx, func() {
			if away {
				n.log.Info("wake-ups are back")
			}
			away = false
		}, heard)
		if err != nil && ctx.Err() == nil && !away {
			n.log.Warn("wake-ups interrupted, polling until they are back", "error", err)
			away = true
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
			if _, err := n.pool.Exec(ctx, notifySQL, n.channel, topics); err != nil && ctx.Err() == nil {
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

// alongShare is the part of its time, as one in so many, in which a node may hold
// NOTIFY's lock for longer than it has to. A commit that waits for others that
// hold it counts with its wait, so many nodes get out of each other's way.
const alongShare = 5

// mayGoAlong reports that a transition may carry announcements.
func (n *notifier) mayGoAlong(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !now.Before(n.along)
}

// wentAlong is told how long the commit of a transition with announcements took.
func (n *notifier) wentAlong(now time.Time, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.along = now.Add(alongShare * took)
}

// maxPayload is below the 8000 bytes that NOTIFY can carry. A longer payload
// is sent as "look at everything".
const maxPayload = 7000

func (n *notifier) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	topics := slices.Collect(maps.Keys(n.pending))
	clear(n.pending)
	return payload(topics)
}

func payload(topics []string) string {
	if all := strings.Join(topics, "\n"); len(all) <= maxPayload {
		return all
	}
	return "*"
}

// listen hears until its connection breaks. It calls begun once it hears.
func (n *notifier) listen(ctx context.Context, begun func(), heard func(string)) error {
	conn, err := n.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	raw := conn.Hijack() // one that listens, or may, never goes back to the pool
	defer n.discard(ctx, raw)
	if _, err := raw.Exec(ctx, "listen "+n.channel); err != nil {
		return err
	}
	begun()
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

// discard closes a connection, and does not wait for a server that is away.
func (n *notifier) discard(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// poller hears nothing.
type poller struct{}

func (poller) Mode() string       { return "poll" }
func (poller) Announce(...string) {}
func (poller) Run(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}
