package jobs

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// along is a claim that waits, and goes along with an enqueue: what is enqueued
// is leased by the commit that makes it. Where little else happens that spares a
// job's start a transaction, its flush, and the waking of a worker that would have begun
// it.
//
// It is no part of the enqueue's answer. Where nothing comes of it, the claim
// goes on by itself.
type along struct {
	s        *Store
	foreseen *base.WaitingClaim // whose questions travel with the begin of the transaction
	claim    *base.WaitingClaim // that is being carried out
	tried    bool
	answer   base.Answer
	took     map[int64]bool // the jobs of the answer
}

// calm is how long a claim has waited that goes along. Where the next job is there
// sooner, claims are better made by themselves, of what has come meanwhile: with
// each enqueue they were so many that SQLite did 27,000 to 38,000 jobs a second in
// place of 43,000 to 52,000.
const calm = time.Millisecond

// foresee asks what a claim will ask that waits for jobs such as these.
func (a *along) foresee(c *Change, ns []job.NewJob) {
	queue := ns[0].Queue
	if queue == "" {
		v, known := a.s.went.Load(taskNames(ns[:1])[0])
		if queue, _ = v.(string); !known {
			return
		}
	}
	if a.foreseen = a.s.Hub.Waiting(base.TopicQueue(queue), calm); a.foreseen != nil {
		c.foreseeClaim(a.foreseen.R)
	}
}

// begin is where the transaction begins. When it is begun again it goes alone:
// what the claim got was taken back.
func (a *along) begin() *along {
	a.answer = base.Answer{}
	a.goOn()
	return a
}

// carry carries out the claim of new jobs that are as good as written.
func (a *along) carry(c *Change, ins []*Insertion) error {
	if a == nil || a.s.Opt.Claims.NoJoin || len(ins) == 0 || !canGoAlong(ins) {
		return nil
	}
	w := a.waiting(ins[0].JobRow)
	if w == nil || a.tried || !a.s.Hub.Take(w) {
		return nil
	}
	a.tried, a.claim = true, w
	got, err := c.claimNew(w, ins)
	if core.CodeOf(err) == core.Unauthorized { // its session has ended
		return nil
	}
	a.answer, a.took = got, make(map[int64]bool, len(got.Jobs))
	for i := range got.Jobs {
		a.took[got.Jobs[i].Job.ID] = true
	}
	return err
}

// claimNew claims for one that waits. Where it has seen that there was nothing, and
// would have been woken by anything that came since, there are only the new jobs: they
// are leased as they are, without a look for them. On an idle SQLite that is a
// tenth of the way to a job's start, half of which is the flush.
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

// canRun reports that a session can run a job, where that is plain to see; it is
// [claim.runnable] of a job that is not in the table yet.
func canRun(w job.WorkerState, in *Insertion) bool {
	return in.requirement.IsZero() && w.RunsIn(in.Namespace) && w.Runs(in.Kind) && w.Handles(in.Kind, in.Task)
}

// asRead is a new job as [SelectReady] would read it: with memory of its own, and
// with the precision of the table.
func (in *Insertion) asRead() JobRow {
	j := in.JobRow
	j.Input, j.Tags = slices.Clone(j.Input), slices.Clone(j.Tags)
	j.Timeout = core.Duration(j.Timeout.D().Truncate(time.Microsecond))
	return j
}

// fewJobs are so few that their enqueue may claim them: who enqueues many at once is better served by an early answer.
const fewJobs = 10

// canGoAlong reports that jobs are ready and of one task, and that nothing which
// the transaction has done makes others wait for it.
func canGoAlong(ins []*Insertion) bool {
	return len(ins) < fewJobs && !slices.ContainsFunc(ins, func(in *Insertion) bool {
		return in.State != job.Ready || in.TaskID != ins[0].TaskID || in.Queue != ins[0].Queue || in.Key != "" || in.ActiveKey != "" || in.shares.Name != "" ||
			task.RunByEngine(in.Kind) || in.Kind == task.KindProgram
	})
}

// waiting is the claim that may take a new job.
func (a *along) waiting(j JobRow) *base.WaitingClaim {
	if a.s.Far {
		a.s.went.Store(base.TaskName{Namespace: j.Namespace, Name: j.Task}, j.Queue)
		return a.foreseen
	}
	return a.s.Hub.Waiting(base.TopicQueue(j.Queue), calm)
}

// left are the new jobs that the claim did not take, for which others must be
// woken.
func (a *along) left(ins []*Insertion) []*Insertion {
	if a == nil || len(a.took) == 0 {
		return ins
	}
	return slices.DeleteFunc(slices.Clone(ins), func(in *Insertion) bool { return a.took[in.ID] })
}

// end tells the claim what came of it.
func (a *along) end(err error) {
	if err != nil {
		a.answer = base.Answer{}
	}
	a.goOn()
}

func (a *along) goOn() {
	if a.claim != nil {
		a.claim.Answer <- a.answer
	}
	a.claim, a.answer, a.took = nil, base.Answer{}, nil
}
