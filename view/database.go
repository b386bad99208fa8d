package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// DatabaseHealth is the state of a database, for an operator whose jobs get slow.
// Parts that the database in use does not have are empty.
type DatabaseHealth struct {
	Now      time.Time `json:"now"`
	Database string    `json:"database" doc:"sqlite or postgres, and its version"`
	Size     int64     `json:"size" doc:"Bytes on disk"`

	ReadyQueue string    `json:"ready_queue,omitempty" doc:"Queue whose first in line waits longest"`
	ReadyAt    time.Time `json:"ready_at,omitzero" doc:"Since when it does; empty when nothing waits"`
	DueAt      time.Time `json:"due_at,omitzero" doc:"When the most overdue schedule was to be fired; empty when none is overdue"`
	OldestAt   time.Time `json:"oldest_at,omitzero" doc:"When the oldest finished job that is kept ended"`
	Retention  Retention `json:"retention"`

	Tables      []TableHealth   `json:"tables" doc:"The largest first"`
	Transaction *OldTransaction `json:"transaction,omitempty" doc:"PostgreSQL: the one that is open longest, but for the one that asks"`
	Connections int             `json:"connections,omitempty" doc:"PostgreSQL: how many are used of the server"`
	Most        int             `json:"most_connections,omitempty" doc:"PostgreSQL: how many there may be"`
	Slots       []WALSlot       `json:"slots,omitempty" doc:"PostgreSQL: replication slots, those that hold most first; at most 20"`
	Epoch       *Epoch          `json:"epoch,omitempty" doc:"PostgreSQL: the line of history that the database is on"`
	File        *DatabaseFile   `json:"file,omitempty" doc:"SQLite"`
	Checks      []core.Check    `json:"checks" doc:"What of all this is as it should be, and what to do where it is not"`
}

// Retention describes how long history is kept.
type Retention struct {
	Age     core.Duration `json:"age" doc:"Of finished jobs, attempts, logs and occurrences"`
	Jobs    int64         `json:"jobs" doc:"How many finished jobs at most"`
	Results core.Duration `json:"results" doc:"Of single results of monitors"`
}

// TableHealth is the state of one table, or of all its partitions.
type TableHealth struct {
	Name       string    `json:"name" doc:"With its schema or prefix"`
	Rows       int64     `json:"rows" doc:"An estimate that costs nothing; on SQLite there are at most so many"`
	Size       int64     `json:"size,omitempty" doc:"PostgreSQL: bytes, with indexes"`
	Parts      int       `json:"parts,omitempty" doc:"PostgreSQL: partitions, if any"`
	Dead       int64     `json:"dead,omitempty" doc:"PostgreSQL: dead row versions that wait for a vacuum"`
	VacuumedAt time.Time `json:"vacuumed_at,omitzero" doc:"PostgreSQL: the last vacuum, by itself or by hand; of partitions, the latest"`
}

// OldTransaction is an old transaction that prevents the removal of dead rows.
type OldTransaction struct {
	Since       time.Time `json:"since"`
	Application string    `json:"application" doc:"As it calls itself"`
	State       string    `json:"state" doc:"active, idle in transaction, or prepared"`
	Own         bool      `json:"own,omitempty" doc:"Belfry's own"`
}

// WALSlot is a replication slot.
type WALSlot struct {
	Name   string `json:"name"`
	Active bool   `json:"active"`
	Held   int64  `json:"held" doc:"Bytes of write-ahead log that it keeps"`
}

// Epoch is a period of a database's history without a failover or restore that may have lost commits.
type Epoch struct {
	Number int64      `json:"number" doc:"Larger than any before; 1: the first"`
	Since  time.Time  `json:"since,omitzero" doc:"When it began; empty for the first"`
	Signs  EpochSigns `json:"signs" enum:"timeline,log,none" doc:"What the server tells for the next to be noticed: its timeline and the length of its log, the length of its log alone, or nothing"`
}

// EpochSigns is the kind of evidence that a server gives about its history.
type EpochSigns string

// The signs, strongest first.
const (
	SignsTimeline EpochSigns = "timeline"
	SignsLog      EpochSigns = "log"
	SignsNone     EpochSigns = "none"
)

// check reports the epoch, and whether the next one would be noticed. If not, the check is OK and has a fix.
func (e Epoch) check() core.Check {
	c := core.Check{Name: "epoch", OK: true, Detail: "the first"}
	if !e.Since.IsZero() {
		c.Detail = fmt.Sprintf("%d, since %s", e.Number, core.Stamp(e.Since))
	}
	const fix = "grant execute on function pg_current_wal_flush_lsn(), pg_walfile_name(pg_lsn) to the role of the nodes, and restart them; a server that has neither loses this guarantee"
	switch e.Signs {
	case SignsTimeline:
		c.Detail += "; the server tells its timeline, so a failover or restore that loses commits is noticed"
	case SignsLog:
		c.Detail += "; the server tells only the length of its log, so a failover or restore that loses commits may be missed"
		c.Fix = fix
	default:
		c.Detail += "; the server tells nothing of its history, so a failover or restore that loses commits is not noticed"
		c.Fix = fix
	}
	return c
}

