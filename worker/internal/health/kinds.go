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

// Kinds records the kinds of jobs that this machine currently cannot start, for
// lack of file descriptors, processes, memory or disk. Such jobs are handed back,
// and no job of their kind is claimed for a pause. Without the pause the worker
// would take most jobs, because its slots are always free. After the pause it
// tries one job.
type Kinds struct {
	log       *slog.Logger
	now       func() time.Time
	anyPaused atomic.Bool // any kind is paused; nearly always false, and cheap to read

	mu    sync.Mutex
	kinds map[task.Kind]*pausedKind
}

// pausedKind is a kind that could not start, and its pause.
type pausedKind struct {
	pause patience.Backoff
	until time.Time
	why   string
}

// The pause of a kind that could not start, from the first to the longest.
const (
	firstPause = 2 * time.Second
	maxPause   = time.Minute
)

// New returns a record without paused kinds.
func New(log *slog.Logger) *Kinds {
	return &Kinds{log: log, now: time.Now, kinds: map[task.Kind]*pausedKind{}}
}

// Record records whether an attempt could start, and if not, why.
func (k *Kinds) Record(kind task.Kind, began bool, why string) {
	if began && !k.anyPaused.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.kinds[kind]
	switch now := k.now(); {
	case began && a == nil:
	case began:
		delete(k.kinds, kind)
		k.anyPaused.Store(len(k.kinds) > 0)
		k.log.Info("this machine can start jobs of this kind again", "kind", kind)
	case a == nil:
		a = &pausedKind{pause: patience.Backoff{First: firstPause, Most: maxPause}}
		k.kinds[kind] = a
		k.anyPaused.Store(true)
		fallthrough
	case !now.Before(a.until): // of attempts that started together, one counts
		pause := a.pause.Next()
		a.until, a.why = now.Add(pause), why
		k.log.Warn("this machine cannot start jobs of this kind, handing them back", "kind", kind, "why", why, "again_in", pause)
	}
}

// State returns the kinds that must not start now, when the first of them may be
// tried again, and whether one is being tried.
func (k *Kinds) State() (without []task.Kind, again time.Time, trying bool) {
	if !k.anyPaused.Load() {
		return nil, time.Time{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, kind := range slices.Sorted(maps.Keys(k.kinds)) {
		a := k.kinds[kind]
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

// IsPaused reports whether jobs of a kind must not start now.
func (k *Kinds) IsPaused(kind task.Kind) bool {
	if !k.anyPaused.Load() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.kinds[kind]
	return a != nil && k.now().Before(a.until)
}

// Reasons returns the last error of each paused kind.
func (k *Kinds) Reasons() map[task.Kind]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make(map[task.Kind]string, len(k.kinds))
	for kind, a := range k.kinds {
		all[kind] = a.why
	}
	return all
}
