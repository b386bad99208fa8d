package belfry

import "time"

// Health is what a node says about its database and itself.
type Health struct {
	Database      string        `json:"database" doc:"sqlite or postgres, and its version"`
	SchemaVersion int64         `json:"schema_version"`
	SchemaWanted  int64         `json:"schema_wanted" doc:"The newest that this Belfry knows"`
	SchemaFloor   int64         `json:"schema_floor" doc:"The oldest that a Belfry must know to use this database"`
	Now           time.Time     `json:"now" doc:"By the clock that decides"`
	ClockSkew     time.Duration `json:"clock_skew_ns" doc:"This node's clock less the database's, in nanoseconds"`
	ScheduleLag   time.Duration `json:"schedule_lag_ns" doc:"How long the most overdue schedule waits to be fired, in nanoseconds; 0 when none does"`
	Wakeups       string        `json:"wakeups" doc:"How waiting workers learn of new jobs: in process, notify, or poll"`
	Workers       int           `json:"workers" doc:"Living sessions"`
	Zones         ZonesHealth   `json:"zones" doc:"Time zone data of this node"`
}

// Schema is what it says of the schema.
func (h Health) Schema() Schema { return Schema{h.SchemaVersion, h.SchemaFloor, h.SchemaWanted} }

// MaxClockSkew is the difference between a node's clock and the database's
// that is worth a warning.
const MaxClockSkew = time.Second
