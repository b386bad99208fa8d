//go:build linux

package e2e

import (
	"context"
	"database/sql"
	"math/rand/v2"

	_ "modernc.org/sqlite" // the driver
)

// snapshot is a reader of the database with a long transaction: rows that existed at
// its begin can be neither vacuumed nor removed from the log.
type snapshot struct{ release func() }

func drawSnapshot(*chaos, *rand.Rand) fault { return &snapshot{} }

func (f *snapshot) Begin(c *chaos) {
	f.release = func() {}
	if !c.site.postgres() {
		f.read(c)
		return
	}
	db, err := c.connect()
	if err != nil {
		return
	}
	f.release = func() { _ = db.Close(context.Background()) }
	// If this fails, the database is away already.
	_, _ = db.Exec(c.t.Context(), `begin isolation level repeatable read; select count(*) from belfry.jobs`)
}

func (f *snapshot) read(c *chaos) {
	db, err := sql.Open("sqlite", "file:"+c.file+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		c.t.Fatal(err)
	}
	tx, err := db.BeginTx(c.t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		c.t.Fatal(err)
	}
	f.release = func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
	var n int
	if err := tx.QueryRow(`select count(*) from belfry_jobs`).Scan(&n); err != nil {
		c.t.Logf("no snapshot: %v", err) // such as on a disk that is full
	}
}

func (f *snapshot) Heal(*chaos) { f.release() }

func (f *snapshot) String() string { return "a snapshot held open" }
