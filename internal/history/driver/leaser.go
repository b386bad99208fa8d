package driver

import (
	"context"

	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/job"
)

// Leaser records the calls of a worker and their answers. Logs are not part of a history and pass through.
type Leaser struct {
	job.Leaser

	Writer  *history.Writer
	Process string
}

// OpenSession records the start of a session.
func (l Leaser) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	call := l.Writer.Invoke(l.Process, history.OpOpenSession, history.Args{Name: w.Name})
	s, err := l.Leaser.OpenSession(ctx, w)
	outcome(call, err, func() history.Result { return history.Result{Session: s.ID} })
	return s, err
}

// Claim records a claim.
func (l Leaser) Claim(ctx context.Context, c job.ClaimRequest) (job.Claim, error) {
	call := l.Writer.Invoke(l.Process, history.OpClaim, history.Args{Session: c.Session})
	got, err := l.Leaser.Claim(ctx, c)
	outcome(call, err, func() (r history.Result) {
		for _, j := range got.Jobs {
			r.Jobs = append(r.Jobs, history.JobResult{ID: j.Job.ID, Lease: got.Lease, Attempt: j.Job.Attempt})
		}
		return r
	})
	return got, err
}

// Renew records a renewal.
func (l Leaser) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	args := history.Args{Session: session}
	for _, h := range has.Attempts {
		args.Jobs = append(args.Jobs, history.JobArgs{ID: h.JobID, Lease: h.Lease})
	}
	call := l.Writer.Invoke(l.Process, history.OpRenew, args)
	got, err := l.Leaser.Renew(ctx, session, has)
	outcome(call, err, func() history.Result {
		r := history.Result{Lost: got.Lost}
		for _, ref := range got.Cancel {
			r.Jobs = append(r.Jobs, history.JobResult{ID: ref.JobID, Lease: ref.Lease})
		}
		return r
	})
	return got, err
}

// Finish records the ends of attempts.
func (l Leaser) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	args := history.Args{Session: session}
	for _, f := range fs {
		args.Jobs = append(args.Jobs, history.JobArgs{ID: f.JobID, Lease: f.Lease, Outcome: string(f.Outcome)})
	}
	call := l.Writer.Invoke(l.Process, history.OpFinish, args)
	done, err := l.Leaser.Finish(ctx, session, fs)
	outcome(call, err, func() (r history.Result) {
		for _, f := range done {
			r.Jobs = append(r.Jobs, history.JobResult{ID: f.JobID, Lease: f.Lease, Stale: f.Stale, State: string(f.State)})
		}
		return r
	})
	return done, err
}

// CloseSession records the end of a session.
func (l Leaser) CloseSession(ctx context.Context, session string) error {
	call := l.Writer.Invoke(l.Process, history.OpCloseSession, history.Args{Session: session})
	err := l.Leaser.CloseSession(ctx, session)
	outcome(call, err, func() history.Result { return history.Result{} })
	return err
}
