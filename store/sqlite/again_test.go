package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/storetest"
)

// again carries out each transition twice, and takes the first back, as a
// database may after a passing fault.
type again struct{ base.DB }

var errAgain = errors.New("a passing fault")

func (a again) Write(ctx context.Context, fn func(tx base.Tx, at base.Moment) error) error {
	err := a.DB.Write(ctx, func(tx base.Tx, at base.Moment) error {
		if err := fn(tx, at); err != nil {
			return err
		}
		return errAgain
	})
	if errors.Is(err, errAgain) {
		err = a.DB.Write(ctx, fn)
	}
	return err
}

// TestTransitionsThatAreBegunAgain: nothing of a transition that was
// taken back is left, in the database or in the store.
func TestTransitionsThatAreBegunAgain(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o store.Options) *store.Store {
		t.Helper()
		o.PackFrom = 2
		st := store.New(again{open(t, o).DB()}, o)
		if err := st.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return st
	})
}
