package schedules

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// plans caches compiled rules by the id of their schedule. Neither id nor generation proves that they are current: after a
// rollback, such as a dry run, both are used again. So the rules themselves are compared.
type plans struct {
	mu    sync.Mutex
	byID  map[int64]planned
	zones int64 // value of [cron.ZoneChanges] when the rules were compiled
}

type planned struct {
	of        schedule.Schedule
	calendars [sha256.Size]byte
	plan      schedule.Plan
}

func (p planned) isOf(s schedule.Schedule, calendars [sha256.Size]byte) bool {
	return p.of.Namespace == s.Namespace && p.of.Name == s.Name && p.of.SameTimes(s) && p.calendars == calendars &&
		slices.Equal(p.of.Blackout, s.Blackout) && slices.Equal(p.of.Within, s.Within)
}

// digestOf is the digest of the whole content of calendars, for the same reason as in plans.
func digestOf(calendars []schedule.Calendar) (sum [sha256.Size]byte) {
	if len(calendars) == 0 {
		return sum
	}
	h := sha256.New()
	for _, c := range calendars {
		h.Write([]byte(calendarDoc(c)))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// maxPlans bounds the cache. A plan takes about a kilobyte and a few microseconds to compile, so losing one does little harm.
const maxPlans = 50_000

func newPlans() *plans { return &plans{byID: map[int64]planned{}} }

func (p *plans) of(s schedule.Schedule, calendars []schedule.Calendar) (schedule.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := cron.ZoneChanges(); now != p.zones {
		clear(p.byID)
		p.zones = now
	}
	versions := digestOf(calendars)
	if known, ok := p.byID[s.ID]; ok && known.isOf(s, versions) {
		return known.plan, nil
	}
	plan, err := s.Plan(calendars...)
	if err != nil {
		return plan, err
	}
	if len(p.byID) >= maxPlans {
		for id := range p.byID {
			delete(p.byID, id)
			break
		}
	}
	p.byID[s.ID] = planned{schedule.Schedule{Namespace: s.Namespace, Name: s.Name, Rules: slices.Clone(s.Rules), Zone: s.Zone,
		DSTGap: s.DSTGap, DSTFold: s.DSTFold, Start: s.Start, End: s.End,
		Blackout: slices.Clone(s.Blackout), Within: slices.Clone(s.Within)}, versions, plan}
	return plan, nil
}
