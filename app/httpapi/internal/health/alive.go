package health

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
)

// lostAfter is how long checks must fail before the process reports that it must
// be restarted. A disk that hangs for a moment, or an overloaded machine, is no
// reason for a restart.
const lostAfter = 30 * time.Second

// vitality reports faults of this process that a restart would mend. It checks
// only when called, and at most once in keep, because /healthz needs no token.
type vitality struct {
	look func(ctx context.Context) error
	keep time.Duration

	mu     sync.Mutex
	at     time.Time
	failed time.Time // start of the present series of failed checks; zero: the last check succeeded
	broken bool      // the database file is damaged; a restart does not help
}

// lost returns since when checks fail, or zero if they succeed or may recover; and
// whether the database is damaged for good.
func (v *vitality) lost(ctx context.Context) (since time.Time, broken bool) {
	if v.look == nil {
		return time.Time{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if begun := time.Now(); v.at.IsZero() || begun.Sub(v.at) > v.keep {
		err := v.look(ctx)
		v.broken = errors.Is(err, core.ErrDamaged)
		if err == nil {
			v.failed = time.Time{}
		} else if v.failed.IsZero() {
			v.failed = begun
		}
		v.at = time.Now()
	}
	if v.failed.IsZero() || time.Since(v.failed) < lostAfter && !v.broken {
		return time.Time{}, false
	}
	return v.failed, v.broken
}

// alive serves /healthz. It fails only if a new process could go on and this one cannot.
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
	since, broken := s.vitality.lost(ctx)
	if since.IsZero() {
		api.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": s.Options.Version})
		return
	}
	detail, fix := "this process cannot read its database", "restart it; look at the server's log and at the disk"
	if broken {
		detail, fix = "the database file is damaged", "stop the node and restore a backup; the server's log names the file"
	}
	api.WriteJSON(w, http.StatusServiceUnavailable, map[string]string{
		"status": "failing", "version": s.Options.Version, "since": since.UTC().Format(time.RFC3339), "detail": detail, "fix": fix,
	})
}
