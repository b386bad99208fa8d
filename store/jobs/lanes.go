package jobs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
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

// maxLanes is how many lanes of its own a claim walks, and maxSeeks how many
// look-ups it takes to find them. A queue in which a session needs more is walked
// as a whole.
const (
	maxLanes = 64
	maxSeeks = 2 * maxLanes
)

// laneEnd separates the parts of a lane; laneBehind comes after it, and both
// before whatever a part may have in it.
const laneEnd, laneBehind = "\x1f", "\x20"

// seek is for a lane that was found: whether a session which meets some demands
// can run its jobs, and if not, the first lane behind it that the session could.
// So lanes that it cannot run cost one look-up for all that lie together, however
// many there are.
func seek(w job.WorkerState, met []int64, lane string) (own bool, next string) {
	part := strings.Split(lane, laneEnd) // queue, kind, handler, namespace, demand
	if len(part) != 5 {
		return false, lane + laneBehind
	}
	upTo := func(n int) string { return strings.Join(part[:n], laneEnd) }
	// among is the first value behind that of a part, or what comes after all of them.
	among := func(n int, values []string) string {
		first := ""
		for _, v := range values {
			if v > part[n] && (first == "" || v < first) {
				first = v
			}
		}
		if first == "" {
			return upTo(n) + laneBehind
		}
		return upTo(n) + laneEnd + first
	}
	kind := task.Kind(part[1])
	switch {
	case !w.Runs(kind):
		return false, upTo(2) + laneBehind
	case !w.Handles(kind, part[2]):
		return false, among(2, w.Funcs)
	case !w.RunsIn(part[3]):
		return false, among(3, []string{w.Namespace})
	}
	meets := []string{"0"}
	for _, id := range met {
		meets = append(meets, strconv.FormatInt(id, 10))
	}
	if slices.Contains(meets, part[4]) {
		return true, lane + laneEnd
	}
	return false, among(4, meets)
}

// ownLanes are the lanes of a queue in which jobs are ready, leased ones among
// them, that a session can run, and whether the queue has others.
func (s *Store) ownLanes(ctx context.Context, tx base.Tx, w job.WorkerState, met []int64, queue string) (own []string, mixed bool, err error) {
	const from = `(select lane from belfry.jobs where state = 'ready' and lane >= $1 and lane < $2 order by lane`
	scan := func(rows base.Rows) (ends [2]*string, err error) { return ends, rows.Scan(&ends[0], &ends[1]) }
	ends, _, err := base.First(ctx, tx, scan, `select `+from+` limit 1), `+from+` desc limit 1)`, queue+laneEnd, queue+laneBehind)
	if err != nil || ends[0] == nil || ends[1] == nil {
		return nil, false, err
	}
	at, last := *ends[0], *ends[1]
	for range maxSeeks {
		runs, next := seek(w, met, at)
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
		found, more, err := base.First(ctx, tx, base.ScanString, `select lane from `+from+` limit 1) as next`, next, last+laneEnd)
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
	m, due := known.of(p.key)
	switch {
	case m != nil && !m.is && !due:
		return true, nil
	case m != nil && !m.is && c.s.Far:
		c.After(func() { c.s.lookForLanes(p.key, c.w, c.met) })
		return true, nil
	}
	begun := time.Now()
	own, mixed, err := c.s.ownLanes(c.Ctx, c.Tx, c.w, c.met, p.key.queue)
	if err != nil {
		return false, err
	}
	known.note(p.key, mixed, time.Since(begun))
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
func (s *Store) lookForLanes(key waterKey, w job.WorkerState, met []int64) {
	if !s.lanes.look(key) || !s.water.begins() {
		return
	}
	go func() {
		defer s.water.looks.Done()
		begun, mixed := time.Now(), false
		err := s.readBeside(func(tx base.Tx) (err error) {
			_, mixed, err = s.ownLanes(s.Closing, tx, w, met, key.queue)
			return err
		})
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Debug("look for lanes failed, trying again", "queue", key.queue, "error", err)
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
	l.mixed[key] = &mixture{m.is, time.Now().Add(base.LookLate)}
	return true
}

func (l *lanes) note(key waterKey, mixed bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mixed == nil || len(l.mixed) >= maxMarks {
		l.mixed = map[waterKey]*mixture{}
	}
	l.mixed[key] = &mixture{mixed, time.Now().Add(max(base.LookLate, base.LookRest(took)))}
}
