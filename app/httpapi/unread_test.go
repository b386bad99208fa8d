package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/job"
)

// unread is an answer whose client has left.
type unread struct{ *httptest.ResponseRecorder }

func (unread) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A client that leaves, or reads too slowly, is no fault of the server's.
func TestAnAnswerThatIsNotRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.when("Queues", func(context.Context, []any) (any, error) { return []job.QueueStats{{}}, nil })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/queues", nil)
	r.Header.Set("Authorization", "Bearer root")
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // net/http compares it just so
				t.Errorf("it ends with %v, and the connection is not cut", v)
			}
		}()
		b.server.Handler().ServeHTTP(unread{httptest.NewRecorder()}, r)
	}()
	if log := b.logged.text(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "stack") || !strings.Contains(log, "answer was not read to its end") {
		t.Errorf("it logs %s", log)
	}
}
