package jobs

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// restarted is a server that is away once while it is watched.
type restarted struct {
	httpapi.Service
	asked []string // cursors
	leave context.CancelFunc
}

func (r *restarted) Jobs(context.Context, job.Filter) (core.Page[job.Job], error) {
	return core.Page[job.Job]{}, nil
}

func (r *restarted) Events(_ context.Context, _, cursor string, _ time.Duration) ([]view.Event, string, error) {
	r.asked = append(r.asked, cursor)
	switch len(r.asked) {
	case 1:
		return nil, "begin", nil
	case 2:
		return nil, "", core.Errorf(core.Unavailable, "the server is away")
	case 3:
		return []view.Event{{Type: "job", Job: &job.Job{ID: 42, Task: "meanwhile", State: job.Succeeded}}}, "later", nil
	}
	r.leave()
	return nil, cursor, nil
}

func TestWhatHappensWhileTheServerIsAwayIsShownAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		c := cli.New(nil, &stdout, &stderr, nil)
		server := &restarted{leave: leave}
		s := &cli.Conn{Service: server, NS: "default", Now: time.Now()}
		list := func() (core.Page[job.Job], error) { return server.Jobs(ctx, job.Filter{}) }
		if err := watchJobs(ctx, c, s, list, job.Filter{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(server.asked, ","); got != ",begin,begin,later" || !strings.Contains(stdout.String(), "meanwhile") {
			t.Errorf("asked from %q, and shown:\n%s", got, stdout.String())
		}
		if !strings.Contains(stderr.String(), "the server is away; trying again") {
			t.Errorf("told: %s", stderr.String())
		}
	})
}
