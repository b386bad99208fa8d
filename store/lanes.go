package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// lanes remember in which queues jobs are ready that sessions of a kind cannot
// run. A claim of such a queue lists its lanes, which is one look-up for each, and
// walks those that its session can run. Elsewhere all that is ready can be run, and
// a claim walks the queue.
type lanes struct {
	mu    sync.Mutex
	mixed map[waterKey]*mixture
}

type mixture struct {
	is    bool
	again time.Time // by the monotonic clock
}

// maxLanes is how many lanes of a queue a claim lists. A queue with more is
// walked as a whole.
const maxLanes = 64

// laneEnd separates the parts of a lane; laneBehind comes after it.
const laneEnd, laneBehind = "\x1f", "\x20"

// runs reports that a session which meets some demands can run the jobs of a lane.
func runs(w belfry.WorkerState, met []int64, lane string) bool {
	part := strings.Split(lane, laneEnd) // queue, kind, handler, namespace, demand
	if len(part) != 5 {
		return false
	}
	demand, err := strconv.ParseInt(part[4], 10, 64)
	kind := belfry.Kind(part[1])
	return err == nil && w.Runs(kind) && w.Handles(kind, part[2]) && w.RunsIn(part[3]) && (demand == 0 || slices.Contains(met, demand))
}

// ready are the lanes of a queue in which jobs are ready, leased ones among them.
func (s *Store) readyLanes(ctx context.Context, tx Tx, queue string) (all []string, err error) {
	const from = `(select lane from belfry.jobs where state = 'ready' and lane > $1 and lane < $2 order by lane`
	scan := func(rows Rows) (ends [2]*string, err error) { return ends, rows.Scan(&ends[0], &ends[1]) }
	ends, _, err := first(ctx, tx, scan, `select `+from+` limit 1), `+from+` desc limit 1)`, queue+laneEnd, queue+laneBehind)
	if err != nil || ends[0] == nil || ends[1] == nil {
		return nil, err
	}
	at, last := *ends[0], *ends[1]
	for all = append(all, at); at < last && len(all) < maxLanes; all = append(all, at) {
		next, more, err := first(ctx, tx, scanString, `select lane from `+from+` limit 1) as next`, at, last)
		if err != nil {
			return nil, err
		}
		if at = last; more {
			at = next
		}
	}
	return all, nil
}

// narrow has a claim walk the lanes that its session can run, where the queue has
// others besides. It reports whether there is one. Where the database is elsewhere,
// that a queue has become mixed is noticed beside the claims.
func (c *change) narrow(p *picking, w belfry.WorkerState, met []int64, queue string) (some bool, err error) {
	known := &c.s.lanes
	m, due := known.of(p.key)
	switch {
	case m != nil && !m.is && !due:
		return true, nil
	case m != nil && !m.is && c.s.far:
		c.after(func() { c.s.lookForLanes(p.key, w, met) })
		return true, nil
	}
	begun := time.Now()
	own, mixed, err := c.s.ownLanes(c.ctx, c.tx, w, met, queue)
	if err != nil {
		return false, err
	}
	known.note(p.key, mixed, time.Since(begun))
	if !mixed {
		return true, nil
	}
	p.cond, p.lanes = &where{}, make([]string, len(own))
	for i, lane := range own {
		p.cond.and("lane = ?", lane)
		p.lanes[i] = p.cond.conds[i]
	}
	return len(own) > 0, nil
}

// ownLanes are those that a session can run, and whether a queue has others.
func (s *Store) ownLanes(ctx context.Context, tx Tx, w belfry.WorkerState, met []int64, queue string) (own []string, mixed bool, err error) {
	all, err := s.readyLanes(ctx, tx, queue)
	for _, lane := range all {
		if runs(w, met, lane) {
			own = append(own, lane)
		}
	}
	return own, len(own) < len(all) && len(all) < maxLanes, err
}

// lookForLanes looks beside the claims whether a queue has become mixed.
func (s *Store) lookForLanes(key waterKey, w belfry.WorkerState, met []int64) {
	if !s.lanes.look(key) || !s.water.begins() {
		return
	}
	go func() {
		defer s.water.looks.Done()
		begun, mixed := time.Now(), false
		err := s.db.Read(s.closing, func(tx Tx) error {
			if walks := s.sql.Walks(); walks != "" {
				if _, err := tx.Exec(s.closing, walks); err != nil {
					return err
				}
			}
			var err error
			_, mixed, err = s.ownLanes(s.closing, tx, w, met, key.queue)
			return err
		})
		if err != nil && s.closing.Err() == nil {
			s.opt.Logger.Debug("look for lanes failed, trying again", "queue", key.queue, "error", err)
		}
		s.lanes.note(key, mixed, time.Since(begun))
	}()
}

// of is what is known of a queue, and whether to look again.
func (l *lanes) of(key waterKey) (m *mixture, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m = l.mixed[key]
	return m, m != nil && time.Now().After(m.again)
}

// look reports that it is the caller who looks.
func (l *lanes) look(key waterKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mixed[key]
	if m == nil || !time.Now().After(m.again) {
		return false
	}
	l.mixed[key] = &mixture{m.is, time.Now().Add(lookLate)}
	return true
}

func (l *lanes) note(key waterKey, mixed bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mixed) >= maxMarks {
		clear(l.mixed)
	}
	l.mixed[key] = &mixture{mixed, time.Now().Add(max(lookLate, lookRest(took)))}
}
