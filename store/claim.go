package store

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// Claim leases ready jobs to a session. When there are none it waits for a
// wake-up, looking again by itself every [Options.Poll], or for an enqueue that
// takes it along. After a claim that took all there was, it waits first.
func (s *Store) Claim(ctx context.Context, r belfry.ClaimRequest) (belfry.Claim, error) {
	if err := r.Validate(); err != nil {
		return belfry.Claim{}, err
	}
	ends := time.NewTimer(min(r.Wait, belfry.MaxClaimWait).D())
	defer ends.Stop()
	var freed <-chan struct{}
	for {
		woken := s.hub.bell(awaited(r))
		if r.Wait <= 0 || len(r.Tickets) > 0 || !woken.emptied(r.Session, s.opt.Poll) {
			a, err := s.claim(ctx, r)
			s.claimed(ctx, woken, r.Session, a)
			if err != nil || len(a.Jobs) > 0 || r.Wait <= 0 || len(r.Tickets) > 0 {
				return a.Claim, err
			}
			if a.left == leftByLimit && freed == nil { // taken before the next look, which is at once
				freed = s.freed(r)
				continue
			}
		}
		var err error
		again := time.NewTimer(s.opt.Poll + rand.N(s.opt.Poll/5+1))
		w, told := s.hub.wait(woken, r), false
		var a answer
		select {
		case a = <-w.answer:
			told = true
		case <-woken.rung:
		case <-freed:
			freed = nil
		case <-again.C:
		case <-ends.C:
			r.Wait = 0
		case <-ctx.Done():
			err = ctx.Err()
		}
		again.Stop()
		if !told && !s.hub.leave(w) { // what is leased by then is not lost, whatever else has ended
			a = w.soon()
		}
		if len(a.Jobs) > 0 {
			s.claimed(ctx, woken, r.Session, a)
			return a.Claim, nil
		}
		if err != nil || r.Wait <= 0 {
			return belfry.Claim{Jobs: []belfry.LeasedJob{}}, err
		}
	}
}

// awaited is the topic that rings when one of the queues has news. Asking for
// several costs a goroutine, so the worker asks for one at a time.
func awaited(r belfry.ClaimRequest) string {
	if len(r.Want) == 1 {
		for q := range r.Want {
			return topicQueue(q)
		}
	}
	return topicJobs
}

// freed rings when a job of the queue has ended.
func (s *Store) freed(r belfry.ClaimRequest) <-chan struct{} {
	for q := range r.Want {
		return s.hub.on(topicPlace(q))
	}
	return nil
}

// left is what a claim has seen of the jobs that it did not take.
type left int

const (
	leftUnknown    left = iota
	leftNone            // none that it could have taken
	leftByLimit         // a limit over all workers is in the way
	leftUnexpected      // all: they are not what the claim expected
)

// answer is what came of a claim.
type answer struct {
	belfry.Claim
	left left
}

// claim is one transition, or one more where the first was for nothing.
func (s *Store) claim(ctx context.Context, r belfry.ClaimRequest) (a answer, err error) {
	a, err = s.claimOnce(ctx, r)
	for err == nil && a.left == leftUnexpected { // it broke the habit, so the next has no expectations, unless others made a new one
		a, err = s.claimOnce(ctx, r)
	}
	if err != nil {
		a = answer{} // it was not committed, for all we know
	}
	return a, err
}

func (s *Store) claimOnce(ctx context.Context, r belfry.ClaimRequest) (a answer, err error) {
	ahead := func(c *change) {
		if len(r.Tickets) > 0 {
			_, _ = c.session(r.Session)
			return
		}
		c.foreseeClaim(r)
		for queue := range r.Want {
			if u := s.habit.of(queue); u.times > 0 && len(r.Want) == 1 {
				_, _ = c.tasksByID([]int64{u.task})
			}
		}
	}
	err = s.writeAhead(ctx, "claim", ahead, func(c *change) error {
		a, err = c.claim(r)
		return err
	})
	return a, err
}

// foreseeClaim asks what a claim without tickets asks first.
func (c *change) foreseeClaim(r belfry.ClaimRequest) {
	_, _ = c.session(r.Session)
	_, _ = c.claimable(r.Want)
	_, _ = c.metBy(belfry.WorkerState{})
}

