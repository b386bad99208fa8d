package pod

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// ClaimOptions are the options of the first process.
type ClaimOptions struct {
	Leaser  job.Leaser
	Fetcher Fetcher
	Worker  job.WorkerInfo // Kinds and Once are set here
	Server  string         // address of the server for the second process
	Dir     string         // shared folder
	// Wait is how long to wait for a job. Zero: one claim without a wait.
	Wait   time.Duration
	Logger *slog.Logger
}

// turn is how long a claim waits at one of several queues.
const turn = time.Second

// claimPatience is the time limit of a claim beyond its wait.
const claimPatience = 10 * time.Second

// Claim claims one job and hands it over. It reports false if no job came in
// time. If it fails after the claim, the job is released as a fault of the
// machine; if the context ends, as one that was not started.
func Claim(ctx context.Context, o ClaimOptions) (bool, error) {
	o.Worker.Kinds, o.Worker.Once = []task.Kind{task.KindProgram}, true
	for name := range o.Worker.Queues {
		o.Worker.Queues[name] = 1
	}
	session, err := o.Leaser.OpenSession(ctx, o.Worker)
	if err != nil {
		return false, err
	}
	h := Handover{Server: o.Server, Session: session}
	found, err := o.wait(ctx, &h)
	if err != nil || !found {
		return false, joinClose(err, o.close(ctx, session.ID))
	}
	o.Logger.Info("claimed", "job", h.Leased.Job.ID, "task", h.Leased.Job.Task, "lease", h.Lease, "session", session.ID)
	if err := o.prepare(ctx, h); err != nil {
		return false, joinClose(err, o.giveBack(ctx, h, err))
	}
	return true, nil
}

func joinClose(err, closing error) error {
	if err != nil {
		return err // the other error is a consequence, or the session ends by itself
	}
	return closing
}

// wait claims at one queue after another, so that no more than one job is
// claimed.
func (o ClaimOptions) wait(ctx context.Context, h *Handover) (found bool, err error) {
	queues := slices.Collect(maps.Keys(h.Session.Queues))
	if len(h.Session.Order) > 0 {
		queues = h.Session.Order
	}
	end := time.Now().Add(o.Wait)
	renewed, settled := time.Now(), int64(0)
	for round := 0; ; round++ {
		for _, queue := range queues {
			wait := min(time.Until(end), job.MaxClaimWait.D(), h.Session.TTL.D()/3)
			if len(queues) > 1 {
				wait = min(wait, turn)
			}
			if round == 0 {
				wait = 0 // the first round looks at all queues without a wait
			}
			c, err := o.claim(ctx, h.Session.ID, queue, max(wait, 0))
			if err != nil {
				return false, err
			}
			if len(c.Jobs) > 0 {
				h.Lease, h.Leased = c.Lease, c.Jobs[0]
				return true, nil
			}
			if time.Since(renewed) > h.Session.TTL.D()/4 {
				renewed = time.Now()
				r, err := o.Leaser.Renew(ctx, h.Session.ID, job.Holdings{Settled: settled})
				if err != nil || r.Lost || r.Drain {
					return false, err
				}
				settled = r.Settled
			}
		}
		if len(queues) == 0 || time.Now().After(end) {
			return false, nil
		}
	}
}

func (o ClaimOptions) claim(ctx context.Context, session, queue string, wait time.Duration) (job.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+claimPatience)
	defer cancel()
	return o.Leaser.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{queue: 1}, Wait: core.Duration(wait)})
}

// prepare fetches the artifact while the lease is renewed, and writes the
// handover. The last renewal is just before the end, so that the second process
// has a whole lease to start in.
func (o ClaimOptions) prepare(ctx context.Context, h Handover) error {
	if h.Leased.Token == "" {
		return core.Errorf(core.Invalid, "the server gave no token for this attempt, and without it nobody else can hold it")
	}
	work, cancel := context.WithCancelCause(ctx)
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		o.renew(work, h, cancel)
	}()
	err := o.Fetcher.Prefetch(work, h.Leased)
	if cause := context.Cause(work); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	<-renewing
	if err != nil {
		return fmt.Errorf("fetch the program of job %d: %w", h.Leased.Job.ID, err)
	}
	r, err := o.Leaser.Renew(ctx, h.Session.ID, job.Held(h.Ref()))
	switch {
	case err != nil:
		return err
	case r.Lost || slices.Contains(r.Cancel, h.Ref()):
		return errEnded
	}
	if token := r.Tokens[h.Leased.Job.ID]; token != "" {
		h.Leased.Token = token
	}
	return h.write(o.Dir)
}

var errEnded = core.Errorf(core.Conflict, "the job was asked to end, or the session was lost, before it could start")

func (o ClaimOptions) renew(ctx context.Context, h Handover, stop context.CancelCauseFunc) {
	tick := time.NewTicker(max(h.Session.TTL.D()/6, 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := o.Leaser.Renew(ctx, h.Session.ID, job.Held(h.Ref()))
		if err == nil && (r.Lost || slices.Contains(r.Cancel, h.Ref())) {
			stop(errEnded)
		}
	}
}

// endWait is the time limit of the last calls after a failure.
const endWait = 10 * time.Second

// giveBack releases a job that was claimed and cannot be handed over.
func (o ClaimOptions) giveBack(ctx context.Context, h Handover, why error) error {
	f := h.unstarted(ctx, why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	if _, err := o.Leaser.Finish(ctx, h.Session.ID, []job.Finish{f}); err != nil {
		o.Logger.Warn("job was not handed back and waits for the end of its lease", "job", h.Leased.Job.ID, "error", err)
	}
	return o.close(ctx, h.Session.ID)
}

func (o ClaimOptions) close(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	return o.Leaser.CloseSession(ctx, session)
}
