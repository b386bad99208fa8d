package view

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Health is the report of a node about its database and itself.
type Health struct {
	Database      string        `json:"database" doc:"sqlite or postgres, and its version"`
	SchemaVersion int64         `json:"schema_version"`
	SchemaWanted  int64         `json:"schema_wanted" doc:"The newest that this Belfry knows"`
	SchemaFloor   int64         `json:"schema_floor" doc:"The oldest that a Belfry must know to use this database"`
	Now           time.Time     `json:"now" doc:"By the clock that decides"`
	ClockSkew     time.Duration `json:"clock_skew_ns" doc:"This node's clock less the database's, in nanoseconds"`
	ScheduleLag   time.Duration `json:"schedule_lag_ns" doc:"How long the most overdue schedule waits to be fired, in nanoseconds; 0 when none does"`
	Wakeups       string        `json:"wakeups" doc:"How waiting workers learn of new jobs: in process, notify, or poll"`
	QuietUntil    time.Time     `json:"quiet_until,omitzero" doc:"The clock was set back: planned times of schedules and checks of monitors that ran before do not run again, and are quiet until it shows this time; absent: none are"`
	Workers       int           `json:"workers" doc:"Living sessions"`
	Zones         ZonesHealth   `json:"zones" doc:"Time zone data of this node"`
	Full          bool          `json:"full,omitempty" doc:"The disk of the database had no room for what this node was to write within the last 15 s"`
	ReadOnly      bool          `json:"read_only,omitempty" doc:"The database refused what this node was to write within the last 15 s, because it is a standby, or it, its file or its disk is set to read only"`
	DiskFails     bool          `json:"disk_fails,omitempty" doc:"The disk of the database failed what this node was to write within the last 15 s"`
}

// Room returns the check of whether the database takes writes.
func (h Health) Room() core.Check {
	if h.Full {
		return core.Check{Name: "database", Detail: "its disk is full, and nothing can be written", Fix: "make room on the disk of the database"}
	}
	if h.DiskFails {
		return core.Check{Name: "database", Detail: "its disk fails, and writes are refused", Fix: "check the disk, the permissions of the file and the log of the kernel"}
	}
	if h.ReadOnly && strings.HasPrefix(h.Database, "sqlite") {
		return core.Check{Name: "database", Detail: "it takes no writes: its file or its disk is read-only", Fix: "make the file writable, and mount its disk for writing: after errors of the disk, check that first"}
	}
	if h.ReadOnly {
		return core.Check{Name: "database", Detail: "it takes no writes: it is a standby, or set to read only", Fix: "point the address at the primary, or add target_session_attrs=read-write"}
	}
	return core.Check{Name: "database", OK: true}
}

// Quiet returns the check of whether the clock was set back behind planned times that ran.
func (h Health) Quiet() core.Check {
	if h.QuietUntil.IsZero() {
		return core.Check{Name: "clock", OK: true}
	}
	return core.Check{
		Name:   "clock",
		Detail: "it was set back: planned times of schedules and checks of monitors are quiet until " + core.Stamp(h.QuietUntil),
		Fix:    "set the clock that decides if it is behind; if it is right, wait; what is quiet for more than a day goes on when it is paused and resumed: belfry schedule pause NAME, belfry schedule resume NAME, and the same of monitors",
	}
}

// Schema returns the schema version of the report.
func (h Health) Schema() core.Schema {
	return core.Schema{Version: h.SchemaVersion, Floor: h.SchemaFloor, Known: h.SchemaWanted}
}

// MaxClockSkew is the difference between the clocks of a node and its database
// from which a warning is given.
const MaxClockSkew = time.Second

// ZonesHealth is the report of a node about the time zones of the schedules in its database.
type ZonesHealth struct {
	Data    string   `json:"data" doc:"The zone data of this machine: its release and where it comes from"`
	Adopted []string `json:"adopted,omitempty" doc:"Zones of which this machine's data is older than another node's, which is used instead; at most 20"`
	Moving  []string `json:"moving,omitempty" doc:"Zones that changed, whose schedules are being planned anew"`
}
