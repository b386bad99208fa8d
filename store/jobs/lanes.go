package jobs

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
)

// narrow makes a claim walk only the lanes that its session can run, if the queue is mixed. some reports whether there is such a
// lane. With a database across a network, a look beside the claims finds out whether a queue has become mixed.
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
	own, mixed, err := marks.Own(c.Ctx, c.Tx, c.w, c.met, p.Key.Queue)
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

// lookForLanes checks, beside the claims, whether a queue has become mixed.
func (s *Store) lookForLanes(key marks.Key, w job.WorkerState, met []int64) {
	if !s.lanes.Turn(key) || !s.Marks.Begins() {
		return
	}
	go func() {
		defer s.Marks.Ended()
		begun, mixed := time.Now(), false
		err := s.readBeside(func(tx base.Tx) (err error) {
			_, mixed, err = marks.Own(s.Closing, tx, w, met, key.Queue)
			return err
		})
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Debug("search for lanes failed, trying again", "queue", key.Queue, "error", err)
		}
		s.lanes.Note(key, mixed, time.Since(begun))
	}()
}
