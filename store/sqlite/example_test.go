package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store/sqlite"
)

// A job that is enqueued in the caller's own transaction exists when, and only
// if, that transaction commits.
func Example_transaction() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "belfry")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	st, err := sqlite.Open(ctx, filepath.Join(dir, "app.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer st.Close() //nolint:errcheck // the program ends

	db := st.DB().(*sqlite.DB).SQL()
	if _, err := db.ExecContext(ctx, "create table orders (id integer primary key, item text)"); err != nil {
		panic(err)
	}
	order := func(item string, commit bool) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			panic(err)
		}
		defer tx.Rollback() //nolint:errcheck // does nothing after a commit
		if _, err := tx.ExecContext(ctx, "insert into orders (item) values ($1)", item); err != nil {
			panic(err)
		}
		if _, err := st.EnqueueTx(ctx, tx, []belfry.NewJob{{Task: "ship", Kind: belfry.KindFunc, Input: fmt.Appendf(nil, "%q", item)}}); err != nil {
			panic(err)
		}
		if !commit {
			return
		}
		if err := tx.Commit(); err != nil {
			panic(err)
		}
		st.Wake(belfry.DefaultQueue)
	}
	order("a bell", true)
	order("a tower", false)

	jobs, err := st.Jobs(ctx, belfry.JobFilter{})
	if err != nil {
		panic(err)
	}
	for _, j := range jobs.Items {
		fmt.Println(j.Task, string(j.Input), j.State)
	}
	// Output: ship "a bell" ready
}
