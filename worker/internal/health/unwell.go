package health

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/task"
)

// Unwell are the kinds of jobs that this machine cannot begin at the moment, for
// want of file descriptors, processes, memory or room. Jobs that it could not
// begin are handed back, and none of their kind is claimed for a while, or it
// would take the most of all workers: it is always free. When the while is over
// one job is tried.
type Unwell struct {
	log  *slog.Logger
	now  func() time.Time
	some atomic.Bool // there are any: nearly always there are none

	mu    sync.Mutex
	kinds map[task.Kind]*ailment
}

type ailment struct {
	pause patience.Backoff
	until time.Time
	why   string
}

// How long a kind is left alone that could not begin.
const (
	unwellFirst = 2 * time.Second
	unwellMost  = time.Minute
)

func New(log *slog.Logger) *Unwell {
	return &Unwell{log: log, now: time.Now, kinds: map[task.Kind]*ailment{}}
}

// Saw takes notice of how an attempt ended: whether it could begin.
func (u *Unwell) Saw(kind task.Kind, began bool, why string) {
	if began && !u.some.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.kinds[kind]
	switch now := u.now(); {
	case began && a == nil:
	case began:
		delete(u.kinds, kind)
		u.some.Store(len(u.kinds) > 0)
		u.log.Info("this machine can begin jobs of this kind again", "kind", kind)
	case a == nil:
		a = &ailment{pause: patience.Backoff{First: unwellFirst, Most: unwellMost}}
		u.kinds[kind] = a
		u.some.Store(true)
		fallthrough
	case !now.Before(a.until): // of those that began together one counts
		pause := a.pause.Next()
		a.until, a.why = now.Add(pause), why
		u.log.Warn("this machine cannot begin jobs of this kind, handing them back", "kind", kind, "why", why, "again_in", pause)
	}
}

// State is which kinds must not be begun now, when the first of them may be tried again,
// and whether one is being tried.
func (u *Unwell) State() (without []task.Kind, again time.Time, trying bool) {
	if !u.some.Load() {
		return nil, time.Time{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	for _, kind := range slices.Sorted(maps.Keys(u.kinds)) {
		a := u.kinds[kind]
		if !now.Before(a.until) {
			trying = true
			continue
		}
		without = append(without, kind)
		if again.IsZero() || a.until.Before(again) {
			again = a.until
		}
	}
	return without, again, trying
}

// Cannot reports that jobs of a kind must not be begun now.
func (u *Unwell) Cannot(kind task.Kind) bool {
	if !u.some.Load() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.kinds[kind]
	return a != nil && u.now().Before(a.until)
}

// Said is what is wrong, by kind.
func (u *Unwell) Said() map[task.Kind]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[task.Kind]string, len(u.kinds))
	for kind, a := range u.kinds {
		all[kind] = a.why
	}
	return all
}
