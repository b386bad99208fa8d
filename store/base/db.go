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
	// Read runs fn on a consistent snapshot. It may run fn again after a transient fault, so fn must not have effects outside
	// itself before it returns nil.
	Read(ctx context.Context, fn func(tx Tx) error) error
	// Write runs fn in one transaction and commits it, or nothing of it. Like Read, it may run fn again after a transient fault.
	// If this program is too old for the schema, Write is refused with [core.ErrOutdated]. The database is not migrated to such
	// a schema before the transaction has ended.
	Write(ctx context.Context, fn func(tx Tx, at Moment) error) error
	// Adopt wraps a transaction of the caller: *sql.Tx on both, pgx.Tx on PostgreSQL. The caller commits it. It is refused as
	// Write is.
	Adopt(ctx context.Context, tx any) (Tx, Dialect, Moment, error)
	// Dialect is the SQL dialect of all transactions but those of callers.
	Dialect() Dialect
	// Wakeups carries hints between processes. Only the rows are authoritative.
	Wakeups() Wakeups
	// Version names the database and its version, for people.
	Version(ctx context.Context) (string, error)
	// Schema returns the schema version of the database and the versions that this program knows.
	Schema(ctx context.Context) (core.Schema, error)
	// Skew is the clock of this node minus the deciding clock.
	Skew(ctx context.Context) (time.Duration, error)
	// Inspect returns the health of the database, as far as only the database knows it.
	Inspect(ctx context.Context) (view.DatabaseHealth, error)
	// Prune deletes rows after their retention, and prepares partitions for new rows. One call does a bounded part; more reports
	// whether there is more to do.
	Prune(ctx context.Context, k Keep) (more bool, err error)
	Close() error
}

// Moment is the place of a transaction in time.
type Moment struct {
	// Now is the instant of the transaction by the deciding clock: of the database on PostgreSQL, of the process on SQLite.
	Now time.Time
	// Stable is an instant: every transaction with an earlier instant has ended, and this transaction sees its commit. The
	// exception may be a transaction that stays open for long.
	Stable time.Time
	// Number is the number of the transaction, in the order of their begins; all transactions below Oldest have ended, and this
	// transaction sees their commits. Both are 0 in a database with one writer.
	Number, Oldest int64
	// Woke, if set, means that later transitions see the writes of this one even before its commit. It is called with the number
	// of claims that were woken to do so.
	Woke func(n int)
	// Version, if set, returns a version of the tables tasks, queues, sessions and hook_version. It changes whenever a row may
	// have changed, also in this transaction: rows that were read under the same version need not be read again.
	Version func(table string) int64
	// Hooks, where Version is not set, is the version of all hooks together. 0: not known; 1: no hook was ever saved.
	Hooks int64
}

// Tx runs statements in a transaction. Placeholders are $1, $2, … on both databases. Times are integer microseconds since
// 1970 in UTC.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (rows int64, err error)
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
}

