//go:build linux

package main

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/bench/load"
)

// class is a set of contenders with the same guarantees, which are compared.
type class string

// The classes. Queues on Redis are in one class with those on PostgreSQL: all of
// them are servers for many programs.
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
	base     base   // whether this contender is the base of ratios
	needs    string // a tool for -without: redis, graphile, river-sqlite
	settings string // as text for the document
	history  string // the fate of a finished job, as text
	open     func(ctx context.Context, s *site) (*seat, error)
}

// base tells which of Belfry's two sets of settings a contender has.
type base int

const (
	peer base = iota
	belfryDefault
	belfryTuned
)

// seat is a running contender on an empty database.
type seat struct {
	load.Driver
	server func() (time.Duration, error) // CPU that the server's processes used so far; nil without a server
	db     *database                     // its database on PostgreSQL, or nil
	close  func() error                  // after the driver
}

// contenders has all contenders, Belfry first in each class.
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

// synchronous returns the pragma's value for a class of SQLite contenders.
func (c class) synchronous() string {
	if c == sqliteNormal {
		return "NORMAL"
	}
	return "FULL"
}
