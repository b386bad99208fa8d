package sqlite

import (
	"context"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// OpenInSteps is [Open] with a look at the file in between: before the new store
// takes up what another left.
func OpenInSteps(ctx context.Context, path string, o Options) (*DB, func() (*store.Store, error), error) {
	db, err := open(ctx, path, o, "")
	if err != nil {
		return nil, nil, err
	}
	return db, func() (*store.Store, error) { return db.storeOf(ctx, o) }, nil
}

// Waiting is how many transitions wait for the writer.
func Waiting(db base.DB) int { return len(db.(*DB).queue) }

// KeptStatements is how many its connections for reads keep, all of which are
// at rest.
func KeptStatements(db base.DB) (n int) {
	all := db.(*DB).readers
	for range cap(all) {
		r := <-all
		n += len(r.kept)
		all <- r
	}
	return n
}

// LeaveOpen begins a transaction on each connection for reads, which nobody ends.
func LeaveOpen(ctx context.Context, db base.DB) (err error) {
	all := db.(*DB).readers
	for range cap(all) {
		r := <-all
		if beginErr := r.begin(ctx); beginErr != nil {
			err = beginErr
		}
		all <- r
	}
	return err
}
