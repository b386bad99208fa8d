package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
)

// A process that cannot read for good says so to whoever may restart it, and one
// that could not for a moment does not.
func TestAliveUntilReadsFailForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fault error
		a, err := api.New(api.Options{Auth: struct{ api.Authenticator }{}})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{API: a}
		s.vitality = vitality{keep: time.Second, look: func(context.Context) error { return fault }}
		ask := func() int {
			w := httptest.NewRecorder()
			s.alive(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
			return w.Code
		}
		for _, step := range []struct {
			after time.Duration
			fault error
			want  int
		}{
			{0, nil, http.StatusOK},
			{10 * time.Second, errors.New("it cannot be read"), http.StatusOK},
			{20 * time.Second, errors.New("it cannot be read"), http.StatusOK},
			{5 * time.Second, nil, http.StatusOK},
			{5 * time.Second, errors.New("it cannot be read"), http.StatusOK},
			{29 * time.Second, errors.New("it cannot be read"), http.StatusOK},
			{2 * time.Second, errors.New("it cannot be read"), http.StatusServiceUnavailable},
			{500 * time.Millisecond, nil, http.StatusServiceUnavailable}, // it looks once a second
			{time.Second, nil, http.StatusOK},
			{2 * time.Second, fmt.Errorf("a read: %w", core.ErrDamaged), http.StatusServiceUnavailable}, // which no restart mends
		} {
			time.Sleep(step.after)
			fault = step.fault
			if got := ask(); got != step.want {
				t.Errorf("after %s more, with %v: %d, want %d", step.after, step.fault, got, step.want)
			}
		}
	})
}
