package interleave

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// actor runs one transition. Its statements wait at the gate.
type actor struct {
	name   string
	do     func(ctx context.Context) (answer string)
	at     chan string // the waiting statement; closed at the end
	turn   chan struct{}
	pid    atomic.Uint32 // process ID of its backend
	ring   atomic.Bool   // the server found a deadlock
	state  state
	next   string
	answer string
	other  *actor
}

type state int

const (
	held    state = iota // waits at the gate
	blocked              // waits in the server for a lock of the other actor
	done
)

type actorKey struct{}

// gate is called with each statement before it is sent.
type gate struct{}

func (gate) TraceQueryStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	wait(ctx, conn, d.SQL)
	return ctx
}

func (gate) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	note(ctx, d.Err)
}

func (gate) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, q := range d.Batch.QueuedQueries {
		all = append(all, q.SQL)
	}
	wait(ctx, conn, strings.Join(all, "; "))
	return ctx
}

func (gate) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	note(ctx, d.Err)
}
func (gate) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	note(ctx, d.Err)
}

func wait(ctx context.Context, conn *pgx.Conn, statement string) {
	if a, is := ctx.Value(actorKey{}).(*actor); is {
		a.pid.Store(conn.PgConn().PID())
		a.at <- strings.Join(strings.Fields(statement), " ")
		<-a.turn
	}
}

func note(ctx context.Context, err error) {
	var pg *pgconn.PgError
	if a, is := ctx.Value(actorKey{}).(*actor); is && errors.As(err, &pg) && pg.Code == "40P01" {
		a.ring.Store(true)
	}
}

// order is which actor begins, and before which steps the other continues.
type order struct {
	first    int
	switches []int
}

// played is the result of an order.
type played struct {
	steps    int
	trace    []string
	deadlock bool
}

// stepsOf returns the steps of an actor.
func (p played) stepsOf(name string) (own []string) {
	for _, step := range p.trace {
		if strings.HasPrefix(step, name+": ") {
			own = append(own, step)
		}
	}
	return own
}

// play runs two transitions in an order. If one waits for a lock, the other continues.
func play(ctx context.Context, watch *pgx.Conn, actors [2]*actor, o order) (p played, err error) {
	for i, a := range actors {
		a.other = actors[1-i]
		a.at, a.turn = make(chan string), make(chan struct{})
		go func() {
			defer close(a.at)
			a.answer = a.do(context.WithValue(ctx, actorKey{}, a))
		}()
		if err := a.settle(ctx, watch); err != nil {
			return p, err
		}
	}
	turn := o.first
	for ; actors[0].state != done || actors[1].state != done; p.steps++ {
		for _, s := range o.switches {
			if s == p.steps {
				turn = 1 - turn
			}
		}
		if actors[turn].state != held {
			turn = 1 - turn
		}
		a, other := actors[turn], actors[1-turn]
		if a.state == held {
			p.trace = append(p.trace, a.name+": "+a.next)
			a.turn <- struct{}{}
			if err := a.settle(ctx, watch); err != nil {
				return p, err
			}
		} else if a.state == blocked && other.state == blocked {
			p.deadlock = true
			if err := a.settle(ctx, watch); err != nil {
				return p, err
			}
		}
		if other.state == blocked {
			if err := other.settle(ctx, watch); err != nil {
				return p, err
			}
		}
	}
	p.deadlock = p.deadlock || actors[0].ring.Load() || actors[1].ring.Load()
	return p, nil
}

// settle returns when an actor waits at the gate, is done, or waits in the server for the other. Locks of the server's own
// work, such as a vacuum, are waited out.
func (a *actor) settle(ctx context.Context, watch *pgx.Conn) error {
	for {
		select {
		case next, more := <-a.at:
			if a.state, a.next = held, next; !more {
				a.state = done
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s does not go on after %s: %w", a.name, a.next, ctx.Err())
		case <-time.After(300 * time.Microsecond):
		}
		var waits bool
		if err := watch.QueryRow(ctx, `select $2 = any(pg_blocking_pids($1))`, int32(a.pid.Load()), int32(a.other.pid.Load())).Scan(&waits); err != nil {
			return err
		}
		if waits {
			a.state = blocked
			return nil
		}
	}
}
