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

// Delays in which announcements gather after one was sent. NOTIFY takes a lock on the whole database until its transaction is
// committed and flushed. So a busy node sends one NOTIFY for many announcements, from a transaction that has nothing else to
// flush. An idle node sends it with the transition itself, see [transition.Announce]. That saves the waiting workers a round
// trip.
const (
	settle = 2 * time.Millisecond
	// settleSlow is the delay for topics that no job waits for, [base.CanGather]. A busy node has such topics with each call.
	settleSlow = 25 * time.Millisecond
)

const notifySQL = "select pg_notify($1, $2)"

// notifier sends and receives announcements by NOTIFY.
type notifier struct {
	pool    *pgxpool.Pool
	channel string // shared by all nodes of a schema, and named after it
	log     *slog.Logger

	mu      sync.Mutex
	pending map[string]bool
	kick    chan struct{}
	slow    chan struct{} // like kick, for topics that can wait
	along   time.Time     // earliest time for the next transition that carries announcements
}

func newNotifier(pool *pgxpool.Pool, channel string, log *slog.Logger) *notifier {
	return &notifier{pool: pool, channel: channel, log: log, pending: map[string]bool{}, kick: make(chan struct{}, 1), slow: make(chan struct{}, 1)}
}

func (n *notifier) Mode() string { return "notify" }

// Announce only records the topics; Run sends them.
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

// Run sends and receives until ctx ends.
func (n *notifier) Run(ctx context.Context, heard func(string)) error {
	var sender sync.WaitGroup
	sender.Go(func() { n.send(ctx) })
	defer sender.Wait()
	away := false // logged once: otherwise a night without the database would log a line a second
	for ctx.Err() == nil {
		err := n.listen(ctx, func() {
			if away {
				n.log.Info("wake-ups work again")
			}
			away = false
		}, heard)
		if err != nil && ctx.Err() == nil && !away {
			n.log.Warn("wake-ups interrupted, polling until they work again", "error", err)
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
	var settled time.Time // earliest time for the next slow topics
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
				n.log.Debug("wake-up not sent, other nodes will poll", "error", err)
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

// alongShare is the inverse of the share of time in which a node may hold NOTIFY's lock longer than needed. The wait of a
// commit for other holders counts too, so many nodes avoid each other.
const alongShare = 5

// mayGoAlong reports that a transition may carry announcements.
func (n *notifier) mayGoAlong(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !now.Before(n.along)
}

// wentAlong records how long the commit of a transition with announcements took.
func (n *notifier) wentAlong(now time.Time, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.along = now.Add(alongShare * took)
}

// maxPayload is below the 8000 bytes that NOTIFY can carry. A longer payload is sent as "look at everything".
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

// listen receives until its connection breaks. It calls begun once it receives.
func (n *notifier) listen(ctx context.Context, begun func(), heard func(string)) error {
	conn, err := n.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	raw := conn.Hijack() // a connection that listens, or may listen, never goes back to the pool
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

// discard closes a connection, and does not wait for an unreachable server.
func (n *notifier) discard(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// poller receives nothing.
type poller struct{}

func (poller) Mode() string       { return "poll" }
func (poller) Announce(...string) {}
func (poller) Run(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}
