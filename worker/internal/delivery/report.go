package delivery

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

// Delivery of results.
const (
	reportFor    = 10 * time.Minute // how long an undeliverable result is kept
	finishWait   = 15 * time.Second // timeout of one call
	maxFinishes  = 1000             // results in one call
	maxFinishLen = 4 << 20          // bytes of output in one call

	// manyFinishes is how many waiting results start a second call beside the one
	// under way. Fewer are cheaper in the next call.
	manyFinishes = maxFinishes / 2
)

// Report is a result to deliver. It carries no context, so that the end of the
// attempt, session or worker cannot stop its delivery.
type Report struct {
	Session  string
	Finish   job.Finish
	Since    time.Time
	Expected bool  // a stale answer is normal: the handler settled the job itself, or the result is old
	replaced bool  // the server refused the first version
	Spooled  bool  // on disk until the server has answered
	Left     bool  // from an earlier worker, for whose session this worker may lack the right to report
	Owner    owner // Answered is called once, whatever the answer; may be nil
}

// owner is told once that its result was answered or given up.
type owner interface{ Answered() }

// observer is told how the server received one batch of results, and how many results came too late.
type observer interface {
	Reported(results, stale int, took time.Duration, err error)
}

// Reporter delivers results, one call at a time. Results that arrive during a
// call go into the next, so an idle worker adds no delay and a busy worker fills
// its calls. If [manyFinishes] results wait, a second call runs beside the first.
type Reporter struct {
	leaser   job.Leaser
	log      *slog.Logger
	observer observer

	mu      sync.Mutex
	queue   []Report
	spare   []Report // memory of an answered batch, for reuse as queue
	pending int      // in the queue and under way
	failing bool     // the last call failed
	wake    chan struct{}
	many    chan struct{} // has an element when manyFinishes wait
	empty   chan struct{} // closed while pending is 0
	pause   patience.Backoff
	outage  patience.Outage
	sending sync.Pool // of *[]belfry.Finish
}

// NewReporter returns a reporter, which delivers while Run runs.
func NewReporter(b job.Leaser, log *slog.Logger, watch observer) *Reporter {
	r := &Reporter{
		leaser: b, log: log, observer: watch,
		wake: make(chan struct{}, 1), many: make(chan struct{}, 1), empty: make(chan struct{}),
		pause:  patience.Backoff{First: 100 * time.Millisecond, Most: 3 * time.Second},
		outage: patience.Outage{Log: log, What: "results cannot be reported"},
	}
	close(r.empty)
	return r
}

