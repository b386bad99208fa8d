package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/jitter"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/task"
)

// Claim leases ready jobs to a session. If there are none, it waits for a wake-up, for an enqueue that carries it out
// ([joinedClaim]), or for the next look after [base.Options.Poll].
func (s *Store) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	if err := r.Validate(); err != nil {
		return job.Claim{}, err
	}
	ends := time.NewTimer(min(r.Wait, job.MaxClaimWait).D())
	defer ends.Stop()
	var freed <-chan struct{}
	for {
		woken := s.Hub.Topic(awaited(r))
		a, err := s.claim(ctx, r)
		if err != nil || len(a.Jobs) > 0 || r.Wait <= 0 || len(r.Tickets) > 0 {
			s.claimed(ctx, a)
			return a.Claim, err
		}
		if a.Limited && freed == nil { // subscribed before the next look, which follows at once
			freed = s.freed(r)
			continue
		}
		if base.Signaled(ends.C) { // the look took longer than the wait
			return job.Claim{Jobs: []job.LeasedJob{}}, ctx.Err()
		}
		if base.Signaled(freed) { // the next look sees the ended job
			freed = nil
			continue
		}
		again := time.NewTimer(s.Opt.Poll + jitter.N(s.Opt.Poll/5+1))
		w, told := s.Hub.Wait(woken, r, a.Seen), false
		select {
		case a = <-w.Answer:
			told = true
		case <-woken.Woken:
		case <-freed:
			freed = nil
		case <-again.C:
		case <-ends.C:
			r.Wait = 0
		case <-ctx.Done():
			err = ctx.Err()
		}
		again.Stop()
		if !told && !s.Hub.Leave(w) { // the claim is being carried out: its leases must not be lost, whatever ended the wait
			a = w.Soon()
		}
		if len(a.Jobs) > 0 {
			s.claimed(ctx, a)
			return a.Claim, nil
		}
		if err != nil || r.Wait <= 0 {
			return job.Claim{Jobs: []job.LeasedJob{}}, err
		}
	}
}

// awaited returns the topic that is woken for the wanted queues. A wait for several queues is woken by every job, so the worker
// waits for one queue at a time.
func awaited(r job.ClaimRequest) string {
	if len(r.Want) == 1 {
		for q := range r.Want {
			return base.TopicQueue(q)
		}
	}
	return base.TopicJobs
}

// freed is woken when a job of the queue has ended.
func (s *Store) freed(r job.ClaimRequest) <-chan struct{} {
	for q := range r.Want {
		return s.Hub.On(base.TopicCapacity(q))
	}
	return nil
}

func (s *Store) claim(ctx context.Context, r job.ClaimRequest) (a base.Answer, err error) {
	ahead := func(c *Change) {
		if len(r.Tickets) > 0 {
			_, _ = c.session(r.Session)
			return
		}
		c.foreseeClaim(r)
	}
	err = s.writeAhead(ctx, "claim", ahead, func(c *Change) error {
		a, err = c.claim(r)
		return err
	})
	if err != nil {
		a = base.Answer{} // the commit is not known to have happened
	}
	return a, err
}

// foreseeClaim sends the first queries of a claim without tickets ahead.
func (c *Change) foreseeClaim(r job.ClaimRequest) {
	_, _ = c.session(r.Session)
	_, _ = c.Claimable(r.Want)
	_, _ = c.tasks().MetBy(job.WorkerState{})
	for queue := range r.Want {
		if id, known := c.s.lastTask.Load(queue); known && len(r.Want) == 1 {
			_, _ = c.tasks().TasksByID([]int64{id.(int64)}) //nolint:forcetypeassert // only a claim stores
		}
	}
}

// claim is a claim in its transaction.
type claim struct {
	*Change
	r   job.ClaimRequest
	w   job.WorkerState // the session, without the kinds that it cannot begin now
	met []int64         // the requirements that the session meets

	fair []string // the fair queues among the queues that the claim looked at
}

