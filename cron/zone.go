package cron

import (
	"time"

	"github.com/belfry-run/belfry/cron/internal/zone"
)

// LoadZone finds a time zone by its IANA name. "" is UTC. "Local" is refused: the machine's zone is not part of a rule,
// and two nodes may differ in it.
//
// The data comes from the ZONEINFO variable or the system if they have it, so that it can be updated without a new
// binary, and otherwise from the database embedded in the binary. [ZoneVersion] says which. A zone is loaded once in
// the life of a process, so new data counts from the next start on, and all rules of a zone share it. Only [AdoptZone]
// replaces it before.
func LoadZone(name string) (*time.Location, error) { return zone.Load(name) }

// ZoneNames lists the zones of the IANA time zone database, sorted. It serves suggestions and pickers; LoadZone knows
// also what a newer database on the machine has.
func ZoneNames() []string { return zone.Names() }

// ZoneVersion returns which time zone data LoadZone uses, for a status page or to compare nodes: its release if the
// source tells it ("2026b, from /usr/share/zoneinfo"), otherwise where it comes from.
func ZoneVersion() string { return zone.Version() }

// ZoneRelease is the release of the IANA data that [LoadZone] reads, such as "2026b", or "" where its source does not
// say. Of two releases the newer one is the greater text.
func ZoneRelease() string { return zone.Release() }

// LoadedZones are the names that [LoadZone] has answered in this process, sorted, without UTC.
func LoadedZones() []string { return zone.Loaded() }

// ZoneLoads counts the names that [LoadedZones] lists.
func ZoneLoads() int64 { return zone.Loads() }

// ZoneData is what a zone says of the years 1970 to 2100, in the form of RFC 8536 (TZif), so that it can be handed to a
// machine whose own data is older.
type ZoneData struct {
	// Digest names the clock changes and offsets alone. Two packagings of one release have the same, whatever they call
	// the zone's abbreviations.
	Digest string
	TZif   []byte
}

// DataOf is the data of the zone that [LoadZone] answers for a name.
func DataOf(name string) (ZoneData, error) {
	data, err := zone.DataOf(name)
	return ZoneData(data), err
}

// AdoptZone makes [LoadZone] answer data that came from elsewhere for a name, in all of this process and until it ends.
// Rules that were compiled before keep what they had; [ZoneChanges] tells that it is time to compile them anew.
func AdoptZone(name string, tzif []byte) error { return zone.Adopt(name, tzif) }

// ZoneChanges counts how often a zone was replaced in this process.
func ZoneChanges() int64 { return zone.Changes() }
