package marks

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

// Lanes remember in which queues jobs are ready that sessions of a kind cannot
// run. A claim of such a queue lists its lanes, which is one look-up for each, and
// walks those that its session can run. Elsewhere all that is ready can be run, and
// a claim walks the queue.
type Lanes struct {
	mu    sync.Mutex
	mixed map[Key]*Mixture
}

// Mixture is what is known of a queue.
type Mixture struct {
	Is    bool
	again time.Time // by the monotonic clock
}

// LaneEnd separates the parts of a lane; LaneBehind comes after it, and both
// before whatever a part may have in it.
const LaneEnd, LaneBehind = "\x1f", "\x20"

// Seek is for a lane that was found: whether a session which meets some requirements
// can run its jobs, and if not, the first lane behind it that the session could.
// So lanes that it cannot run cost one look-up for all that lie together, however
// many there are.
func Seek(w job.WorkerState, met []int64, lane string) (own bool, next string) {
	part := strings.Split(lane, LaneEnd) // queue, kind, handler, namespace, requirement
	if len(part) != 5 {
		return false, lane + LaneBehind
	}
	upTo := func(n int) string { return strings.Join(part[:n], LaneEnd) }
	// among is the first value behind that of a part, or what comes after all of them.
	among := func(n int, values []string) string {
		first := ""
		for _, v := range values {
			if v > part[n] && (first == "" || v < first) {
				first = v
			}
		}
		if first == "" {
			return upTo(n) + LaneBehind
		}
		return upTo(n) + LaneEnd + first
	}
	kind := task.Kind(part[1])
	switch {
	case !w.Runs(kind):
		return false, upTo(2) + LaneBehind
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
		return true, lane + LaneEnd
	}
	return false, among(4, meets)
}

// Of is what is known of a queue, and whether to look again.
func (l *Lanes) Of(key Key) (m *Mixture, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m = l.mixed[key]
	return m, m != nil && time.Now().After(m.again)
}

// Turn reports that it is the caller who looks.
func (l *Lanes) Turn(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mixed[key]
	if m == nil || !time.Now().After(m.again) {
		return false
	}
	l.mixed[key] = &Mixture{m.Is, time.Now().Add(base.LookLate)}
	return true
}

// Note keeps what a look has found.
func (l *Lanes) Note(key Key, mixed bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mixed == nil || len(l.mixed) >= most {
		l.mixed = map[Key]*Mixture{}
	}
	l.mixed[key] = &Mixture{mixed, time.Now().Add(max(base.LookLate, base.LookRest(took)))}
}

// maxLanes is how many lanes of its own a claim walks, and maxSeeks how many
// look-ups it takes to find them. A queue in which a session needs more is walked
// as a whole.
const (
	maxLanes = 64
	maxSeeks = 2 * maxLanes
)

// Own are the lanes of a queue in which jobs are ready, leased ones among
// them, that a session can run, and whether the queue has others.
func Own(ctx context.Context, tx base.Tx, w job.WorkerState, met []int64, queue string) (own []string, mixed bool, err error) {
	const from = `(select lane from belfry.jobs where state = 'ready' and lane >= $1 and lane < $2 order by lane`
	scan := func(rows base.Rows) (ends [2]*string, err error) { return ends, rows.Scan(&ends[0], &ends[1]) }
	ends, _, err := base.First(ctx, tx, scan, `select `+from+` limit 1), `+from+` desc limit 1)`, queue+LaneEnd, queue+LaneBehind)
	if err != nil || ends[0] == nil || ends[1] == nil {
		return nil, false, err
	}
	at, last := *ends[0], *ends[1]
	for range maxSeeks {
		runs, next := Seek(w, met, at)
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
		found, more, err := base.First(ctx, tx, base.ScanString, `select lane from `+from+` limit 1) as next`, next, last+LaneEnd)
		if err != nil || !more {
			return own, mixed, err
		}
		at = found
	}
	return nil, false, nil
}
