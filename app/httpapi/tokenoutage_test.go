package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
)

// awayStore is a store whose database is away for renewals, or for the look for programs alone.
type awayStore struct {
	*store.Store
	mu            sync.Mutex
	renew, tokens error
	looks         int
}

func (a *awayStore) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	a.mu.Lock()
	err := a.renew
	a.mu.Unlock()
	if err != nil {
		return job.Renewal{}, err
	}
	return a.Store.Renew(ctx, session, has)
}

func (a *awayStore) RunningPrograms(ctx context.Context, session string, refs []job.Ref) (map[job.Ref]string, error) {
	a.mu.Lock()
	a.looks++
	err := a.tokens
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return a.Store.RunningPrograms(ctx, session, refs)
}

// A renewal that fails looks for no programs, and an outage of tokens is one line of the log.
func TestAnOutageDoesNotFillTheLogWithTokens(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &awayStore{}
	s := newStrangers(t, func(o *Options) {
		a.Store = o.Service.(*store.Store)
		o.Service, o.Attempts, o.Logger = a, api.Attempts(a), slog.New(slog.NewTextHandler(&log, nil))
	})
	session, j, _ := s.claimed()
	has := job.Held(job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease})
	s.age()
	renew := func(renew, tokens error) (looks int, tokensOf map[int64]string) {
		t.Helper()
		a.mu.Lock()
		a.renew, a.tokens, a.looks = renew, tokens, 0
		a.mu.Unlock()
		for range 5 {
			r, err := s.st.Renew(t.Context(), session.ID, has)
			if err != nil {
				t.Fatal(err)
			}
			r, err = s.worker.Renew(t.Context(), session.ID, has)
			if (err != nil) != (renew != nil) {
				t.Fatal(err)
			}
			if len(r.Tokens) > 0 {
				tokensOf = r.Tokens
			}
		}
		return a.looks, tokensOf
	}
	away := core.Errorf(core.Unavailable, "the database is away")
	if looks, _ := renew(away, away); looks != 0 || strings.Contains(log.String(), "tokens") {
		t.Errorf("renewals that failed: %d looks for programs, and the log says: %s", looks, &log)
	}
	if looks, _ := renew(nil, away); looks != 5 || strings.Count(log.String(), "tokens of attempts cannot be renewed") != 1 {
		t.Errorf("%d looks for programs; the log says: %s", looks, &log)
	}
	if _, tokens := renew(nil, nil); len(tokens) != 1 {
		t.Errorf("after the outage: tokens %v", tokens)
	}
}
