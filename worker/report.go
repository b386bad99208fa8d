package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// How results travel.
const (
	reportFor    = 10 * time.Minute // how long a result is kept that cannot be delivered
	finishWait   = 15 * time.Second // longest a call may take
	maxFinishes  = 1000             // results in one call
	maxFinishLen = 4 << 20          // bytes of output in one call

	// manyFinishes are worth a second call beside the one under way. Fewer are
	// cheaper in the call after it.
	manyFinishes = maxFinishes / 2
)

// report is a result on its way. It carries no context: what ends the attempt,
// its session or the worker must not be able to stop it.
type report struct {
	session  string
	finish   job.Finish
	since    time.Time
	expected bool  // a stale answer is no surprise: the handler settled the job itself, or it is long ago
	replaced bool  // the broker refused the first version
	spooled  bool  // it is on disk until it is answered
	left     bool  // by an earlier worker, under a session that may not be this one's to speak for
	owner    owner // told once, whatever came of it; may be nil
}

// owner of a result learns that it was answered, or given up.
type owner interface{ answered() }

// reporter delivers results, one call at a time. What arrives while a call is
// under way goes into the next, so an idle worker adds no delay and a busy one
// fills its calls. Where results come faster than one call after the other takes
// them, there is a second beside it.
type reporter struct {
	broker job.Leaser
	log    *slog.Logger
	watch  Observer

	mu      sync.Mutex
	queue   []report
	spare   []report // of a batch that was answered, for the queue
	pending int      // in queue and under way
	failing bool     // the last call did
	wake    chan struct{}
	many    chan struct{} // has something when manyFinishes wait
	empty   chan struct{} // closed while pending is 0
	pause   patience.Backoff
	outage  patience.Outage
	sending sync.Pool // of *[]belfry.Finish
}

func newReporter(b job.Leaser, log *slog.Logger, watch Observer) *reporter {
	r := &reporter{
		broker: b, log: log, watch: watch,
		wake: make(chan struct{}, 1), many: make(chan struct{}, 1), empty: make(chan struct{}),
		pause:  patience.Backoff{First: 100 * time.Millisecond, Most: 3 * time.Second},
		outage: patience.Outage{Log: log, What: "results cannot be reported"},
	}
	close(r.empty)
	return r
}

// put takes a result over.
func (r *reporter) put(rep report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == 0 {
		r.empty = make(chan struct{})
	}
	r.pending++
	r.queue = append(r.queue, rep)
	signal(r.wake)
	if len(r.queue) >= manyFinishes {
		signal(r.many)
	}
}

// flush waits until every result is answered, and reports whether it was
// before the context ended.
func (r *reporter) flush(ctx context.Context) bool {
	r.mu.Lock()
	empty := r.empty
	r.mu.Unlock()
	select {
	case <-empty:
		return true
	case <-ctx.Done():
		return false
	}
}

// run delivers until the context ends, which is to be when nobody puts any
// more. What is left then is logged as lost.
func (r *reporter) run(ctx context.Context) {
	defer r.giveUp()
	var second sync.WaitGroup
	second.Go(func() { r.each(ctx, r.many, manyFinishes, r.deliverGood) })
	defer second.Wait()
	r.each(ctx, r.wake, 1, r.deliver)
}

// each delivers batches while at least so many results wait.
func (r *reporter) each(ctx context.Context, wake <-chan struct{}, least int, deliver func(context.Context, []report)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		for ctx.Err() == nil {
			batch := r.take(least)
			if len(batch) == 0 {
				break
			}
			deliver(ctx, batch)
		}
	}
}

func (r *reporter) giveUp() {
	r.mu.Lock()
	left := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, rep := range left {
		if rep.spooled {
			r.log.Warn("result was not reported and is kept for the next start", "job", rep.finish.JobID, "lease", rep.finish.Lease)
			rep.owner = nil // who would forget it
			r.done(rep)
			continue
		}
		r.drop(rep, "worker ended first")
	}
}

// take is the next batch: results of one session, in the order they came.
// Where calls fail, nobody but one tries.
func (r *reporter) take(least int) []report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) < least || least > 1 && r.failing {
		return nil
	}
	n, size := 0, 0
	for n < len(r.queue) && n < maxFinishes && size < maxFinishLen && r.queue[n].session == r.queue[0].session {
		size += len(r.queue[n].finish.Output) + len(r.queue[n].finish.Error)
		n++
	}
	batch, rest := r.queue[:n], r.queue[n:]
	r.queue, r.spare = append(r.spare[:0], rest...), nil // behind the batch, it would grow for ever into new memory
	clear(rest)
	return batch
}