// Put queues a result.
func (r *Reporter) Put(rep Report) {
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

// Flush waits until every result is answered. It reports false if the context
// ended before.
func (r *Reporter) Flush(ctx context.Context) bool {
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

// Run delivers until the context ends. End it after the last Put and Flush:
// results that remain are logged as lost.
func (r *Reporter) Run(ctx context.Context) {
	defer r.giveUp()
	var second sync.WaitGroup
	second.Go(func() { r.deliverLoop(ctx, r.many, manyFinishes, r.tryDeliver) })
	defer second.Wait()
	r.deliverLoop(ctx, r.wake, 1, r.deliver)
}

// deliverLoop delivers batches while at least that many results wait.
func (r *Reporter) deliverLoop(ctx context.Context, wake <-chan struct{}, least int, deliver func(context.Context, []Report)) {
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

func (r *Reporter) giveUp() {
	r.mu.Lock()
	left := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, rep := range left {
		if rep.Spooled {
			r.log.Warn("result was not reported and is kept for the next start", "job", rep.Finish.JobID, "lease", rep.Finish.Lease)
			rep.Owner = nil // or the owner would forget the result
			r.done(rep)
			continue
		}
		r.drop(rep, "worker ended first")
	}
}

// take returns the next batch: results of one session, in order of arrival.
// While calls fail, only one delivery runs.
func (r *Reporter) take(least int) []Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) < least || least > 1 && r.failing {
		return nil
	}
	n, size := 0, 0
	for n < len(r.queue) && n < maxFinishes && size < maxFinishLen && r.queue[n].Session == r.queue[0].Session {
		size += len(r.queue[n].Finish.Output) + len(r.queue[n].Finish.Error)
		n++
	}
	batch, rest := r.queue[:n], r.queue[n:]
	r.queue, r.spare = append(r.spare[:0], rest...), nil // copied: appending behind the batch would always need new memory
	clear(rest)
	return batch
}

// reuse takes back the memory of a batch.
func (r *Reporter) reuse(batch []Report) {
	clear(batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(batch) > cap(r.spare) && cap(batch) <= 4*maxFinishes {
		r.spare = batch[:0]
	}
}

func (r *Reporter) putBack(batch []Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(batch, r.queue...)
}

func (r *Reporter) deliver(ctx context.Context, batch []Report) {
	answers, err := r.call(ctx, batch)
	r.outage.Saw(err)
	switch {
	case err == nil:
		r.pause.Reset()
		r.settle(batch, answers)
	case refused(err):
		r.deliverRefused(ctx, batch, err)
	case batch[0].Left && core.CodeOf(err) == core.Forbidden:
		for _, rep := range batch { // not retried: that would delay the results of this worker
			r.drop(rep, err.Error())
		}
	default:
		r.putBack(r.dropOld(batch))
		r.pause.Sleep(ctx)
	}
}

// tryDeliver delivers a batch, and leaves a batch that meets an error to the other delivery.
func (r *Reporter) tryDeliver(ctx context.Context, batch []Report) {
	answers, err := r.call(ctx, batch)
	if err != nil {
		r.putBack(batch)
		signal(r.wake)
		return
	}
	r.settle(batch, answers)
}

func (r *Reporter) call(ctx context.Context, batch []Report) ([]job.Finished, error) {
	ctx, cancel := context.WithTimeout(ctx, finishWait)
	defer cancel()
	room, _ := r.sending.Get().(*[]job.Finish)
	if room == nil {
		room = new([]job.Finish)
	}
	fs := (*room)[:0]
	for i := range batch {
		fs = append(fs, batch[i].Finish)
	}
	defer func() {
		clear(fs)
		*room = fs
		r.sending.Put(room)
	}()
	begun := time.Now()
	answers, err := r.leaser.Finish(ctx, batch[0].Session, fs)
	if err == nil && len(answers) != len(fs) {
		err = core.Errorf(core.Internal, "server gave %d answers to %d results", len(answers), len(fs))
	}
	r.observer.Reported(len(fs), countStale(fs, answers), time.Since(begun), err)
	r.mu.Lock()
	r.failing = err != nil
	r.mu.Unlock()
	return answers, err
}

// countStale counts stale answers, without canceled attempts: these were told to
// end because their lease was gone.
func countStale(fs []job.Finish, answers []job.Finished) (n int) {
	for i, a := range answers {
		if a.Stale && i < len(fs) && fs[i].Outcome != job.OutcomeCanceled {
			n++
		}
	}
	return n
}

func (r *Reporter) settle(batch []Report, answers []job.Finished) {
	for i := range batch {
		if answers[i].Stale {
			r.stale(batch[i])
		}
		batch[i].notifyOwner()
	}
	r.ended(len(batch))
	r.reuse(batch)
}

// stale handles an answer that is normal after a lost lease: another worker
// settles the job, and the result of this worker does not count.
func (r *Reporter) stale(rep Report) {
	level := slog.LevelWarn
	if rep.Expected || rep.Finish.Outcome == job.OutcomeCanceled {
		level = slog.LevelDebug
	}
	r.log.Log(context.Background(), level, "result came too late and was discarded",
		"job", rep.Finish.JobID, "lease", rep.Finish.Lease, "outcome", rep.Finish.Outcome)
}

// deliverRefused finds the refused result and reports a failure in its place. So
// a bad result holds up no others and its own job still ends.
func (r *Reporter) deliverRefused(ctx context.Context, batch []Report, err error) {
	if len(batch) > 1 {
		for _, rep := range batch {
			r.deliver(ctx, []Report{rep})
		}
		return
	}
	rep := batch[0]
	if rep.replaced {
		r.drop(rep, err.Error())
		return
	}
	r.log.Error("result was refused, reporting a failure in its place",
		"job", rep.Finish.JobID, "lease", rep.Finish.Lease, "outcome", rep.Finish.Outcome, "error", err)
	rep.replaced = true
	rep.Finish = job.Finish{
		Ref: rep.Finish.Ref, Outcome: job.OutcomeError, NoRetry: true,
		Error: fmt.Sprintf("its result (%s) was refused: %s", rep.Finish.Outcome, err),
	}
	r.deliver(ctx, []Report{rep})
}

// dropOld gives up results that were undeliverable for [reportFor]. The server's
// deadline has ended their attempts long before.
func (r *Reporter) dropOld(batch []Report) []Report {
	var young []Report
	for _, rep := range batch {
		if time.Since(rep.Since) < reportFor {
			young = append(young, rep)
			continue
		}
		r.drop(rep, "could not be delivered for "+reportFor.String())
	}
	return young
}

func (r *Reporter) drop(rep Report, why string) {
	r.log.Error("result was not reported and is lost", "job", rep.Finish.JobID,
		"lease", rep.Finish.Lease, "outcome", rep.Finish.Outcome, "why", why)
	r.done(rep)
}

func (r *Reporter) done(rep Report) {
	rep.notifyOwner()
	r.ended(1)
}

func (rep *Report) notifyOwner() {
	if rep.Owner != nil {
		rep.Owner.Answered()
	}
}

// ended counts results that were answered or given up.
func (r *Reporter) ended(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending -= n; r.pending == 0 {
		close(r.empty)
	}
}