// claim is the transition itself.
func (c *change) claim(r belfry.ClaimRequest) (a answer, err error) {
	a.Claim.Jobs = []belfry.LeasedJob{}
	session, err := c.session(r.Session)
	if err == nil && len(r.Tickets) > 0 {
		a.Claim, err = c.claimShown(session, r)
		return a, err
	}
	if err != nil || session.Drain {
		return a, err
	}
	queues, err := c.claimable(r.Want)
	if err != nil {
		return a, err
	}
	met, err := c.metBy(session)
	if err != nil {
		return a, err
	}
	var rows []jobRow
	defer func() { c.s.rows.giveBack(rows) }()
	var slots []leaseRow
	for _, q := range queues {
		wanted := min(r.Want[q.Name], belfry.MaxBatch-len(rows))
		allowed, err := c.withinLimit(q, wanted)
		if err != nil {
			return a, err
		}
		if allowed < wanted {
			a.left = leftByLimit
		}
		if allowed <= 0 {
			continue
		}
		p := c.picking(session, met, q, allowed)
		if len(queues) == 1 && c.sql.Lease(nil, "", "", 1) != "" {
			limited := a.left
			if a, err = c.leaseAtOnce(session, q, p); a.left == leftUnknown {
				a.left = limited
			}
			return a, err
		}
		if rows == nil {
			rows = c.s.rows.take(wanted)
		}
		before := len(rows)
		if rows, err = c.walk(p, q.Name, rows); err != nil {
			return a, err
		}
		found := rows[before:]
		c.picked(p, found, len(found) == p.n)
		if len(queues) == 1 && len(found) < p.n {
			a.left = leftNone
		}
		c.s.likeness.note(q.Name, found)
		for range found {
			slots = append(slots, leaseRow{SlotOf: slotOf(q)})
		}
	}
	if len(rows) > 0 {
		a.Claim, err = c.lease(session, rows, slots)
	}
	return a, err
}

// claimed tells of an answer to whom it concerns, and completes it.
func (s *Store) claimed(ctx context.Context, woken *bell, session string, a answer) {
	if len(a.Jobs) == 0 {
		return
	}
	if a.left == leftNone {
		woken.empty(session)
	}
	s.link(ctx, a.Jobs)
	perQueue := map[string]int{}
	for i := range a.Jobs {
		j := &a.Jobs[i].Job
		perQueue[j.Queue]++
		s.opt.Observer.Waited(j.Queue, j.Kind, j.ClaimedAt.Sub(j.DueAt))
	}
	for q, n := range perQueue {
		s.opt.Observer.Claimed(q, n)
	}
}

// claimable reads the wanted queues that are not paused, the highest first.
func (c *change) claimable(want map[string]int) ([]belfry.Queue, error) {
	names := make([]string, 0, len(want))
	for q, n := range want {
		if n > 0 {
			names = append(names, q)
		}
	}
	slices.Sort(names) // the same again where it was foreseen
	if len(names) == 1 {
		q, found, err := c.s.queues.one(c, "queues", names[0], func() (belfry.Queue, bool, error) {
			return first(c.ctx, c.tx, scanQueue, `select `+queueColumns+` from queues where paused_at = 0 and name = $1`, names[0])
		})
		if !found {
			return nil, err
		}
		return []belfry.Queue{q}, nil
	}
	return collect(c.ctx, c.tx, scanQueue, `
		select `+queueColumns+`
		from queues
		where paused_at = 0 and `+c.sql.In("name", 1)+`
		order by priority desc, name`, c.sql.List(names))
}

// runnable is the condition on the kind. Kinds are Belfry's own words, never
// text from outside.
func runnable(w belfry.WorkerState) string {
	list := ""
	for _, k := range belfry.Kinds {
		if slices.Contains(w.Kinds, k) {
			list += ", '" + string(k) + "'"
		}
	}
	if list == "" {
		return "false"
	}
	return "kind in (" + list[2:] + ")"
}

// withinLimit is how many of n a queue's limit over all workers leaves. It
// locks the queue's row, so that two claims cannot both take the last place;
// queues without a limit are not locked.
func (c *change) withinLimit(q belfry.Queue, n int) (int, error) {
	if q.GlobalLimit == 0 {
		return n, nil
	}
	if _, _, err := first(c.ctx, c.tx, scanString, `select name from queues where name = $1`+c.sql.ForUpdate("queues"), q.Name); err != nil {
		return 0, err
	}
	running, _, err := first(c.ctx, c.tx, scanInt, `
		select count(*)
		from (select 1 from leases where slot_of = $1 limit $2 + 0) as bounded`, q.Name, q.GlobalLimit)
	return min(n, q.GlobalLimit-int(running)), err
}

// leaseRow is a lease as a batch carries it.
type leaseRow struct {
	JobID      int64   `json:"job_id"`
	SlotOf     *string `json:"slot_of"`
	DeadlineAt int64   `json:"deadline_at"`
}

func slotOf(q belfry.Queue) *string {
	if q.GlobalLimit == 0 {
		return nil
	}
	return &q.Name
}

