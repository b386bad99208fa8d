package health

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// lostAfter is for how long each look must have failed before the process says
// that it has to be started again: a disk that hangs for a moment, or a machine
// that is overloaded, is no reason to.
const lostAfter = 30 * time.Second

// vitality is what this process can no longer do and would do again after a
// restart. It looks when it is asked, and no more often than every keep:
// /healthz is open to everybody.
type vitality struct {
	look func(ctx context.Context) error
	keep time.Duration

	mu     sync.Mutex
	at     time.Time
	failed time.Time // since when each look has failed; zero: the last did not
}

// lost is since when it can no longer, and zero while it can or may again.
func (v *vitality) lost(ctx context.Context) time.Time {
	if v.look == nil {
		return time.Time{}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if begun := time.Now(); v.at.IsZero() || begun.Sub(v.at) > v.keep {
		switch err := v.look(ctx); {
		case err == nil:
			v.failed = time.Time{}
		case v.failed.IsZero():
			v.failed = begun
		}
		v.at = time.Now()
	}
	if v.failed.IsZero() || time.Since(v.failed) < lostAfter {
		return time.Time{}
	}
	return v.failed
}

// alive answers as long as the process does, unless only another can go on.
func (s *server) alive(w http.ResponseWriter, r *http.Request) {
	if s.opts.Outdated != nil {
		if err := s.opts.Outdated(); err != nil {
			api.WriteJSON(w, http.StatusServiceUnavailable, map[string]string{
				"status": "outdated", "version": s.Options.Version,
				"detail": "this belfry is too old for its database", "fix": "start the belfry that migrated the database, or a newer one",
			})
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readyTimeout)
	defer cancel()
	since := s.vitality.lost(ctx)
	if since.IsZero() {
		api.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": s.Options.Version})
		return
	}
	api.WriteJSON(w, http.StatusServiceUnavailable, map[string]string{
		"status": "failing", "version": s.Options.Version, "since": since.UTC().Format(time.RFC3339),
		"detail": "this process cannot read its database", "fix": "restart it; look at the server's log and at the disk",
	})
}