// DatabaseFile is the file of SQLite.
type DatabaseFile struct {
	PageSize    int64  `json:"page_size"`
	Pages       int64  `json:"pages"`
	Free        int64  `json:"free" doc:"Pages that are not used, and will be before the file grows"`
	WAL         int64  `json:"wal" doc:"Bytes of the write-ahead log beside it"`
	Synchronous string `json:"synchronous" enum:"FULL,NORMAL,EXTRA"`
	Journal     string `json:"journal"`
	Checked     bool   `json:"checked" doc:"SQLite's integrity check has looked at the whole file and found it sound; false: it is too large for the two seconds of a look"`
}

// The thresholds from which values of a database are bad.
const (
	oldBacklog     = 10 * time.Minute
	oldDue         = time.Minute
	oldTransaction = 5 * time.Minute
	manyDead       = 100_000
	muchWAL        = 1 << 30
	muchLog        = 512 << 20
	lateRetention  = 48 * time.Hour // retention removes whole days, after their roll-up
)

// Judge returns the checks of all values.
func (d DatabaseHealth) Judge() (checks []core.Check) {
	add := func(name string, ok bool, fix, format string, args ...any) {
		c := core.Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)}
		if !ok {
			c.Fix = fix
		}
		checks = append(checks, c)
	}
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return 0
		}
		return d.Now.Sub(t).Round(time.Second)
	}
	backlog := "nothing waits"
	if !d.ReadyAt.IsZero() {
		backlog = fmt.Sprintf("the oldest job of queue %s has waited for %s", d.ReadyQueue, core.Duration(since(d.ReadyAt)))
	}
	add("backlog", since(d.ReadyAt) < oldBacklog, fmt.Sprintf("ask why: belfry queue show %s; more workers, or more slots of them, empty it", d.ReadyQueue), "%s", backlog)
	due := "none is overdue"
	if !d.DueAt.IsZero() {
		due = fmt.Sprintf("the most overdue is %s late", core.Duration(since(d.DueAt)))
	}
	add("schedules", since(d.DueAt) < oldDue, "start a node with the role engine; if one runs, see its log", "%s", due)
	history := "there is none"
	if !d.OldestAt.IsZero() {
		history = fmt.Sprintf("goes back %s, of %s that are kept", wholeDays(since(d.OldestAt)), d.Retention.Age)
	}
	add("history", since(d.OldestAt) < d.Retention.Age.D()+lateRetention, "retention does not keep up: see that a node with the role engine runs, and its log", "%s", history)
	d.judgeServer(add)
	if d.Epoch != nil {
		checks = append(checks, d.Epoch.check())
	}
	if f := d.File; f != nil {
		add("write-ahead log", f.WAL < muchLog, "something reads for very long and keeps it from being taken over: copies of the file, or an open sqlite3; it shrinks when they end", "%s", core.SizeText(f.WAL))
		add("pages", true, "", "%s of %s free", core.SizeText(f.Free*f.PageSize), core.SizeText(f.Pages*f.PageSize))
		durable := "a commit survives a power cut"
		if f.Synchronous == "NORMAL" {
			durable = "a power cut may take the last commits, a crash of the process none"
		}
		whole := "the integrity check looked at the whole file and found no damage"
		if !f.Checked {
			whole = "too large for the two seconds of a look; to check all of it: sqlite3 FILE 'pragma integrity_check'"
		}
		add("integrity", true, "", "%s", whole)
		add("durability", true, "", "synchronous %s: %s", f.Synchronous, durable)
	}
	return checks
}

// wholeDays returns a duration rounded down to days.
func wholeDays(d time.Duration) core.Duration {
	if d >= 48*time.Hour {
		d = d.Truncate(24 * time.Hour)
	}
	return core.Duration(d)
}

func (d DatabaseHealth) judgeServer(add func(name string, ok bool, fix, format string, args ...any)) {
	if d.Most == 0 {
		return
	}
	if i := slices.IndexFunc(d.Tables, func(t TableHealth) bool { return t.Dead > manyDead && t.Dead > t.Rows/5 }); i < 0 {
		add("dead rows", true, "", "few in each table")
	} else {
		t := d.Tables[i]
		alter := "alter table " + t.Name
		if t.Parts > 0 { // PostgreSQL has no such settings for all partitions together
			alter = "for each leaf of pg_partition_tree('" + t.Name + "'), alter table LEAF"
		}
		add("dead rows", false, "end old transactions first; then let autovacuum come more often: "+alter+" set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)",
			"%d in %s, beside %d rows", t.Dead, t.Name, t.Rows)
	}
	if t := d.Transaction; t == nil {
		add("oldest transaction", true, "", "none is open")
	} else {
		age := d.Now.Sub(t.Since).Round(time.Second)
		add("oldest transaction", age < oldTransaction, "while it is open no dead row can be removed: let its program end it, or set idle_in_transaction_session_timeout",
			"%s for %s, of %q", t.State, core.Duration(age), t.Application)
	}
	add("connections", d.Connections*5 < d.Most*4, "lower max_conns of nodes, put a pooler in between, or raise max_connections", "%d of %d used", d.Connections, d.Most)
	held, ok := "no replication slot holds any", true
	if len(d.Slots) > 0 {
		most := d.Slots[0]
		held, ok = fmt.Sprintf("slot %s holds %s", most.Name, core.SizeText(most.Held)), most.Held <= muchWAL
	}
	add("write-ahead log", ok, "see why its replica does not follow; if there is no longer one: select pg_drop_replication_slot('…')", "%s", held)
}
