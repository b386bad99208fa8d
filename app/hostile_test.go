package app

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// TestHostilePeersDoNotHoldUpANode has brokers of both kinds and a provider to sign in through that take a connection and
// never answer, or a byte at a time. The node starts, runs jobs of other queues, says what is wrong and stops.
func TestHostilePeersDoNotHoldUpANode(t *testing.T) {
	for _, p := range []hostile.Peer{hostile.TCP[0], hostile.TCP[1]} {
		t.Run(p.Name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "x")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
			s := hostile.Serve(t, p)
			o := options(t)
			o.Brokers = map[string]string{"letters": "nats://" + s.Address + "/S", "pictures": "sqs://elsewhere/render?endpoint=http://" + s.Address}
			o.OIDCIssuer, o.OIDCClientID, o.OIDCDefault = "http://"+s.Address, "belfry", "default:read"
			o.Name = "node"
			o.Roles = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}
			a, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("the start took %s", took)
			}
			stopped := false
			stop := func() {
				if begun := time.Now(); !stopped {
					stopped = true
					if err := a.Stop(context.Background()); err != nil {
						t.Errorf("stop: %v", err)
					}
					if took := time.Since(begun); took > 20*time.Second {
						t.Errorf("the stop took %s", took)
					}
				}
			}
			defer stop()
			ctx, c := within(t), dial(t, a)
			echo(ctx, t, c)
			for _, queue := range []string{"letters", "pictures"} { // so that there is something to ring for
				must(t, c.SaveQueue, ctx, job.Queue{Name: queue})
				must(t, c.CreateTask, ctx, task.Task{Name: queue, Queue: queue, Command: &task.Command{Argv: []string{"true"}}})
				must(t, c.Enqueue, ctx, []job.NewJob{{Task: queue}})
			}
			made := must(t, c.Enqueue, ctx, []job.NewJob{{Task: "echo"}})
			if done, err := WaitJob(ctx, c, core.DefaultNamespace, made[0].Job.ID); err != nil || done.State != job.Succeeded {
				t.Errorf("%+v, %v", done, err)
			}
			web := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := web.Get(a.URL() + "/sign-in/oidc")
			if err != nil || resp.StatusCode < 500 {
				t.Errorf("sign-in: %v %v", resp, err)
			}
			if err == nil {
				_ = resp.Body.Close()
			}
			web.CloseIdleConnections()
			stop()
			s.Closed(t, strings.ToLower(p.Name))
		})
	}
}

// must makes a call that has to work.
func must[A, B any](t *testing.T, call func(context.Context, A) (B, error), ctx context.Context, a A) B { //nolint:revive // a call's own order
	t.Helper()
	b, err := call(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