// Rows is a result that is read row by row. Close may be called twice.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Dialect is the SQL that differs between the databases.
type Dialect interface {
	// Table returns a from-item that unpacks a batch, and its arguments. Its parameters are numbered from n, and are the last of
	// the statement.
	Table(n int, alias string, b Batch) (from string, args []any)
	// ManyTable is Table for a batch of perhaps many rows, next to Among: it tells the planner so.
	ManyTable(n int, alias string, b Batch) (from string, args []any)
	// Lease is one statement for a whole claim, around the queries (parts) that pick the jobs one after the other. It is empty
	// in a database where several short statements are as good. It returns, for each leased job: its columns, the lease number,
	// the number of picked jobs, and the instant of the lease. Number and instant are drawn when all rows are locked. The
	// condition shares says that the lease of a job may share a row with others. The statement's own parameters are numbered
	// from n: session, slot_of, now, the grace after a timeout in microseconds, the smallest number of jobs whose leases may
	// share a row, and the slots of the worker. If there are more jobs than slots, all leases are marked as given ahead.
	Lease(parts []Part, shares string, n int) string
	// LeaseNumber draws the number of a claim whose jobs are locked, and returns the instant of the claim: now, or later if the
	// transaction has waited.
	LeaseNumber(ctx context.Context, tx Tx, now int64) (number, at int64, err error)
	// Unleased is the condition that a job has no lease, neither in a row of its own nor in a pack.
	Unleased(column string) string
	// UnpackedSince is a further condition (" and ...") for a walk over many jobs: the job has no lease in a pack that was given
	// at an instant or later. The instant is a parameter, or 0.
	UnpackedSince(column, instant string) string
	// Pack leases simple jobs in a pack, a shared row. If ok is false it leased none: this database does so in Lease.
	Pack(ctx context.Context, tx Tx, p Pack) (ok bool, err error)
	// Unpack gives leases of packs a row each. It runs before any change of one of their jobs but a success.
	Unpack(ctx context.Context, tx Tx, w Packed) error
	// Walks is a statement before a read that has to walk along an index and stop early, whatever the planner knows of the table.
	// Empty: none is needed.
	Walks() string
	// In is the condition that a column has one of the values of a list. The list is parameter n, made by List from an []int64
	// or a []string.
	In(column string, n int) string
	List(values any) any
	// Among is a redundant In next to a join by the same column, for a planner that could otherwise read the whole table.
	Among(column string, n int) string
	// Unhex is an expression for the bytes of a text of hexadecimal digits.
	Unhex(text string) string
	// Marked is an expression for a JSON object with the value of a key replaced by mark, if it has the key.
	Marked(doc, key, mark string) string
	// SkipLocked ends a select whose rows this transaction will change: "for update skip locked", or nothing in a database with
	// one writer.
	SkipLocked(of string) string
	// ForUpdate is SkipLocked, but waits for locked rows.
	ForUpdate(of string) string
	// ForKeyShare prevents ForUpdate of a row by others, but no other changes.
	ForKeyShare(of string) string
	// NextIDs draws n new ids of a sequence: job, lease or definition.
	NextIDs(ctx context.Context, tx Tx, sequence string, n int) ([]int64, error)
	// Drawn is an expression for the last number drawn, of ids of jobs or rows of the audit. Only a restore takes it back.
	Drawn(of string) string
	// Succeed moves the jobs of successful attempts from the live to the finished jobs, with their leases, at the instant now. An
	// attempt whose lease is lost, or belongs to another session, changes nothing and is left out of the answer; "" stands for
	// any session. It is the most frequent write of a busy store, so each database has its own implementation.
	Succeed(ctx context.Context, tx Tx, session string, rows []Success, now int64) ([]Succeeded, error)
	// ForeseeSucceed sends the first query of Succeed ahead, for n rows under some leases, in order.
	ForeseeSucceed(ctx context.Context, tx Tx, n int, leases []int64)
}

// Pack are the leases of one claim, all of one queue, that share a row.
type Pack struct {
	Number    int64
	Session   string
	Queue     string
	ClaimedAt int64
	Ahead     int // 1: given ahead of the worker's free slots
	Limited   int // 1: some of the jobs are under limit keys
	Jobs      []int64
}

// Packed selects leases that may be in packs: the leases of some jobs, which the caller has locked; the leases of a session that
// were claimed before an instant; or all leases.
type Packed struct {
	Jobs    []int64
	Session string
	Before  int64
	All     bool
}

// Part is a query with a name, to which later queries of the statement may refer.
type Part struct{ Name, Query string }

// Wakeups carries hints between the processes that share a database.
type Wakeups interface {
	// Mode is "in process", "notify" or "poll".
	Mode() string
	// Announce announces topics to the other processes, soon and coalesced. Without topics it does nothing.
	Announce(topics ...string)
	// Run receives the announcements of other processes until ctx ends. It calls heard with each topic, and with "" if
	// announcements may have been lost.
	Run(ctx context.Context, heard func(topic string)) error
}

// Announcer is a transaction that can announce topics with its commit.
type Announcer interface {
	// Announce announces topics to the other processes at the commit. It reports false if it does not; then the caller uses
	// [Wakeups.Announce].
	Announce(topics []string) bool
}

// Keep is the retention of history.
type Keep struct {
	Age    time.Duration // finished jobs, attempts, logs, occurrences; default: 30 days
	Jobs   int64         // newest finished jobs; default: 1,000,000
	Events int           // newest events of a hook; default: 1,000,000

	// Before bounds the deletion: no row that ended at or after it is deleted. Zero: no bound. A store sets it to the end of the
	// rolled-up time.
	Before  time.Time
	Uploads time.Duration // pending uploads that no task names; default: 24 hours

	Results time.Duration // single results of monitors; default: 7 days. Hourly rows are kept for 100 days, daily rows for ever
}
