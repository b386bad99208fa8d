package pod

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
)

// RunOptions of the second process.
type RunOptions struct {
	Dir string // that both share
	// Connect makes the broker for exactly this attempt, by its token.
	Connect func(Handover) (belfry.Broker, error)
	// Executor makes what runs the program. It is called when the file with the
	// token is gone.
	Executor func(ctx context.Context, h Handover) (worker.Executor, belfry.Has, error)
	Spool    *worker.Spool
	Name     string
	Version  string
	Grace    time.Duration // as [worker.Options.Grace]
	Logger   *slog.Logger
}

// reportFor is how long the result is offered to a server that is away. There
// is nobody after this process who could.
const reportFor = 10 * time.Minute

// Run runs what was handed over and reports it. That the program failed is no
// error: the server knows, and decides what follows.
func Run(ctx context.Context, o RunOptions) error {
	h, err := take(o.Dir)
	if err != nil {
		return err
	}
	b, err := o.Connect(h)
	if err != nil {
		return err
	}
	ex, has, err := o.Executor(ctx, h)
	if err != nil {
		return failed(ctx, b, h, err)
	}
	w, err := worker.New(worker.Options{
		Broker: &one{Broker: b, handover: h}, Name: o.Name, Version: o.Version, Has: has, Spool: o.Spool,
		Queues:    map[string]int{h.Leased.Job.Queue: 1},
		Executors: map[belfry.Kind]worker.Executor{belfry.KindProgram: ex},
		Grace:     o.Grace, Prefetch: -1, Linger: reportFor, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	_, err = w.RunOnce(ctx)
	return err
}

// failed says that this machine cannot run the program, so that nobody has to
// wait for the end of the lease.
func failed(ctx context.Context, b belfry.Broker, h Handover, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	text, _ := belfry.CleanText(why.Error(), belfry.MaxError)
	f := belfry.Finish{Ref: h.Ref(), Outcome: belfry.OutcomeError, Error: text, Infra: true}
	if _, err := b.Finish(ctx, h.Session.ID, []belfry.Finish{f}); err != nil {
		return err
	}
	return why
}

// one is a broker that has one job: what was handed over.
type one struct {
	belfry.Broker
	handover Handover
	given    atomic.Bool
}

// OpenSession takes over the session of the first process. The lease counts
// from a renewal of our own, because nobody knows how long ago its last was.
func (o *one) OpenSession(ctx context.Context, _ belfry.WorkerInfo) (belfry.Session, error) {
	r, err := o.Renew(ctx, o.handover.Session.ID, []belfry.Ref{o.handover.Ref()})
	switch {
	case err != nil:
		return belfry.Session{}, err
	case r.Lost:
		return belfry.Session{}, belfry.Errorf(belfry.Conflict, "the lease of job %d was lost before it could start", o.handover.Leased.Job.ID)
	}
	if token := r.Tokens[o.handover.Leased.Job.ID]; token != "" {
		o.handover.Leased.Token = token
	}
	s := o.handover.Session
	s.Queues = map[string]int{o.handover.Leased.Job.Queue: 1}
	return s, nil
}

// Claim gives the job, once.
func (o *one) Claim(context.Context, belfry.ClaimRequest) (belfry.Claim, error) {
	if o.given.Swap(true) {
		return belfry.Claim{}, nil
	}
	return belfry.Claim{Lease: o.handover.Lease, Jobs: []belfry.LeasedJob{o.handover.Leased}}, nil
}

// CloseSession is refused to a token that is for one attempt. The session then
// ends because nobody renews it, and holds nothing.
func (o *one) CloseSession(ctx context.Context, session string) error {
	err := o.Broker.CloseSession(ctx, session)
	switch belfry.CodeOf(err) {
	case belfry.Forbidden, belfry.Unauthorized, belfry.NotFound:
		return nil
	}
	return err
}