// claim is the transition itself.
func (c *Change) claim(r job.ClaimRequest) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	session, err := c.session(r.Session)
	if err != nil {
		return a, err
	}
	k := &claim{Change: c, r: r, w: r.Of(session)}
	if len(r.Tickets) > 0 {
		a.Claim, err = k.claimTickets()
		return a, err
	}
	if k.w.Drain {
		return a, nil
	}
	queues, err := c.Claimable(r.Want)
	if err != nil {
		return a, err
	}
	if k.met, err = c.tasks().MetBy(k.w); err != nil {
		return a, err
	}
	return c.s.path.claim(k, queues)
}

// found are the first ready jobs of a queue that a claim can run. They are locked.
type found struct {
	rows  []JobRow
	all   bool        // there are no other such jobs
	taken func(n int) // if set, called with the number of jobs that are leased
}

// take leases jobs of queues, the queue of the highest priority first, up to the global limits of queues and the slots of the
// session. The func pick finds the first n jobs of a queue. Inputs of [base.MaxPage] leave further queues to the next claim.
func (c *claim) take(queues []job.Queue, want map[string]int, pick func(q job.Queue, n int) (found, error)) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	rows, leases, size := []JobRow(nil), []leaseRow(nil), 0
	for _, q := range queues {
		wanted := min(want[q.Name], core.MaxBatch-len(rows))
		n, err := c.withinLimit(q, wanted)
		if err != nil {
			return a, err
		}
		a.Limited = a.Limited || n < wanted
		if n <= 0 || size >= base.MaxPage {
			continue
		}
		slots := c.slots(q, wanted)
		f, err := pick(q, c.inTurn(q, n, slots))
		if err != nil {
			return a, err
		}
		may, err := c.spare(q, f.rows, slots)
		if err != nil {
			return a, err
		}
		if f.taken != nil {
			f.taken(may)
		}
		if err := turnsOf(c.Change).Reach(q, may, func(i int) (int, int64) { return f.rows[i].Priority, f.rows[i].turn }); err != nil {
			return a, err
		}
		if f.all && may == len(f.rows) && len(queues) == 1 {
			a.Seen, a.Limited = c.nothing(), false
		}
		if rows == nil { // most claims are of one queue
			rows = f.rows[:may:may]
		} else {
			rows = append(rows, f.rows[:may]...)
		}
		leases = slices.Grow(leases, may)
		for i := range may {
			leases = append(leases, leaseRow{SlotOf: slotOf(q), Ahead: base.Bit(i >= slots)})
			size += len(f.rows[i].Input)
		}
	}
	if len(rows) > 0 {
		a.Claim, err = c.s.path.lease(c, rows, leases)
	}
	return a, err
}

// inTurn returns how many of n jobs to look for. From a fair queue, workers claim no jobs ahead of their free slots.
func (c *claim) inTurn(q job.Queue, n, slots int) int {
	if q.Fair == nil {
		return n
	}
	c.fair = append(c.fair, q.Name)
	return min(n, max(1, slots))
}

// slots returns for how many of the wanted jobs of a queue the worker has a free slot.
func (c *claim) slots(q job.Queue, wanted int) int {
	if n := len(c.r.Tickets); n > 0 {
		wanted = cmp.Or(c.r.Want[q.Name], n)
	}
	return c.r.Slots(q.Name, wanted)
}

// nothing records that a claim left no job which it could have taken: the instant, and the version of the queues.
func (c *Change) nothing() base.Nothing {
	if c.Version == nil {
		return base.Nothing{At: c.Begun}
	}
	return base.Nothing{At: c.Begun, Version: c.Version("queues")}
}

// fast does the same as [plain] with less work: it begins at a mark, walks only the lanes that its session can run, packs leases,
// and on PostgreSQL picks and leases in one statement.
type fast struct{}

func (fast) claim(c *claim, queues []job.Queue) (base.Answer, error) {
	if len(queues) == 1 && c.SQL.Lease(nil, "", 1) != "" {
		return c.leaseAtOnce(queues[0])
	}
	return c.take(queues, c.r.Want, func(q job.Queue, n int) (found, error) {
		p, some, err := c.picking(q, n)
		if err != nil || !some {
			return found{all: true}, err
		}
		rows, err := c.walk(p)
		return found{rows, len(rows) < p.N, func(n int) { c.picked(p, rows, n, len(rows) == p.N) }}, err
	})
}

