// Command transaction shows jobs that live and die with your own data: a job
// that exists only if the order it belongs to was committed, and a handler
// whose work and whose end are one commit.
//
//	go run ./examples/transaction
//
// Here both are in one SQLite file. On PostgreSQL it is the same with a pgx.Tx
// or a *sql.Tx of your own pool.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
)

func main() {
	dir, err := os.MkdirTemp("", "belfry-transaction-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), filepath.Join(dir, "shop.db"), os.Stdout); err != nil {
		log.Fatal(err) //nolint:gocritic // the folder is a temporary one
	}
}

// Parcel is the input of the task ship.
type Parcel struct {
	Order string `json:"order"`
}

// shop keeps its own table beside Belfry's.
type shop struct {
	db   *sql.DB
	st   *store.Store
	ship worker.TaskOf[Parcel, string]
}

func run(ctx context.Context, path string, out io.Writer) error {
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	s := &shop{db: st.DB().(*sqlite.DB).SQL(), st: st}
	if _, err := s.db.ExecContext(ctx, `create table orders (name text primary key, shipped integer not null default 0)`); err != nil {
		return err
	}
	var handlers worker.Handlers
	s.ship = worker.Handle(&handlers, "ship", s.shipOrder)

	// The first order is committed, the second is not: one job, not two.
	if err := s.order(ctx, "coffee", nil); err != nil {
		return err
	}
	changedMind := errors.New("changed my mind")
	if err := s.order(ctx, "tea", changedMind); !errors.Is(err, changedMind) {
		return err
	}
	runner, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: &handlers})
	if err != nil {
		return err
	}
	n, err := runner.RunOnce(ctx) // until nothing is ready
	if err != nil {
		return err
	}
	var shipped int
	if err := s.db.QueryRowContext(ctx, `select count(*) from orders where shipped = 1`).Scan(&shipped); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d job, %d order shipped\n", n, shipped)
	return nil
}

// order writes the order and asks for its shipping in one transaction.
func (s *shop) order(ctx context.Context, name string, second error) error {
	job, err := s.ship.New(Parcel{Order: name})
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to do after a commit
	if _, err := tx.ExecContext(ctx, `insert into orders (name) values ($1)`, name); err != nil {
		return err
	}
	if _, err := s.st.EnqueueTx(ctx, tx, []belfry.NewJob{job}); err != nil {
		return err
	}
	if second != nil {
		return second
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.st.Wake(belfry.DefaultQueue) // or workers find the job at their next look
	return nil
}

// shipOrder does its work and ends its job in one transaction. When the worker
// dies before the commit, neither has happened; after it, both have.
func (s *shop) shipOrder(ctx context.Context, p Parcel) (string, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to do after a commit
	if _, err := tx.ExecContext(ctx, `update orders set shipped = 1 where name = $1`, p.Order); err != nil {
		return "", err
	}
	done, err := worker.FinishFor(ctx, "shipped "+p.Order)
	if err != nil {
		return "", err
	}
	if _, err := s.st.FinishTx(ctx, tx, done); err != nil {
		return "", err // the lease was lost: roll back, another worker has the job
	}
	return "shipped " + p.Order, tx.Commit()
}
