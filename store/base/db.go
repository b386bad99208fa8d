package base

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// DB is a database with one way to read and one to write. Packages sqlite and
// postgres have one each.
type DB interface {
	// Read runs fn on a consistent snapshot. It may run fn again after a
	// passing fault, so fn must not change anything outside itself before it
	// returns nil.
	Read(ctx context.Context, fn func(tx Tx) error) error
	// Write runs fn in one transaction and commits it, or nothing of it. It may
	// run fn again after a passing fault, like Read. A database whose schema this
	// program is too old for refuses it with [core.ErrOutdated], and is not
	// migrated to such a schema until the transaction has ended.
	Write(ctx context.Context, fn func(tx Tx, at Moment) error) error
	// Adopt wraps a transaction of the caller's: *sql.Tx on both, pgx.Tx on
	// PostgreSQL. The caller commits it. It is refused as Write is.
	Adopt(ctx context.Context, tx any) (Tx, Dialect, Moment, error)
	// Dialect is what differs in SQL, but in transactions of the caller's.
	Dialect() Dialect
	// Wakeups carries hints between processes. The truth is the row.
	Wakeups() Wakeups
	// Version names the database and its version, for people.
	Version(ctx context.Context) (string, error)
	// Schema is the version of the schema that is there beside what this program
	// knows.
	Schema(ctx context.Context) (core.Schema, error)
	// Skew is this node's clock less the one that decides.
	Skew(ctx context.Context) (time.Duration, error)
	// Inspect fills the parts of a database's health that only it knows.
	Inspect(ctx context.Context) (view.DatabaseHealth, error)
	// Prune removes what retention no longer keeps and prepares the room for
	// what comes. It does a bounded part and reports whether there is more.
	Prune(ctx context.Context, k Keep) (more bool, err error)
	Close() error
}

// Moment is when a transaction happens.
type Moment struct {
	// Now is its instant by the clock that decides: the database's on
	// PostgreSQL, the process's on SQLite.
	Now time.Time
	// Stable is an instant such that every transaction with an earlier one has
	// ended, and what it committed is seen by this one. A transaction that
	// stays open for long may be the exception.
	Stable time.Time
	// Number is that of the transaction where several write at once, in the order in which they begin; all below Oldest
	// have ended, and what they committed is seen. 0, where one writes at a time.
	Number, Oldest int64
	// Woke, if set, says that a transition after this one sees what it
	// wrote, even before its commit. It is told how many were woken to do so.
	Woke func(n int)
	// Version, if set, answers for the tables tasks, queues, sessions and hook_version another
	// number than before whenever a row may have changed, for this transaction
	// too: what was read under the same number need not be read again.
	Version func(table string) int64
	// Hooks, where Version is not set, is the version of all hooks together. It counts from 1, under which there is none; 0: not known.
	Hooks int64
}

// Tx is what every statement goes through. Placeholders are $1, $2, … on both
// databases, and times are integer microseconds since 1970 in UTC.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (rows int64, err error)
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
}

