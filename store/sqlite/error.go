package sqlite

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/belfry-run/belfry"
)

// translate gives a driver's error a code, by its number and never by its text.
func translate(err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return coded(belfry.Unavailable, err, "the database is busy", "another program holds a transaction on the file open")
	case sqlite3.SQLITE_FULL:
		return coded(belfry.Unavailable, err, "the disk of the database is full", "make room; nothing was half written")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return coded(belfry.Unavailable, err, "the database file cannot be read or written", "check the disk and the file's permissions")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return coded(belfry.Unavailable, err, "the database file is damaged or is no SQLite file", "restore a backup")
	}
	return err
}

func coded(code belfry.Code, err error, message, hint string) error {
	return &belfry.Error{Code: code, Message: message, Hint: hint, Err: err}
}
