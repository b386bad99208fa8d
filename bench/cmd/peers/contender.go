//go:build linux

package main

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/bench/load"
)

// class is a set of contenders that promise the same, and are compared.
type class string

// The classes. A queue on Redis stands beside those on PostgreSQL: all of them
// are servers for many programs.
const (
	servers      class = "PostgreSQL, Redis"
	sqliteFull   class = "SQLite, synchronous=FULL"
	sqliteNormal class = "SQLite, synchronous=NORMAL"
)

var classes = []class{servers, sqliteFull, sqliteNormal}

// contender is one queue with one set of settings.
type contender struct {
	name     string
	class    class
	base     base   // whether others are divided by it
	needs    string // what -without can leave out: redis, graphile, river-sqlite
	settings string // for people
	history  string // what becomes of a finished job
	open     func(ctx context.Context, s *site) (*seat, error)
}

// base says which of Belfry's two sets of settings a contender is.
type base int

const (
	peer base = iota
	belfryDefault
	belfryTuned
)

// seat is a contender on an empty database.
type seat struct {
	load.Driver
	server func() (time.Duration, error) // CPU that the server's processes used so far; nil without a server
	db     *database                     // its database on PostgreSQL, or nil
	close  func() error                  // after the driver
}

// contenders is everybody, Belfry first in each class.
func contenders() []contender {
	list := []contender{
		belfryOnPostgres(belfryDefault), belfryOnPostgres(belfryTuned),
		riverDefault, riverBench,
		graphileDefault, graphileTuned,
		asynqDefault, asynqTuned, asynqForgetful,
	}
	for _, c := range []class{sqliteFull, sqliteNormal} {
		list = append(list,
			belfryOnSQLite(c, belfryDefault), belfryOnSQLite(c, belfryTuned),
			riverOnSQLite(c), goqiteOn(c), backliteOn(c))
	}
	return list
}

// synchronous is the word of a class of SQLite contenders.
func (c class) synchronous() string {
	if c == sqliteNormal {
		return "NORMAL"
	}
	return "FULL"
}
