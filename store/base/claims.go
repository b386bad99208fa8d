package base

// Claims switches optimizations of the claim path off, to measure each (docs/decisions/0023-claim-path.md), or to search for a
// fault without it. The zero value is the fast path. No guarantee depends on any of them. The options of SQLite have two more,
// for its writer.
type Claims struct {
	Plain       bool // claim, lease and settle by the simplest SQL; sets all others
	NoJoin      bool // no waiting claim joins an enqueue
	NoGather    bool // each call of Enqueue has a transaction of its own
	NoPacks     bool // each lease has a row
	NoForesight bool // PostgreSQL: each statement of a transition is sent alone, when it is made
	NoMark      bool // each claim looks from the beginning of its queue
	NoKnown     bool // SQLite: tasks, queues and sessions are not cached
}