// lease hands locked jobs to a session under one new number. The number is
// drawn after the rows were locked: whoever had one of them before drew his
// before he committed, so ours is larger.
//
// The rows of the jobs are not touched. That a job has no lease was seen by the
// statement that picked it, which on PostgreSQL may have begun before another
// claim was committed; so the primary key of the leases has the last word.
func (c *change) lease(w belfry.WorkerState, rows []jobRow, leases []leaseRow) (belfry.Claim, error) {
	number, err := c.sql.NextIDs(c.ctx, c.tx, "lease", 1)
	if err != nil {
		return belfry.Claim{}, err
	}
	if len(rows) >= c.s.opt.PackFrom && canShare(rows, leases) {
		p := Pack{Number: number[0], Session: w.Session, Queue: rows[0].Queue, ClaimedAt: micros(c.now), Jobs: make([]int64, len(rows))}
		for i, j := range rows {
			p.Jobs[i] = j.ID
		}
		ok, err := c.sql.Pack(c.ctx, c.tx, p)
		if err != nil {
			return belfry.Claim{}, err
		}
		if ok {
			return c.leased(w, number[0], rows)
		}
	}
	for i, j := range rows {
		leases[i].JobID, leases[i].DeadlineAt = j.ID, micros(c.deadline(j.Job))
	}
	from, args := spread(c.sql, 4, leases)
	n, err := c.tx.Exec(c.ctx, `
		insert into leases (job_id, number, session, slot_of, claimed_at, deadline_at)
		select t.job_id, $1, $2, t.slot_of, $3, t.deadline_at
		from `+from+`
		where `+c.sql.Unleased("t.job_id")+`
		on conflict (job_id) do nothing`, append([]any{number[0], w.Session, micros(c.now)}, args...)...)
	if err != nil {
		return belfry.Claim{}, err
	}
	if int(n) < len(rows) { // another claim was faster with some
		leased, err := collect(c.ctx, c.tx, scanInt, `select job_id from leases where session = $1 and number = $2`, w.Session, number[0])
		if err != nil {
			return belfry.Claim{}, err
		}
		got := make(map[int64]bool, len(leased))
		for _, id := range leased {
			got[id] = true
		}
		rows = slices.DeleteFunc(rows, func(j jobRow) bool { return !got[j.ID] })
	}
	return c.leased(w, number[0], rows)
}

// canShare reports that the leases of jobs can share a row: they are of one
// queue, without a limit over all workers, and nothing follows from their ends.
func canShare(rows []jobRow, leases []leaseRow) bool {
	for i := range rows {
		j := &rows[i].Job
		if leases[i].SlotOf != nil || j.Queue != rows[0].Queue || j.Kind == belfry.KindProgram || j.ScheduleID != 0 || j.Trigger != belfry.TriggerEnqueue {
			return false
		}
	}
	return true
}

// leaseAtOnce picks and leases in one statement, which takes the commit along
// where nothing is expected to follow.
func (c *change) leaseAtOnce(w belfry.WorkerState, q belfry.Queue, p picking) (a answer, err error) {
	a.Claim.Jobs = []belfry.LeasedJob{}
	var number, picked int64
	var differ []int64
	like := c.s.likeness.like(q.Name)
	if c.usual != nil {
		like = nil // these may be others than before
	}
	scan, shares := scanReady(&number, &picked), readyShares
	if like != nil {
		scan, shares = scanLike(like, &differ, &number, &picked), like.shares()
	}
	tx, usual, err := c.foretold(q.Name, p, like)
	if err != nil {
		return a, err
	}
	p.hopeful = p.hopeful && usual == nil // there is no second look
	parts, args := c.parts(p, like)
	own, expected := len(args)+1, ""
	args = append(args, w.Session, slotOf(q), micros(c.now), belfry.DeadlineGrace.Microseconds(), c.s.opt.PackFrom)
	switch {
	case usual == nil:
	case like != nil:
		expected = "same > 1"
	default:
		args = append(args, usual.ID)
		expected = "kind <> 'program' and task_id = " + placeholder(len(args))
	}
	rows, err := collectInto(c.ctx, tx, c.s.rows.take(p.n), scan, c.sql.Lease(parts, shares, expected, own), args...)
	if err != nil {
		return a, err
	}
	defer c.s.rows.giveBack(rows)
	if len(rows) > 0 && number == 0 {
		c.s.habit.broke(q.Name)
		a.left = leftUnexpected
		return a, nil
	}
	if len(rows) == 0 && p.hopeful { // perhaps another node was faster with all that was picked
		p.hopeful = false
		return c.leaseAtOnce(w, q, p)
	}
	if err := c.others(rows, differ); err != nil {
		return a, err
	}
	if int(picked) < p.n {
		a.left = leftNone
	}
	c.picked(p, rows, int(picked) == p.n)
	c.s.habit.note(q.Name, rows)
	c.s.likeness.note(q.Name, rows)
	switch {
	case len(rows) == 0:
	case usual != nil:
		a.Claim = c.handOut(w, number, rows, map[int64]belfry.Task{usual.ID: *usual}, nil)
	default:
		a.Claim, err = c.leased(w, number, rows)
	}
	return a, err
}

