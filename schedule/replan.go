package schedule

import (
	"time"
)

// Replan returns the state of s after the data of its time zones has changed. Decided occurrences do not change. The next
// time is the first one after the high-water mark by the new plan. If it has passed already, it is due, and [Fire] treats
// it as missed.
func Replan(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != Active {
		return keep(s)
	}
	return newDecider(s, plan, f, now).finish()
}

// ZoneStep is the action of a node if its data of a zone differs from that in the database.
type ZoneStep string

// The actions.
const (
	ZoneKept      ZoneStep = "kept"
	ZoneAdopted   ZoneStep = "adopted"   // use the data of the database from now on
	ZoneInstalled ZoneStep = "installed" // write the data of the node into the database
)

// ZoneVersion is one version of a zone's data.
type ZoneVersion struct {
	Digest  string // of its offsets and changes; "" if the machine does not know the zone
	Release string // release of the IANA data; "" if unknown
}

// FollowZone decides which of two versions of a zone applies to all nodes. A newer release replaces an older one, whichever
// node has it. If the versions cannot be compared, the node that started last prevails, as its operator wants.
func FollowZone(stored, own ZoneVersion, starting bool) ZoneStep {
	comparable := stored.Release != "" && own.Release != "" && stored.Release != own.Release
	switch {
	case own.Digest == stored.Digest:
		return ZoneKept
	case own.Digest == "":
		return ZoneAdopted
	case comparable && own.Release > stored.Release, !comparable && starting:
		return ZoneInstalled
	}
	return ZoneAdopted
}
