package jobs

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// joinedClaim carries out a waiting claim within an enqueue: the new jobs are leased in the transaction that inserts them. On
// a quiet system, this saves the start of a job one transaction, its flush, and the wake-up of a worker.
//
// The claim does not change the answer of the enqueue. If the enqueue fails or leases nothing, the claim goes on waiting.
type joinedClaim struct {
	s        *Store
	foreseen *base.WaitingClaim // the claim whose queries are sent with the begin of the transaction
	claim    *base.WaitingClaim // the claim that is being carried out
	tried    bool
	answer   base.Answer
	took     map[int64]bool // the jobs of the answer
}

// Calm is how long a claim must have waited to be carried out within an enqueue. If jobs come faster, separate claims are better,
// because each leases many jobs: with a claim in each enqueue, SQLite did 27,000 to 38,000 jobs a second instead of 43,000 to
// 52,000.
const Calm = time.Millisecond

// foresee sends the queries of the claim that waits for such jobs ahead.
func (a *joinedClaim) foresee(c *Change, ns []job.NewJob) {
	queue := ns[0].Queue
	if queue == "" {
		v, known := a.s.lastQueue.Load(taskNames(ns[:1])[0])
		if queue, _ = v.(string); !known {
			return
		}
	}
	if a.foreseen = a.s.Hub.Waiting(base.TopicQueue(queue), Calm); a.foreseen != nil {
		c.foreseeClaim(a.foreseen.R)
	}
}

// begin is called when the transaction begins. If it begins again, it carries out no claim: the first try was rolled back, and
// the claim has gone on.
func (a *joinedClaim) begin() *joinedClaim {
	a.answer = base.Answer{}
	a.goOn()
	return a
}

// carry carries out the claim of new jobs, once their insert has been sent.
func (a *joinedClaim) carry(c *Change, ins []*Insertion) error {
	if a == nil || a.s.Opt.Claims.NoJoin || len(ins) == 0 || !canJoin(ins) {
		return nil
	}
	w := a.waiting(ins[0].JobRow)
	if w == nil || a.tried || !a.s.Hub.Take(w) {
		return nil
	}
	a.tried, a.claim = true, w
	got, err := c.claimNew(w, ins)
	if core.CodeOf(err) == core.Unauthorized { // the session of the claim has ended
		return nil
	}
	a.answer, a.took = got, make(map[int64]bool, len(got.Jobs))
	for i := range got.Jobs {
		a.took[got.Jobs[i].Job.ID] = true
	}
	return err
}

// claimNew carries out a waiting claim. If the claim has found nothing, and no wake-up came since, the new jobs are the only
// ready jobs: they are leased without a query for them. On an idle SQLite, this saves a tenth of the time to the start of a
// job; half of that time is the flush.
func (c *Change) claimNew(w *base.WaitingClaim, ins []*Insertion) (base.Answer, error) {
	first := ins[0]
	if !c.WakesEarly || !w.Seen.Fresh(c.s.Opt.Poll) || w.Seen.Version != c.nothing().Version || len(ins) > w.R.Slots(first.Queue, w.R.Want[first.Queue]) {
		return c.claim(w.R)
	}
	session, err := c.session(w.R.Session)
	if err != nil {
		return base.Answer{}, err
	}
	k := &claim{Change: c, r: w.R, w: w.R.Of(session)}
	queues, err := c.Claimable(w.R.Want)
	if err != nil {
		return base.Answer{}, err
	}
	if len(queues) != 1 || queues[0].GlobalLimit > 0 || queues[0].Fair != nil || k.w.Drain || !canRun(k.w, first) {
		return c.claim(w.R)
	}
	rows := make([]JobRow, len(ins))
	for i, in := range ins {
		rows[i] = in.asRead()
	}
	a := base.Answer{Seen: w.Seen}
	a.Claim, err = c.s.path.lease(k, rows, make([]leaseRow, len(rows)))
	return a, err
}

// canRun reports whether a session can run a new job without a requirement. It is [claim.runnable] for a job that is not in the
// table yet.
func canRun(w job.WorkerState, in *Insertion) bool {
	return in.requirement.IsZero() && w.RunsIn(in.Namespace) && w.Runs(in.Kind) && w.Handles(in.Kind, in.Task)
}

// asRead returns a new job as [SelectReady] would read it: with its own memory, and with the precision of the table.
func (in *Insertion) asRead() JobRow {
	j := in.JobRow
	j.Input, j.Tags = slices.Clone(j.Input), slices.Clone(j.Tags)
	j.Timeout = core.Duration(j.Timeout.D().Truncate(time.Microsecond))
	return j
}

// fewJobs bounds the jobs of an enqueue that carries out a claim: a caller that enqueues many is better served by an early
// answer.
const fewJobs = 10

// canJoin reports whether new jobs may be leased at once: they are ready and of one task, and the transaction holds no locks
// for which others wait.
func canJoin(ins []*Insertion) bool {
	return len(ins) < fewJobs && !slices.ContainsFunc(ins, func(in *Insertion) bool {
		return in.State != job.Ready || in.TaskID != ins[0].TaskID || in.Queue != ins[0].Queue || in.Key != "" || in.ActiveKey != "" || in.shares.Name != "" ||
			task.RunByEngine(in.Kind) || in.Kind == task.KindProgram
	})
}

// waiting returns the waiting claim that may take a new job.
func (a *joinedClaim) waiting(j JobRow) *base.WaitingClaim {
	if a.s.Far {
		a.s.lastQueue.Store(base.TaskName{Namespace: j.Namespace, Name: j.Task}, j.Queue)
		return a.foreseen
	}
	return a.s.Hub.Waiting(base.TopicQueue(j.Queue), Calm)
}

// left returns the new jobs that the claim did not take: other claims have to be woken for them.
func (a *joinedClaim) left(ins []*Insertion) []*Insertion {
	if a == nil || len(a.took) == 0 {
		return ins
	}
	return slices.DeleteFunc(slices.Clone(ins), func(in *Insertion) bool { return a.took[in.ID] })
}

// end gives the claim its answer; after an error the answer is empty.
func (a *joinedClaim) end(err error) {
	if err != nil {
		a.answer = base.Answer{}
	}
	a.goOn()
}

func (a *joinedClaim) goOn() {
	if a.claim != nil {
		a.claim.Answer <- a.answer
	}
	a.claim, a.answer, a.took = nil, base.Answer{}, nil
}
