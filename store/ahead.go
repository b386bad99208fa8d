package store

import (
	"context"
	"sync"

	"github.com/belfry-run/belfry/job"
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
	// for them. It need not. Transitions of one name ask much the same, for which
	// the database may use the same connection.
	WriteAhead(ctx context.Context, name string, ahead []Statement, fn func(tx Tx, at Moment) error) error
}

// Closer is a transaction in which statements travel together, and the commit
// with the last.
type Closer interface {
	// ExecSoon is Exec for a statement of which nothing is asked but that it is
	// carried out. It travels with the next, or else with the commit, and that
	// fails if it does.
	ExecSoon(sql string, args ...any)
	// QueryLast is Query for a statement that nothing follows. Whether all was
	// committed is known when the answer has been read.
	QueryLast(ctx context.Context, sql string, args ...any) (Rows, error)
}

// ExecSoon runs a statement of which nothing is asked, where that is possible
// together with the next.
func ExecSoon(ctx context.Context, tx Tx, sql string, args ...any) error {
	if tx, ok := tx.(Closer); ok {
		tx.ExecSoon(sql, args...)
		return nil
	}
	_, err := tx.Exec(ctx, sql, args...)
	return err
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
// one: the next may be, and its definition can be asked for ahead. And it
// remembers who may be waiting for the jobs of a task.
type habit struct {
	tasks  sync.Map // usual by the queue's name
	queues sync.Map // where the last jobs of a task went, by its name
}

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

// goes notes the queue of a new job.
func (h *habit) goes(j jobRow) { h.queues.Store(taskName{Namespace: j.Namespace, Name: j.Task}, j.Queue) }

// queueOf is where new jobs may go.
func (h *habit) queueOf(ns []job.NewJob) (string, bool) {
	if ns[0].Queue != "" {
		return ns[0].Queue, true
	}
	v, ok := h.queues.Load(taskNames(ns[:1])[0])
	queue, _ := v.(string)
	return queue, ok
}

// foresee notes what ahead asks. It finds nothing and knows no time.
func (s *Store) foresee(asked *change, ahead func(c *change)) []Statement {
	if ahead == nil {
		return nil
	}
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
