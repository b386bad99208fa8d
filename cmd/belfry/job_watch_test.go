package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/httpapi"
)

// restarted is a server that is away once while it is watched.
type restarted struct {
	httpapi.Service
	asked []string // cursors
	leave context.CancelFunc
}

func (r *restarted) Jobs(context.Context, belfry.JobFilter) (belfry.Page[belfry.Job], error) {
	return belfry.Page[belfry.Job]{}, nil
}

func (r *restarted) Events(_ context.Context, _, cursor string, _ time.Duration) ([]belfry.Event, string, error) {
	r.asked = append(r.asked, cursor)
	switch len(r.asked) {
	case 1:
		return nil, "begin", nil
	case 2:
		return nil, "", belfry.Errorf(belfry.Unavailable, "the server is away")
	case 3:
		return []belfry.Event{{Type: "job", Job: &belfry.Job{ID: 42, Task: "meanwhile", State: belfry.JobSucceeded}}}, "later", nil
	}
	r.leave()
	return nil, cursor, nil
}

func TestWhatHappensWhileTheServerIsAwayIsShownAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		c := newCLI(nil, &stdout, &stderr, nil)
		c.output = "table"
		server := &restarted{leave: leave}
		s := &conn{Service: server, namespace: "default", now: time.Now()}
		list := func() (belfry.Page[belfry.Job], error) { return server.Jobs(ctx, belfry.JobFilter{}) }
		if err := c.watchJobs(ctx, s, list, belfry.JobFilter{}); err != nil {
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
