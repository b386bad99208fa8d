package sqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/transport/sqs"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/job"
)

// within is how long a call may take whose context ends at once, on any machine.
const within = 8 * time.Second

// TestHostilePeers has services that answer badly or never: each call ends with its context, in words.
func TestHostilePeers(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	for _, p := range hostile.HTTP {
		t.Run(p.Name, func(t *testing.T) {
			s := hostile.Serve(t, p)
			place, err := sqs.Parse("sqs://elsewhere/render?endpoint=http://" + s.Address)
			if err != nil {
				t.Fatal(err)
			}
			q, err := sqs.Open(t.Context(), place, sqs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			took := func(what string, do func(ctx context.Context) error) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				begun := time.Now()
				if err := do(ctx); core.CodeOf(err) != core.Unavailable {
					t.Errorf("%s: %v", what, err)
				}
				if took := time.Since(begun); took > within {
					t.Errorf("%s took %s", what, took)
				}
			}
			took("check", q.Check)
			took("publish", func(ctx context.Context) error {
				left, err := q.Publish(ctx, []job.Ticket{{JobID: 1, Secret: "a"}})
				if len(left) != 1 {
					t.Errorf("%d tickets are left", len(left))
				}
				return err
			})
			took("receive", func(ctx context.Context) error { _, err := q.Receive(ctx, 1, time.Minute); return err })
			_ = q.Close()
			s.Closed(t, p.Name)
		})
	}
}