// Rows is a result that is read row by row. Close is safe twice.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Dialect is what differs in SQL between the databases.
type Dialect interface {
	// Table is a from-item that unpacks a batch, and its parameters, which are
	// numbered from n. It is the last of a statement's parameters.
	Table(n int, alias string, b Batch) (from string, args []any)
	// ManyTable is Table next to Among: the batch may have many rows, and the
	// planner is told so.
	ManyTable(n int, alias string, b Batch) (from string, args []any)
	// Lease is a statement that does all of a claim at once, around the queries
	// that pick the jobs one after the other, or empty where several short
	// statements are as good. It answers the columns of the jobs that were leased,
	// the number and the instant of the lease, which are drawn and read when all rows
	// are locked, with how many were picked between them. Shares is the condition that the lease of one of them may share a
	// row with others. Its own parameters are numbered from n: session, slot_of,
	// now, the grace after a timeout, in microseconds, from how many jobs on their
	// leases may share a row, and for how many jobs the worker has slots: where
	// there are more, all leases say that they were given ahead.
	Lease(parts []Part, shares string, n int) string
	// LeaseNumber draws the number of a claim whose jobs are locked, and answers its
	// instant: now, or later where the transaction has waited.
	LeaseNumber(ctx context.Context, tx Tx, now int64) (number, at int64, err error)
	// Unleased is the condition that a job has no lease, neither alone nor
	// together with others.
	Unleased(column string) string
	// UnpackedSince follows a condition, for many jobs in a row, and says that none
	// of the leases that share a row and were given at an instant, which is a
	// parameter or 0, or after it, is the job's.
	UnpackedSince(column, instant string) string
	// Pack gives plain jobs, which have no lease, leases that share a row. Not
	// ok: it gives none, because Lease does.
	Pack(ctx context.Context, tx Tx, p Pack) (ok bool, err error)
	// Unpack gives a row each to leases that share one, before anything but a
	// success comes to one of their jobs.
	Unpack(ctx context.Context, tx Tx, w Packed) error
	// Walks is asked by a read that is to walk along an index and stop early,
	// whatever the planner thinks of the table. Empty: nothing has to be asked.
	Walks() string
	// In is the condition that a column has one of the values of a list, which
	// is parameter n, made by List from an []int64 or a []string.
	In(column string, n int) string
	List(values any) any
	// Among is In where it says nothing new, next to a join by that column, to
	// a planner that may otherwise read the whole table.
	Among(column string, n int) string
	// Unhex is an expression for the bytes that a text names in hexadecimal digits.
	Unhex(text string) string
	// Marked is an expression for a JSON text with a mark in place of what a key of its outermost object has, if it has
	// the key.
	Marked(doc, key, mark string) string
	// SkipLocked follows a select whose rows this transaction will change and
	// that another transaction may be changing: "for update skip locked"
	// where writers can meet, nothing where there is one writer.
	SkipLocked(of string) string
	// ForUpdate is the same, but waits.
	ForUpdate(of string) string
	// ForKeyShare keeps a row from being locked by ForUpdate meanwhile, but not
	// from other changes.
	ForKeyShare(of string) string
	// NextIDs gives out n fresh ids of a sequence: job, lease or definition.
	NextIDs(ctx context.Context, tx Tx, sequence string, n int) ([]int64, error)
	// Succeed moves the jobs of attempts that went well from the live to the
	// finished ones, with their leases, at the instant now. An attempt whose
	// lease is not the job's any more, or not the session's, changes nothing and is
	// left out of the answer; "" stands for any session. It is what a busy store does most, so each database has its own
	// shortest way.
	Succeed(ctx context.Context, tx Tx, session string, rows []Success, now int64) ([]Succeeded, error)
	// ForeseeSucceed asks what Succeed asks first of n rows under some leases, in
	// order.
	ForeseeSucceed(ctx context.Context, tx Tx, n int, leases []int64)
}

// Pack are the leases of one claim, all of one queue, that share a row.
type Pack struct {
	Number    int64
	Session   string
	Queue     string
	ClaimedAt int64
	Ahead     int // 1: of the worker's free slots
	Limited   int // 1: some of the jobs are under keys of limits
	Jobs      []int64
}

// Packed are leases that may share a row: those of some jobs, which the caller
// has locked; those of a session that were claimed before an instant; or all.
type Packed struct {
	Jobs    []int64
	Session string
	Before  int64
	All     bool
}

// Part is a query with a name, by which those after it may know it.
type Part struct{ Name, Query string }

// Wakeups carries hints between the processes that share a database.
type Wakeups interface {
	// Mode is "in process", "notify" or "poll".
	Mode() string
	// Announce tells the other processes, soon and coalesced. No topics: nothing.
	Announce(topics ...string)
	// Run hears what others announce until ctx ends. It calls heard with each
	// topic, and with "" when announcements may have been lost.
	Run(ctx context.Context, heard func(topic string)) error
}

// Announcer is a transaction with whose commit announcements can travel.
type Announcer interface {
	// Announce tells the other processes when it commits, or reports that it does
	// not, so that [Wakeups.Announce] has to.
	Announce(topics []string) bool
}

// Keep is how long and how much history is kept.
type Keep struct {
	Age    time.Duration // finished jobs, attempts, logs, occurrences; default: 30 days
	Jobs   int64         // newest finished jobs; default: 1,000,000
	Events int           // newest events of a hook; default: 1,000,000

	// Before bounds what may be removed: nothing that ended at or after it. Zero:
	// no bound. A store sets it to what was rolled up.
	Before  time.Time
	Uploads time.Duration // artifacts that were announced, never uploaded and that no task names; default: 24 hours

	Results time.Duration // single results of monitors; default: 7 days. Their hours stay for 100 days, their days for ever
}
