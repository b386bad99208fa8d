package base

// Claims switches mechanisms of the claim path off, to measure what each is worth
// (docs/decisions/0023-claim-path.md), or to look for a fault without it. The zero
// value is the fast path. No promise depends on any of them. The SQLite writer has
// two more, in its own options.
type Claims struct {
	Plain       bool // claim, lease and settle by the simplest SQL, with all else off
	NoJoin      bool // no claim that waits joins an enqueue
	NoGather    bool // each call of Enqueue has a transaction of its own
	NoPacks     bool // each lease has a row
	NoForesight bool // PostgreSQL: each statement of a transition travels alone, when it is asked
	NoMark      bool // each claim looks from the beginning of its queue
	NoKnown     bool // SQLite: tasks, queues and sessions are read again and again
}
