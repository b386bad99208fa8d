package schedules

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// parted is an occurrence of a schedule, in the parts that are written as rows.
type parted struct {
	of    schedule.Schedule
	parts []schedule.Occurrence
}

// notifyMissed notifies of occurrences that will never run, once for each whole occurrence, if this transaction decided it.
func (c *Change) notifyMissed(all []parted, mine map[identity]bool) error {
	for _, p := range all {
		var whole schedule.Occurrence
		for _, o := range p.parts {
			switch {
			case !mine[identity{o.ScheduleID, base.Micros(o.Nominal)}]:
			case whole.Count == 0:
				whole = o
			default:
				whole.Until, whole.Count = base.LaterOf(o.Nominal, o.Until), min(whole.Count+o.Count, core.CountLimit+1)
			}
		}
		if whole.Count == 0 {
			continue
		}
		if err := c.s.Hooks.Missed(c, p.of, whole); err != nil {
			return err
		}
	}
	return nil
}
