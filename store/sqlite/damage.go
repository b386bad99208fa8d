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

// Checks of the whole file are bounded in time: a large file is checked in part.
const (
	openCheckTime = 2 * time.Second
	fullCheckTime = 2 * time.Second // for an inspection
	recheckAfter  = time.Minute
)

// damage is the known damage of the file's pages. Once damage is found, the store returns only this error. With a damaged index
// a claim can miss a lease, and a write into damaged pages damages others.
type damage struct {
	mu    sync.Mutex
	err   error
	at    time.Time // time of the last check
	whole bool      // the last check read the whole file

	altered error // a definition that was not as the migrations make it at the opening, or nil
}

// damaged returns the error of a damaged file, or nil.
func (db *DB) damaged() error {
	db.damage.mu.Lock()
	defer db.damage.mu.Unlock()
	return db.damage.err
}

// isDamaged stores and returns the error of a damaged file.
func (db *DB) isDamaged(cause error) error {
	db.damage.mu.Lock()
	defer db.damage.mu.Unlock()
	if db.damage.err == nil {
		db.damage.err = coded(core.Unavailable, fmt.Errorf("%w: %w", core.ErrDamaged, cause), "the database file "+db.path+" is damaged or is no SQLite file",
			"stop the node, move the file with its -wal and -shm away, and restore a backup in their place; sqlite3 FILE 'pragma integrity_check' lists the damage")
	}
	return db.damage.err
}

// translate is the function [translate] for an error of this file. It also records damage.
func (db *DB) translate(err error) error {
	switch {
	case saysDamaged(err):
		return db.isDamaged(err)
	case db.damage.altered != nil && isWrong(err):
		return db.isDamaged(fmt.Errorf("%w: %w", db.damage.altered, err))
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

// checkPages checks the file's pages with quick_check or integrity_check, and reports whether the check finished in time.
// Violated constraints in tables of other programs in the file are ignored.
func (db *DB) checkPages(ctx context.Context, pragma string, within time.Duration) (whole bool, err error) {
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
	return false, ctx.Err() // the check was interrupted or could not begin, which other statements will report
}

// checkFile checks the whole file, unless that was done a moment ago.
func (db *DB) checkFile(ctx context.Context) (whole bool, err error) {
	if err := db.damaged(); err != nil {
		return false, err
	}
	d := &db.damage
	d.mu.Lock()
	whole, recent := d.whole, !d.at.IsZero() && time.Since(d.at) < recheckAfter
	d.at = time.Now()
	d.mu.Unlock()
	if recent {
		return whole, nil
	}
	whole, err = db.checkPages(ctx, "integrity_check(1)", fullCheckTime)
	d.mu.Lock()
	d.whole = whole
	d.mu.Unlock()
	return whole, err
}
