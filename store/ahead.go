package store

import (
	"context"
	"sync"
)

// Statement is a text with its parameters.
type Statement struct {
	SQL  string
	Args []any
}

// Foreseer is a database that is far enough away to be told what a transition
// will ask first.
type Foreseer interface {
	// WriteAhead is [DB.Write]. The queries travel with the begin of the
	// transaction, in their order, and fn finds the answers there when it asks
	// for them. It need not.
	WriteAhead(ctx context.Context, ahead []Statement, fn func(tx Tx, at Moment) error) error
}

// Closer is a transaction whose commit can travel with its last statement.
type Closer interface {
	// ExecLast is Exec for a statement that nothing follows.
	ExecLast(ctx context.Context, sql string, args ...any) (rows int64, err error)
	// QueryLast is Query for one. Whether all was committed is known when the
	// answer has been read.
	QueryLast(ctx context.Context, sql string, args ...any) (Rows, error)
}

// execLast runs the last statement, where it is that.
func (c *change) execLast(sql string, args ...any) (int64, error) {
	if tx, ok := c.tx.(Closer); ok && c.alone {
		return tx.ExecLast(c.ctx, sql, args...)
	}
	return c.tx.Exec(c.ctx, sql, args...)
}

// lastQuery is a transaction whose next query is its last.
type lastQuery struct {
	Tx
	last Closer
}

func (q lastQuery) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return q.last.QueryLast(ctx, sql, args...)
}

// habit remembers of which task the last claim of a queue was, if it was of
// one: the next may be, and its definition can be asked for ahead.
type habit struct{ tasks sync.Map } // usual by the queue's name

// usual is a task, and how many claims in a row were of it.
type usual struct {
	task  int64
	times int
}

// settled is from how many claims on the next is expected to be of the same
// task. One that is not is made twice.
const settled = 8

func (h *habit) note(queue string, rows []jobRow) {
	for i := range rows {
		if rows[i].TaskID != rows[0].TaskID {
			h.tasks.Delete(queue)
			return
		}
	}
	if len(rows) == 0 {
		return
	}
	u := h.of(queue)
	if u.task != rows[0].TaskID {
		u = usual{task: rows[0].TaskID}
	}
	u.times++
	h.tasks.Store(queue, u)
}

// broke is told that a claim was not what it was expected to be.
func (h *habit) broke(queue string) { h.tasks.Delete(queue) }

func (h *habit) of(queue string) usual {
	v, _ := h.tasks.Load(queue)
	u, _ := v.(usual)
	return u
}

// foresee notes what ahead asks. It finds nothing and knows no time.
func (s *Store) foresee(asked *change, ahead func(c *change)) []Statement {
	var n notes
	c := *asked
	c.tx, c.sql = &n, s.sql
	ahead(&c)
	return n
}

// notes are a transaction in which there is nothing.
type notes []Statement

func (n *notes) Exec(context.Context, string, ...any) (int64, error) {
	panic("only queries are foreseen")
}

func (n *notes) Query(_ context.Context, sql string, args ...any) (Rows, error) {
	*n = append(*n, Statement{sql, args})
	return noRows{}, nil
}

type noRows struct{}

func (noRows) Next() bool        { return false }
func (noRows) Scan(...any) error { return nil }
func (noRows) Err() error        { return nil }
func (noRows) Close()            {}
