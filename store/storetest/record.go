package storetest

import (
	"context"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/store/base"
)

// Statement is one statement of a transition, as sent to the database.
type Statement struct {
	base.Statement
	Writes bool // the transaction may write
}

// Recorder is a database that records every statement, so that tests can examine its plan.
type Recorder struct {
	base.DB

	mu  sync.Mutex
	all []Statement
}

// Take returns the statements since the last call, each text once.
func (r *Recorder) Take() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	var out []Statement
	for _, s := range r.all {
		if !seen[s.SQL] {
			seen[s.SQL] = true
			out = append(out, s)
		}
	}
	r.all = nil
	return out
}

// Line returns the statement in one line, for people.
func (s Statement) Line() string { return strings.Join(strings.Fields(s.SQL), " ") }

// Read records the statements of fn.
func (r *Recorder) Read(ctx context.Context, fn func(tx base.Tx) error) error {
	return r.DB.Read(ctx, func(tx base.Tx) error { return fn(recordingTx{tx, r, false}) })
}

// Write records the statements of fn.
func (r *Recorder) Write(ctx context.Context, fn func(tx base.Tx, at base.Moment) error) error {
	return r.DB.Write(ctx, func(tx base.Tx, at base.Moment) error { return fn(recordingTx{tx, r, true}, at) })
}

type recordingTx struct {
	base.Tx
	r      *Recorder
	writes bool
}

func (n recordingTx) note(sql string, args []any) {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	n.r.all = append(n.r.all, Statement{base.Statement{SQL: sql, Args: args}, n.writes})
}

func (n recordingTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	n.note(sql, args)
	return n.Tx.Exec(ctx, sql, args...)
}

func (n recordingTx) Query(ctx context.Context, sql string, args ...any) (base.Rows, error) {
	n.note(sql, args)
	return n.Tx.Query(ctx, sql, args...)
}
