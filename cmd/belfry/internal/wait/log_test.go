package wait

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// server has a job that begins at once and ends after a minute.
type server struct {
	httpapi.Service
	begun time.Time
}

func (s server) Job(context.Context, string, int64) (job.Job, error) {
	if time.Since(s.begun) >= time.Minute {
		return job.Job{ID: 7, State: job.Succeeded}, nil
	}
	return job.Job{ID: 7, State: job.Running}, nil
}

func (s server) Logs(context.Context, string, int64, job.LogFilter) (p core.Page[job.LogLine], err error) {
	return p, nil
}

func TestALateJobIsNamedAsItIs(t *testing.T) {
	t.Parallel()
	for patience, want := range map[time.Duration]string{
		time.Second:                    "job 7 has not ended, it is running",
		time.Minute - time.Millisecond: "job 7 has not ended, it is running",
		time.Hour:                      "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := cli.New(strings.NewReader(""), io.Discard, io.Discard, nil)
			conn := &cli.Conn{Service: server{begun: time.Now()}}
			err := Live(t.Context(), c, conn, job.Job{ID: 7, State: job.Scheduled}, Time(patience))
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("after %s: %v, want %q", patience, err, want)
			}
		})
	}
}

func TestARequestThatIsInterruptedSaysThatItMayHaveBeenMade(t *testing.T) {
	t.Parallel()
	other := core.Errorf(core.NotFound, "no task")
	if err := Unanswered(other, "k", ""); !errors.Is(err, other) || core.CodeOf(err) != core.NotFound {
		t.Errorf("%v", err)
	}
	for key, want := range map[string]string{"order-7": "repeat it with --key order-7", "": "look for it: belfry job list --task t"} {
		err := Unanswered(context.Canceled, key, "belfry job list --task t")
		if core.CodeOf(err) != core.Unknown || !strings.Contains(err.Error(), "may have been created") || !strings.Contains(err.Error(), want) {
			t.Errorf("with key %q: %v", key, err)
		}
	}
}
