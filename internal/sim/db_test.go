package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// label names a call in the trace and at the gate.
type labelKey struct{}

func label(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, labelKey{}, text)
}

func labelOf(ctx context.Context) string {
	if text, ok := ctx.Value(labelKey{}).(string); ok {
		return text
	}
	return "?"
}

// nodeDB is the connection of one node to the database, through a network that may lose requests and answers. It fails after
// the end of the node.
type nodeDB struct {
	base.DB
	life *life
}

func (d *nodeDB) Write(ctx context.Context, fn func(base.Tx, base.Moment) error) error {
	l, w := d.life, d.life.node.world
	return l.call(ctx, true, func(fails bool) (int, error) {
		var tx *txn
		err := d.DB.Write(context.Background(), func(under base.Tx, at base.Moment) error {
			at.Woke = nil // calls do not share a transaction, so that each passes the gate
			tx = &txn{Tx: under, world: w}
			if fails {
				tx.left = 1 + int(w.draw("statement")%12)
			}
			if err := fn(tx, at); err != nil {
				return err
			}
			if tx.left > 0 {
				return errFull
			}
			if w.plant.forgets(w, tx) {
				return errForgotten
			}
			return nil
		})
		if errors.Is(err, errForgotten) {
			err = nil
		}
		if tx == nil {
			return 0, err
		}
		return tx.done, err
	})
}

func (d *nodeDB) Read(ctx context.Context, fn func(base.Tx) error) error {
	return d.life.call(ctx, false, func(bool) (int, error) {
		return 0, d.DB.Read(context.Background(), func(under base.Tx) error {
			if d.life.node.world.plant != nil {
				under = &txn{Tx: under, world: d.life.node.world}
			}
			return fn(under)
		})
	})
}

func (d *nodeDB) Prune(ctx context.Context, k base.Keep) (more bool, err error) {
	err = d.life.call(ctx, true, func(bool) (int, error) {
		more, err = d.DB.Prune(context.Background(), k)
		return 0, err
	})
	return more, err
}

func (d *nodeDB) Close() error { return nil } // other nodes use it

func (d *nodeDB) Wakeups() base.Wakeups { return &wakeups{life: d.life} }

var errFull = core.Errorf(core.Unavailable, "the disk is full")

// txn counts statements and fails at a chosen one, like a full disk.
type txn struct {
	base.Tx
	world *world
	done  int
	left  int // statements until it fails; 0: it does not fail
}

func (t *txn) step() error {
	t.done++
	if t.left == 1 {
		return errFull
	}
	if t.left > 1 {
		t.left--
	}
	return nil
}

func (t *txn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := t.step(); err != nil {
		return 0, err
	}
	sql = t.world.plant.statement(sql)
	return t.Tx.Exec(ctx, sql, args...)
}

func (t *txn) Query(ctx context.Context, sql string, args ...any) (base.Rows, error) {
	if err := t.step(); err != nil {
		return nil, err
	}
	sql = t.world.plant.statement(sql)
	return t.Tx.Query(ctx, sql, args...)
}

// call makes one transaction: the request travels, passes the gate, and the answer travels back.
func (l *life) call(ctx context.Context, write bool, do func(fails bool) (int, error)) error {
	w, what := l.node.world, l.node.name+" "+labelOf(ctx)
	if l.ended() {
		return errDead
	}
	f := l.node.trouble(w)
	if err := sleep(ctx, l.dead, w.travel(what, f)); err != nil {
		return err
	}
	if f.cut || f.lossy && w.chance(8, "lose request "+what) {
		if err := sleep(ctx, l.dead, time.Duration(w.draw("notice "+what)%uint64(10*time.Second))); err != nil {
			return err
		}
		return errAway
	}
	leave, err := w.gate.enter(ctx, l.dead, what)
	if err != nil {
		return err
	}
	if l.ended() {
		leave()
		return errDead
	}
	if l.doom(beforeCommit) {
		w.trace("%s: crashes before it", what)
		l.kill()
		leave()
		return errDead
	}
	fails := write && f.full && w.chance(3, "full "+what)
	statements, err := do(fails)
	w.trace("%s: %d statements, %s", what, statements, verdict(err))
	dies := l.doom(afterCommit)
	if dies {
		w.trace("%s: crashes after it", what)
		l.kill()
	}
	leave()
	if dies {
		return errDead
	}
	if write && err == nil && f.lossy && w.chance(8, "lose answer "+what) {
		if sleep(ctx, l.dead, time.Duration(w.draw("silence "+what)%uint64(10*time.Second))) != nil && l.ended() {
			return errDead
		}
		return base.OutcomeUnknown(errAway)
	}
	return err
}

func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	return string(core.CodeOf(err))
}

// travel returns how long a request is under way. It is never a round number, so that the consequences of different calls
// do not coincide.
func (w *world) travel(what string, f trouble) time.Duration {
	d := 20*time.Microsecond + time.Duration(w.draw("travel "+what)%uint64(400*time.Microsecond))
	if f.slow {
		d += time.Duration(w.draw("slow "+what) % uint64(12*time.Second))
	}
	return d
}

// wakeups carries wake-ups between the nodes of a world. Some are lost, and all are late.
type wakeups struct {
	life *life
}

func (*wakeups) Mode() string { return "notify" }

func (k *wakeups) Announce(topics ...string) {
	w := k.life.node.world
	for _, n := range w.nodes {
		to := n.current()
		if n == k.life.node || to == nil {
			continue
		}
		for _, topic := range topics {
			what := "wake " + n.name + " " + w.topicName(topic)
			if w.chance(20, "lose "+what) {
				continue
			}
			w.spawn(func() {
				if sleep(context.Background(), to.dead, 50*time.Microsecond+time.Duration(w.draw(what)%uint64(20*time.Millisecond))) == nil {
					to.hear(topic)
				}
			})
		}
	}
}

// topicName returns a topic without the random ID of a session.
func (w *world) topicName(topic string) string {
	if id, ok := strings.CutPrefix(topic, "session:"); ok {
		return w.sessionName(id)
	}
	return topic
}

func (k *wakeups) Run(ctx context.Context, heard func(string)) error {
	k.life.listen(heard)
	<-ctx.Done()
	k.life.listen(nil)
	return nil
}

// ears receives the wake-ups of other nodes.
type ears struct {
	mu    sync.Mutex
	heard func(string)
}

func (e *ears) listen(heard func(string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = heard
}

func (e *ears) hear(topic string) {
	e.mu.Lock()
	heard := e.heard
	e.mu.Unlock()
	if heard != nil {
		heard(topic)
	}
}