// foretold answers the task of which all jobs of a claim are expected to be, if
// their lease is all that has to be written then, and the transaction that is
// committed with it. Where many jobs are likely to be there, a look that is
// hopeful saves more than a round trip.
func (c *change) foretold(queue string, p picking, like *jobRow) (Tx, *belfry.Task, error) {
	last, can := c.tx.(Closer)
	if can && c.usual != nil {
		return lastQuery{c.tx, last}, c.usual, nil
	}
	u := c.s.habit.of(queue)
	if !can || u.times < settled || p.hopeful && p.n >= likeFrom || like != nil && (like.TaskID != u.task || like.Kind == belfry.KindProgram) {
		return c.tx, nil, nil
	}
	tasks, err := c.tasksByID([]int64{u.task})
	t, there := tasks[u.task]
	if err != nil || !there {
		return c.tx, nil, err
	}
	return lastQuery{c.tx, last}, &t, nil
}

// rowPool keeps the room in which claims read jobs: half of the memory that a
// large claim uses up.
type rowPool struct{ pool sync.Pool }

func (p *rowPool) take(n int) []jobRow {
	if rows, ok := p.pool.Get().(*[]jobRow); ok && cap(*rows) >= n {
		return (*rows)[:0]
	}
	return make([]jobRow, 0, min(n, belfry.MaxBatch))
}

// giveBack is for rows that nobody looks at any more.
func (p *rowPool) giveBack(rows []jobRow) {
	clear(rows)
	p.pool.Put(&rows)
}

func (c *change) deadline(j belfry.Job) time.Time {
	return c.now.Add(j.Timeout.D() + belfry.DeadlineGrace)
}

// leased is the answer to a claim: jobs that have their lease.
func (c *change) leased(w belfry.WorkerState, number int64, rows []jobRow) (belfry.Claim, error) {
	rows, tasks, err := c.withTasks(rows)
	if err != nil {
		return belfry.Claim{}, err
	}
	rows, secrets, err := c.equip(rows, tasks)
	if err != nil {
		return belfry.Claim{}, err
	}
	return c.handOut(w, number, rows, tasks, secrets), nil
}

// handOut asks for nothing any more.
func (c *change) handOut(w belfry.WorkerState, number int64, rows []jobRow, tasks map[int64]belfry.Task, secrets map[int64]map[string]string) belfry.Claim {
	out := belfry.Claim{Lease: number, Jobs: make([]belfry.LeasedJob, 0, len(rows))}
	shared := make(map[int64]*belfry.Task, len(tasks))
	for id, t := range tasks {
		shared[id] = &t
	}
	for i := range rows {
		j := &rows[i].Job
		j.State, j.Lease, j.Session, j.ClaimedAt, j.DeadlineAt = belfry.JobRunning, number, w.Session, c.now, c.deadline(*j)
		j.Attempt++
		out.Jobs = append(out.Jobs, belfry.LeasedJob{Job: *j, Task: shared[rows[i].TaskID], Secrets: secrets[j.ID]})
	}
	c.wake(topicJobs)
	return out
}

// withTasks reads the tasks of leased jobs. A job whose task was deleted while
// an attempt ran, and that was handed back since, ends here.
func (c *change) withTasks(rows []jobRow) ([]jobRow, map[int64]belfry.Task, error) {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].TaskID
	}
	tasks, err := c.tasksByID(ids)
	if err != nil {
		return nil, nil, err
	}
	var gone []ending
	kept := rows[:0]
	for _, j := range rows {
		if _, ok := tasks[j.TaskID]; ok {
			kept = append(kept, j)
			continue
		}
		gone = append(gone, ending{row: j, settled: belfry.Withdraw(j.Job, belfry.ReasonDeleted, "task "+j.Task+" deleted")})
	}
	if len(gone) == 0 {
		return kept, tasks, nil
	}
	left := make([]int64, len(gone))
	for i, e := range gone {
		left[i] = e.row.ID
	}
	if err := c.sql.Unpack(c.ctx, c.tx, Packed{Jobs: left}); err != nil {
		return nil, nil, err
	}
	if _, err := c.tx.Exec(c.ctx, `delete from leases where `+c.sql.In("job_id", 1), c.sql.List(left)); err != nil {
		return nil, nil, err
	}
	return kept, tasks, c.end(gone, true)
}
