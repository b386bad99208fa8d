package jobs

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
)

// maxLanes is how many lanes of its own a claim walks, and maxSeeks how many
// look-ups it takes to find them. A queue in which a session needs more is walked
// as a whole.
const (
	maxLanes = 64
	maxSeeks = 2 * maxLanes
)

// ownLanes are the lanes of a queue in which jobs are ready, leased ones among
// them, that a session can run, and whether the queue has others.
func (s *Store) ownLanes(ctx context.Context, tx base.Tx, w job.WorkerState, met []int64, queue string) (own []string, mixed bool, err error) {
	const from = `(select lane from belfry.jobs where state = 'ready' and lane >= $1 and lane < $2 order by lane`
	scan := func(rows base.Rows) (ends [2]*string, err error) { return ends, rows.Scan(&ends[0], &ends[1]) }
	ends, _, err := base.First(ctx, tx, scan, `select `+from+` limit 1), `+from+` desc limit 1)`, queue+marks.LaneEnd, queue+marks.LaneBehind)
	if err != nil || ends[0] == nil || ends[1] == nil {
		return nil, false, err
	}
	at, last := *ends[0], *ends[1]
	for range maxSeeks {
		runs, next := marks.Seek(w, met, at)
		if runs {
			own = append(own, at)
		}
		mixed = mixed || !runs
		switch {
		case len(own) > maxLanes:
			return nil, false, nil
		case next > last:
			return own, mixed, nil
		}
		found, more, err := base.First(ctx, tx, base.ScanString, `select lane from `+from+` limit 1) as next`, next, last+marks.LaneEnd)
		if err != nil || !more {
			return own, mixed, err
		}
		at = found
	}
	return nil, false, nil
}

// narrow has a claim walk the lanes that its session can run, where the queue has
// others besides. It reports whether there is one. Where the database is elsewhere,
// that a queue has become mixed is noticed beside the claims.
func (c *claim) narrow(p *picking) (some bool, err error) {
	known := &c.s.lanes
	m, due := known.Of(p.Key)
	switch {
	case m != nil && !m.Is && !due:
		return true, nil
	case m != nil && !m.Is && c.s.Far:
		c.After(func() { c.s.lookForLanes(p.Key, c.w, c.met) })
		return true, nil
	}
	begun := time.Now()
	own, mixed, err := c.s.ownLanes(c.Ctx, c.Tx, c.w, c.met, p.Key.Queue)
	if err != nil {
		return false, err
	}
	known.Note(p.Key, mixed, time.Since(begun))
	if !mixed {
		return true, nil
	}
	p.cond, p.lanes = &base.Where{}, make([]string, len(own))
	for i, lane := range own {
		p.cond.And("lane = ?", lane)
		p.lanes[i] = p.cond.Conds[i]
	}
	return len(own) > 0, nil
}

// lookForLanes looks beside the claims whether a queue has become mixed.
func (s *Store) lookForLanes(key marks.Key, w job.WorkerState, met []int64) {
	if !s.lanes.Turn(key) || !s.water.Begins() {
		return
	}
	go func() {
		defer s.water.Ended()
		begun, mixed := time.Now(), false
		err := s.readBeside(func(tx base.Tx) (err error) {
			_, mixed, err = s.ownLanes(s.Closing, tx, w, met, key.Queue)
			return err
		})
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Debug("look for lanes failed, trying again", "queue", key.Queue, "error", err)
		}
		s.lanes.Note(key, mixed, time.Since(begun))
	}()
}