// claimed completes an answer after the commit, and reports it to the observer.
func (s *Store) claimed(ctx context.Context, a base.Answer) {
	if len(a.Jobs) == 0 {
		return
	}
	s.Hooks.Link(ctx, a.Jobs)
	perQueue := map[string]int{}
	for i := range a.Jobs {
		j := &a.Jobs[i].Job
		perQueue[j.Queue]++
		s.Opt.Observer.Waited(j.Queue, j.Kind, j.ClaimedAt.Sub(j.DueAt))
	}
	for q, n := range perQueue {
		s.Opt.Observer.Claimed(q, n)
	}
}

// claimable is a queue as a claim reads it.
type claimable struct {
	job.Queue
	left bool // leftovers exist, of any queue: jobs that do not follow a change of their definition yet
}

const claimableColumns = queues.QueueColumns + `, (select count(*) from (select 1 from belfry.leftovers where kind <> 'deleted' limit 1) as one)`

func scanClaimable(rows base.Rows) (q claimable, err error) {
	var left int64
	q.Queue, err = queues.ScanQueueAnd(rows, &left)
	q.left = left != 0
	return q, err
}

// Claimable reads the wanted queues that are not paused, the highest priority first.
func (c *Change) Claimable(want map[string]int) ([]job.Queue, error) {
	names := make([]string, 0, len(want))
	for q, n := range want {
		if n > 0 {
			names = append(names, q)
		}
	}
	slices.Sort(names) // the query must equal the one that was sent ahead
	all, err := readClaimable(c, names)
	out := make([]job.Queue, len(all))
	for i, q := range all {
		out[i] = q.Queue
		if q.left {
			base.Kept[claimable](c.Change).left = true // the claim then checks the jobs that it leases
		}
	}
	return out, err
}

func readClaimable(c *Change, names []string) ([]claimable, error) {
	if len(names) == 1 {
		q, found, err := c.s.queuesRead.One(c.Change, "queues", names[0], func() (claimable, bool, error) {
			return base.First(c.Ctx, c.Tx, scanClaimable, `select `+claimableColumns+` from belfry.queues where paused_at = 0 and name = $1`, names[0])
		})
		if !found {
			return nil, err
		}
		return []claimable{q}, nil
	}
	return base.Collect(c.Ctx, c.Tx, scanClaimable, `
		select `+claimableColumns+`
		from belfry.queues
		where paused_at = 0 and `+c.SQL.In("name", 1)+`
		order by priority desc, name`, c.SQL.List(names))
}

// runnable is the condition that the session can run a job. Kinds come from [task.Kinds], never from outside.
func (c *claim) runnable() *base.Where {
	cond := &base.Where{}
	cond.Namespace("namespace", c.w.Namespace)
	var kinds []string
	for _, k := range task.Kinds {
		if slices.Contains(c.w.Kinds, k) {
			kinds = append(kinds, "'"+string(k)+"'")
		}
	}
	if len(kinds) == 0 {
		cond.Conds = append(cond.Conds, "false")
	} else {
		cond.Conds = append(cond.Conds, "kind in ("+strings.Join(kinds, ", ")+")")
	}
	switch {
	case !slices.Contains(c.w.Kinds, task.KindFunc):
	case len(c.w.Funcs) == 1: // a list is unpacked by each statement anew
		cond.And(`(kind <> 'func' or task = ?)`, c.w.Funcs[0])
	default:
		cond.And(`(kind <> 'func' or `+c.SQL.In("task", len(cond.Args)+1)+`)`, c.SQL.List(c.w.Funcs))
	}
	c.tasks().Meets(cond, c.met)
	return cond
}

// withinLimit returns how many of n jobs the global limit of a queue allows. It locks the row of the queue, so that two claims
// cannot both take the last place. A queue without a limit is not locked.
func (c *claim) withinLimit(q job.Queue, n int) (int, error) {
	if q.GlobalLimit == 0 {
		return n, nil
	}
	if _, _, err := base.First(c.Ctx, c.Tx, base.ScanString, `select name from belfry.queues where name = $1`+c.SQL.ForUpdate("queues"), q.Name); err != nil {
		return 0, err
	}
	running, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select count(*)
		from (select 1 from belfry.leases where slot_of = $1 limit $2 + 0) as bounded`, q.Name, q.GlobalLimit)
	return min(n, q.GlobalLimit-int(running)), err
}
