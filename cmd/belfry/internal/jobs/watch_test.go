package jobs

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
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

func TestWatchShowsEventsOfAnOutageAfterwards(t *testing.T) {
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

// listed is a server whose first event says what its list has said.
type listed struct {
	httpapi.Service
	asked int
	leave context.CancelFunc
}

func (l *listed) Events(_ context.Context, _, cursor string, _ time.Duration) ([]view.Event, string, error) {
	running := job.Job{ID: 42, Task: "seen", State: job.Running, Attempt: 1}
	done := running
	done.State = job.Succeeded
	switch l.asked++; l.asked {
	case 1:
		return nil, "begin", nil
	case 2:
		return []view.Event{{Type: "job", Job: &running}, {Type: "job", Job: &done}}, "later", nil
	}
	l.leave()
	return nil, cursor, nil
}

func TestARowOfTheListIsNotShownAgain(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	c := cli.New(nil, &stdout, &stdout, nil)
	s := &cli.Conn{Service: &listed{leave: leave}, NS: "default", Now: time.Now()}
	list := func() (core.Page[job.Job], error) {
		return core.Page[job.Job]{Items: []job.Job{{ID: 42, Task: "seen", State: job.Running, Attempt: 1}}}, nil
	}
	if err := watchJobs(ctx, c, s, list, job.Filter{}); err != nil {
		t.Fatal(err)
	}
	if out := stdout.String(); strings.Count(out, "running") != 1 || strings.Count(out, "succeeded") != 1 {
		t.Errorf("shown:\n%s", out)
	}
}
