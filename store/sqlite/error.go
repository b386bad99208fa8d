package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// translate gives a driver's error a code, by its number and never by its text.
func translate(err error) error {
	var e *sqlite.Error
	if err == nil || core.CodeOf(err) == core.Unknown || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return coded(core.Unavailable, err, "the database is busy", "another program holds a transaction on the file open")
	case sqlite3.SQLITE_FULL:
		return base.NoRoom(err)
	case sqlite3.SQLITE_READONLY:
		return base.ReadOnly(err, "its file or its disk is read-only", "it is tried again; make the file writable, and mount its disk for writing: after errors of the disk, check that first")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return coded(core.Unavailable, base.DiskFails(err), "the database file cannot be read or written", "check the disk and the file's permissions")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return coded(core.Unavailable, fmt.Errorf("%w: %w", core.ErrDamaged, err), "the database file is damaged or is no SQLite file", "restore a backup")
	}
	return err
}

// ofCommit returns the error of a commit. After a disk error, the next opening of the file may find the data of the commit.
// After a commit that failed for lack of space, it never does.
func ofCommit(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_IOERR {
		return base.OutcomeUnknown(base.DiskFails(err))
	}
	return err
}

// isWrong reports that SQLite could not understand a statement: it names what does not exist, or the connection is not in the state
// for it, such as for a begin within a transaction.
func isWrong(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_ERROR
}

// interrupted reports that a statement was interrupted because its context ended.
func interrupted(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_INTERRUPT
}

func coded(code core.Code, err error, message, hint string) error {
	return &core.Error{Code: code, Message: message, Hint: hint, Err: err}
}
