//go:build linux

package main

import (
	"database/sql"
	"errors"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver of Belfry and of all peers

	"github.com/belfry-run/belfry/bench/load"
)

// openSQLite opens a file for a peer that brings no driver of its own.
func openSQLite(path, synchronous string, conns int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?"+url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")"},
		"_txlock": {"immediate"},
	}.Encode())
	if err == nil {
		db.SetMaxOpenConns(conns)
	}
	return db, err
}

// onFile starts a contender in an empty folder.
func (s *site) onFile(open func(dir string) (load.Driver, error)) (*seat, error) {
	dir, err := os.MkdirTemp(s.dir, "sqlite-")
	if err != nil {
		return nil, err
	}
	d, err := open(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &seat{Driver: d, close: func() error { return os.RemoveAll(dir) }}, nil
}