// reuse takes a batch back that nobody looks at any more.
func (r *reporter) reuse(batch []report) {
	clear(batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(batch) > cap(r.spare) && cap(batch) <= 4*maxFinishes {
		r.spare = batch[:0]
	}
}

func (r *reporter) putBack(batch []report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(batch, r.queue...)
}

func (r *reporter) deliver(ctx context.Context, batch []report) {
	answers, err := r.call(ctx, batch)
	r.outage.Saw(err)
	switch {
	case err == nil:
		r.pause.Reset()
		r.settle(batch, answers)
	case refused(err):
		r.deliverRefused(ctx, batch, err)
	case batch[0].left && core.CodeOf(err) == core.Forbidden:
		for _, rep := range batch { // tried again it would keep the results of this worker waiting
			r.drop(rep, err.Error())
		}
	default:
		r.putBack(r.dropOld(batch))
		r.pause.Sleep(ctx)
	}
}

// deliverGood leaves a batch that meets an error to the other one.
func (r *reporter) deliverGood(ctx context.Context, batch []report) {
	answers, err := r.call(ctx, batch)
	if err != nil {
		r.putBack(batch)
		signal(r.wake)
		return
	}
	r.settle(batch, answers)
}

func (r *reporter) call(ctx context.Context, batch []report) ([]job.Finished, error) {
	ctx, cancel := context.WithTimeout(ctx, finishWait)
	defer cancel()
	room, _ := r.sending.Get().(*[]job.Finish)
	if room == nil {
		room = new([]job.Finish)
	}
	fs := (*room)[:0]
	for i := range batch {
		fs = append(fs, batch[i].finish)
	}
	defer func() {
		clear(fs)
		*room = fs
		r.sending.Put(room)
	}()
	begun := time.Now()
	answers, err := r.broker.Finish(ctx, batch[0].session, fs)
	if err == nil && len(answers) != len(fs) {
		err = core.Errorf(core.Internal, "broker gave %d answers to %d results", len(answers), len(fs))
	}
	r.watch.Reported(len(fs), countStale(fs, answers), time.Since(begun), err)
	r.mu.Lock()
	r.failing = err != nil
	r.mu.Unlock()
	return answers, err
}

// countStale leaves out those that were told to end: that their lease is gone by
// then is how they learned of it.
func countStale(fs []job.Finish, answers []job.Finished) (n int) {
	for i, a := range answers {
		if a.Stale && i < len(fs) && fs[i].Outcome != job.OutcomeCanceled {
			n++
		}
	}
	return n
}

func (r *reporter) settle(batch []report, answers []job.Finished) {
	for i := range batch {
		if answers[i].Stale {
			r.stale(batch[i])
		}
		batch[i].tell()
	}
	r.ended(len(batch))
	r.reuse(batch)
}

// stale is a normal answer: the lease had been lost, so somebody else settled
// or will settle the job, and what this worker did does not count.
func (r *reporter) stale(rep report) {
	level := slog.LevelWarn
	if rep.expected || rep.finish.Outcome == job.OutcomeCanceled {
		level = slog.LevelDebug
	}
	r.log.Log(context.Background(), level, "result came too late and was discarded",
		"job", rep.finish.JobID, "lease", rep.finish.Lease, "outcome", rep.finish.Outcome)
}

// deliverRefused finds the result at fault and reports a failure in its place,
// so that one bad result holds nobody else up and its own job still ends.
func (r *reporter) deliverRefused(ctx context.Context, batch []report, err error) {
	if len(batch) > 1 {
		for _, rep := range batch {
			r.deliver(ctx, []report{rep})
		}
		return
	}
	rep := batch[0]
	if rep.replaced {
		r.drop(rep, err.Error())
		return
	}
	r.log.Error("result was refused, reporting a failure in its place",
		"job", rep.finish.JobID, "lease", rep.finish.Lease, "outcome", rep.finish.Outcome, "error", err)
	rep.replaced = true
	rep.finish = job.Finish{
		Ref: rep.finish.Ref, Outcome: job.OutcomeError, NoRetry: true,
		Error: fmt.Sprintf("its result (%s) was refused: %s", rep.finish.Outcome, err),
	}
	r.deliver(ctx, []report{rep})
}

// dropOld gives up what could not be delivered for too long. The broker's
// deadline has ended these attempts long ago.
func (r *reporter) dropOld(batch []report) []report {
	var young []report
	for _, rep := range batch {
		if time.Since(rep.since) < reportFor {
			young = append(young, rep)
			continue
		}
		r.drop(rep, "could not be delivered for "+reportFor.String())
	}
	return young
}

func (r *reporter) drop(rep report, why string) {
	r.log.Error("result was not reported and is lost", "job", rep.finish.JobID,
		"lease", rep.finish.Lease, "outcome", rep.finish.Outcome, "why", why)
	r.done(rep)
}

func (r *reporter) done(rep report) {
	rep.tell()
	r.ended(1)
}

func (rep *report) tell() {
	if rep.owner != nil {
		rep.owner.answered()
	}
}

// ended counts results that are on their way no more.
func (r *reporter) ended(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending -= n; r.pending == 0 {
		close(r.empty)
	}
}
