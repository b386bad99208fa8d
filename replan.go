package belfry

import "time"

// Replan is the state of s after the clocks of its zones have been found to go otherwise than they did when its next
// time was planned. What was decided stays decided: the next time is the first after the high-water mark, by the plan as
// it is now. One that has passed meanwhile is due, and [Fire] treats it as missed.
func Replan(s Schedule, plan Plan, f Facts, now time.Time) Firing {
	if s.State != ScheduleActive {
		return keep(s)
	}
	return newDecider(s, plan, f, now).finish()
}

// Reexpect is what [Replan] is for a heartbeat: a call that is still to come is awaited by the clock as it is now. One
// that is overdue already stays so.
func Reexpect(m Monitor, s MonitorState, env Surroundings, now time.Time) Judgement {
	h := hear(m, s, env, now)
	h.lapse()
	if m.Heartbeat != nil && len(m.Rules) > 0 && h.s.ExpectAt.After(now) {
		h.s.ExpectAt = h.turn(h.now)
	}
	return h.done()
}

// ZonesHealth is what a node says about the time zones that schedules of its database name.
type ZonesHealth struct {
	Data    string   `json:"data" doc:"The zone data of this machine: its release and where it comes from"`
	Adopted []string `json:"adopted,omitempty" doc:"Zones of which this machine's data is older than another node's, which is used instead; at most 20"`
	Moving  []string `json:"moving,omitempty" doc:"Zones that changed, whose schedules are being planned anew"`
}

// ZoneStep is what a node does about a zone of which the database holds other data than it uses itself.
type ZoneStep string

// What there is to do.
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
