package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// A server takes bodies of 4 MiB by default, and a worker may run thousands of jobs.
func TestProgressOfManyAttemptsGoesInSeveralRequests(t *testing.T) {
	t.Parallel()
	seen, requests := map[int64]bool{}, 0
	c := dial(t, serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) > 4<<20 {
			t.Errorf("a request of %d bytes, %v", len(body), err)
		}
		var in wire.SessionProgress
		if err := json.Unmarshal(body, &in); err != nil {
			t.Error(err)
		}
		for _, p := range in.Attempts {
			seen[p.JobID] = true
		}
		requests++
		w.WriteHeader(http.StatusNoContent)
	}).URL, Options{})
	counters := map[string]int64{}
	for i := range job.MaxCounters {
		counters[strings.Repeat("\"", job.MaxCounterName-2)+strconv.Itoa(i)] = 1 << 60
	}
	ps := make([]job.AttemptProgress, 2000)
	for i := range ps {
		ps[i] = job.AttemptProgress{Ref: job.Ref{JobID: int64(i + 1), Lease: 1 << 60}, Progress: job.Progress{Percent: 12.34, Message: strings.Repeat("\\", job.MaxProgressMessage), Counters: counters}}
	}
	if err := c.SaveProgress(t.Context(), "s", ps); err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(ps) || requests < 2 {
		t.Errorf("%d requests brought the progress of %d attempts, want %d", requests, len(seen), len(ps))
	}
}
