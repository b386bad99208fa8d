package jobs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

type staleCounter struct {
	base.Observer
	jobs int
}

func (c *staleCounter) Stale(jobs int) { c.jobs += jobs }

// A worker that reports thousands of results under wrong leases writes a few lines into the node's log.
func TestManyStaleResultsAreFewLinesOfLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	count := &staleCounter{}
	s := &Store{Store: &base.Store{Opt: base.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: count}}}
	const many = 5000
	out := make([]job.Finished, many)
	for i := range out {
		out[i].Stale = true
	}
	s.TellStale("s", make([]job.Finish, many), out)
	if n := strings.Count(log.String(), "\n"); n > maxNamedStale+1 || !strings.Contains(log.String(), "jobs=4990") {
		t.Errorf("got %d lines of log, want at most %d, with jobs=4990: %.2000s", n, maxNamedStale+1, log.String())
	}
	if count.jobs != many {
		t.Errorf("stale results counted: got %d, want %d", count.jobs, many)
	}
}
