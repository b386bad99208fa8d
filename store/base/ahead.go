package base

import (
	"context"
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

// Closer is a transaction in which statements travel together.
type Closer interface {
	// ExecSoon is Exec for a statement of which nothing is asked but that it is
	// carried out. It travels with the next, or else with the commit, and that
	// fails if it does.
	ExecSoon(sql string, args ...any)
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

// foresee notes what ahead asks. It finds nothing and knows no time.
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
