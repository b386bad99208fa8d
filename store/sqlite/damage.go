package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// Looks at the whole file are bounded: a large one is looked at in part.
const (
	lookAtOpen  = 2 * time.Second
	lookAtFile  = 2 * time.Second // of an inspection
	lookAgainIn = time.Minute
)

// damage is what is known of the file's pages. Once they are found damaged, the store
// answers nothing but that: a damaged index lets a claim miss a lease, and a write into
// damaged pages harms others.
type damage struct {
	mu    sync.Mutex
	err   error
	at    time.Time // of the last look
	whole bool      // that look saw all of the file
}

// damaged is the error of a file that was found damaged, and nil of others.
func (db *DB) damaged() error {
	db.damage.mu.Lock()
	defer db.damage.mu.Unlock()
	return db.damage.err
}

// isDamaged answers, and keeps, the error of a damaged file.
func (db *DB) isDamaged(cause error) error {
	db.damage.mu.Lock()
	defer db.damage.mu.Unlock()
	if db.damage.err == nil {
		db.damage.err = coded(core.Unavailable, fmt.Errorf("%w: %w", core.ErrDamaged, cause), "the database file "+db.path+" is damaged or is no SQLite file",
			"stop the node, move the file with its -wal and -shm away, and restore a backup in their place; sqlite3 FILE 'pragma integrity_check' lists the damage")
	}
	return db.damage.err
}

// translate is [translate] of an error of this file.
func (db *DB) translate(err error) error {
	if saysDamaged(err) {
		return db.isDamaged(err)
	}
	return translate(err)
}

func saysDamaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// look has SQLite look at the file's pages, with quick_check or integrity_check, and
// reports whether it came to the end in time. Tables of others in the file may break
// constraints of its own.
func (db *DB) look(ctx context.Context, pragma string, within time.Duration) (whole bool, err error) {
	wait, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = db.Read(wait, func(tx base.Tx) error {
		rows, err := tx.Query(wait, "pragma "+pragma)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			constraint := strings.HasPrefix(line, "CHECK constraint failed in ") || strings.Contains(line, " value in ")
			if line != "ok" && (!constraint || strings.Contains(line, " "+string(db.names))) {
				return db.isDamaged(errors.New(line))
			}
		}
		return rows.Err()
	})
	switch {
	case err == nil:
		return true, nil
	case db.damaged() != nil:
		return false, db.damaged()
	}
	return false, ctx.Err() // it was ended, or could not be begun, which others will say
}

// lookedAt looks at all of the file, unless that was done a moment ago.
func (db *DB) lookedAt(ctx context.Context) (whole bool, err error) {
	if err := db.damaged(); err != nil {
		return false, err
	}
	d := &db.damage
	d.mu.Lock()
	whole, recent := d.whole, !d.at.IsZero() && time.Since(d.at) < lookAgainIn
	d.at = time.Now()
	d.mu.Unlock()
	if recent {
		return whole, nil
	}
	whole, err = db.look(ctx, "integrity_check(1)", lookAtFile)
	d.mu.Lock()
	d.whole = whole
	d.mu.Unlock()
	return whole, err
}
