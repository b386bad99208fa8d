package schedule

import (
	"time"
)

// Replan is the state of s after the clocks of its zones have been found to go otherwise than they did when its next
// time was planned. Decided occurrences stay decided: the next time is the first after the high-water mark, by the plan as
// it is now. One that has passed meanwhile is due, and [Fire] treats it as missed.
func Replan(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != Active {
		return keep(s)
	}
	return newDecider(s, plan, f, now).finish()
}

// ZoneStep is what a node does about a zone of which the database holds other data than it uses itself.
type ZoneStep string

// The work to do.
const (
	ZoneKept      ZoneStep = "kept"
	ZoneAdopted   ZoneStep = "adopted"   // use the database's from now on
	ZoneInstalled ZoneStep = "installed" // put the node's own into the database
)

// ZoneVersion is one version of a zone's data.
type ZoneVersion struct {
	Digest  string // of its offsets and changes; "" where a machine does not know the zone
	Release string // of the IANA data that it is from; "" if unknown
}

// FollowZone decides which of two versions of a zone holds for all nodes. A newer release beats an older one, whichever
// node has it. Between versions that cannot be compared, the node that starts last brings what its operator wants.
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
