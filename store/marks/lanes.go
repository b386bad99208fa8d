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

// Lanes remember which queues are mixed: they have ready jobs that sessions of a kind cannot run. A lane is the ready jobs of a
// queue with equal kind, handler, namespace and requirement. A claim of a mixed queue lists its lanes, with one look-up for
// each, and walks the lanes that its session can run. A claim of any other queue walks the queue.
type Lanes struct {
	mu    sync.Mutex
	mixed map[Key]*Mixture
}

// Mixture records whether a queue is mixed, as far as the process knows.
type Mixture struct {
	Is    bool
	again time.Time // by the monotonic clock
}

// LaneEnd separates the parts of the text of a lane. LaneBehind sorts after LaneEnd, and both sort before every character of a
// part.
const LaneEnd, LaneBehind = "\x1f", "\x20"

// Seek reports whether a session that meets some requirements can run the jobs of a lane, and returns where the next look-up
// begins. If the session cannot run them, that is the first later lane that it could run: adjacent lanes that it cannot run
// cost one look-up, however many there are.
func Seek(w job.WorkerState, met []int64, lane string) (own bool, next string) {
	part := strings.Split(lane, LaneEnd) // queue, kind, handler, namespace, requirement
	if len(part) != 5 {
		return false, lane + LaneBehind
	}
	upTo := func(n int) string { return strings.Join(part[:n], LaneEnd) }
	// among returns the prefix with the first value after the value of part n, or the end of the prefix if there is none.
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

// Of returns the record of a queue, and reports whether it is due to be read again.
func (l *Lanes) Of(key Key) (m *Mixture, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m = l.mixed[key]
	return m, m != nil && time.Now().After(m.again)
}

// Turn reports whether the caller is the one that reads the lanes again. Only one caller at a time is.
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

// Note keeps the result of reading the lanes of a queue, and how long that took.
func (l *Lanes) Note(key Key, mixed bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mixed == nil || len(l.mixed) >= most {
		l.mixed = map[Key]*Mixture{}
	}
	l.mixed[key] = &Mixture{mixed, time.Now().Add(max(base.LookLate, base.LookRest(took)))}
}

// A claim walks at most maxLanes lanes that its session can run, and finds them with at most maxSeeks look-ups. If a session
// needs more, the claim walks the whole queue.
const (
	maxLanes = 64
	maxSeeks = 2 * maxLanes
)

// Own returns the lanes of a queue with ready jobs, leased ones included, that a session can run. mixed reports whether the
// queue has other lanes.
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
