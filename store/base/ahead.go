package base

import (
	"context"
)

// Statement is a text of SQL with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// Foreseer is a database across a network. It can be sent the first queries of a transition ahead.
type Foreseer interface {
	// WriteAhead is [DB.Write], but sends the queries in ahead with the begin of the transaction, in their order. When fn makes
	// one of these queries, its answer is there already. fn need not make all of them.
	WriteAhead(ctx context.Context, ahead []Statement, fn func(tx Tx, at Moment) error) error
}

// Closer is a transaction that can send several statements together.
type Closer interface {
	// ExecSoon is Exec for a statement without an answer. It is sent with the next statement, or with the commit. If it fails,
	// that statement or the commit fails.
	ExecSoon(sql string, args ...any)
}

// ExecSoon runs a statement without an answer, together with the next statement if the transaction is a [Closer].
func ExecSoon(ctx context.Context, tx Tx, sql string, args ...any) error {
	if tx, ok := tx.(Closer); ok {
		tx.ExecSoon(sql, args...)
		return nil
	}
	_, err := tx.Exec(ctx, sql, args...)
	return err
}

// foresee collects the queries of ahead. They find no rows, and the change has no instant.
func (s *Store) foresee(asked *Change, ahead func(c *Change)) []Statement {
	if ahead == nil || s.Opt.Claims.NoForesight {
		return nil
	}
	var n notes
	c := *asked
	c.Tx, c.SQL = &n, s.SQL
	ahead(&c)
	return n
}

// notes is a transaction that records its queries and answers them without rows.
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
