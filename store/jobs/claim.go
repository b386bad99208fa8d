package jobs

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/task"
)

// Claim leases ready jobs to a session. When there are none it waits for a
// wake-up, looking again by itself every [base.Options.Poll], or for an enqueue that
// takes it along.
func (s *Store) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	if err := r.Validate(); err != nil {
		return job.Claim{}, err
	}
	ends := time.NewTimer(min(r.Wait, job.MaxClaimWait).D())
	defer ends.Stop()
	var freed <-chan struct{}
	for {
		woken := s.Hub.Bell(awaited(r))
		a, err := s.claim(ctx, r)
		if err != nil || len(a.Jobs) > 0 || r.Wait <= 0 || len(r.Tickets) > 0 {
			s.claimed(ctx, a)
			return a.Claim, err
		}
		if a.Limited && freed == nil { // taken before the next look, which is at once
			freed = s.freed(r)
			continue
		}
		again := time.NewTimer(s.Opt.Poll + rand.N(s.Opt.Poll/5+1))
		w, told := s.Hub.Wait(woken, r, a.Seen), false
		select {
		case a = <-w.Answer:
			told = true
		case <-woken.Rung:
		case <-freed:
			freed = nil
		case <-again.C:
		case <-ends.C:
			r.Wait = 0
		case <-ctx.Done():
			err = ctx.Err()
		}
		again.Stop()
		if !told && !s.Hub.Leave(w) { // what is leased by then is not lost, whatever else has ended
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

// awaited is the topic that rings when one of the queues has news. Asking for
// several costs a goroutine, so the worker asks for one at a time.
func awaited(r job.ClaimRequest) string {
	if len(r.Want) == 1 {
		for q := range r.Want {
			return base.TopicQueue(q)
		}
	}
	return base.TopicJobs
}

// freed rings when a job of the queue has ended.
func (s *Store) freed(r job.ClaimRequest) <-chan struct{} {
	for q := range r.Want {
		return s.Hub.On(base.TopicPlace(q))
	}
	return nil
}

// none is what a claim has seen that found less than it could have taken.
func (c *Change) none() base.Nothing {
	if c.Version == nil {
		return base.Nothing{At: c.Begun}
	}
	return base.Nothing{At: c.Begun, Version: c.Version("queues")}
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
		a = base.Answer{} // it was not committed, for all we know
	}
	return a, err
}

// foreseeClaim asks what a claim without tickets asks first.
func (c *Change) foreseeClaim(r job.ClaimRequest) {
	_, _ = c.session(r.Session)
	_, _ = c.Claimable(r.Want)
	_, _ = c.tasks().MetBy(job.WorkerState{})
	for queue := range r.Want {
		if id, known := c.s.usual.Load(queue); known && len(r.Want) == 1 {
			_, _ = c.tasks().TasksByID([]int64{id.(int64)}) //nolint:forcetypeassert // only a claim stores
		}
	}
}

// claim is the transition itself.
func (c *Change) claim(r job.ClaimRequest) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	session, err := c.session(r.Session)
	session = r.Of(session)
	if err == nil && len(r.Tickets) > 0 {
		a.Claim, err = c.claimShown(session, r)
		return a, err
	}
	if err != nil || session.Drain {
		return a, err
	}
	queues, err := c.Claimable(r.Want)
	if err != nil {
		return a, err
	}
	return c.s.path.claim(c, session, queues, r)
}

// fast is [plain] with less work: it begins at a mark, walks the lanes of its
// session, packs leases, and on PostgreSQL picks and leases in one statement.
type fast struct{}

func (fast) claim(c *Change, session job.WorkerState, queues []job.Queue, r job.ClaimRequest) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	met, err := c.tasks().MetBy(session)
	if err != nil {
		return a, err
	}
	var rows []JobRow
	defer func() { c.s.rows.giveBack(rows) }()
	var slots []leaseRow
	for _, q := range queues {
		wanted := min(r.Want[q.Name], core.MaxBatch-len(rows))
		allowed, err := c.withinLimit(q, wanted)
		if err != nil {
			return a, err
		}
		if allowed < wanted {
			a.Limited = true
		}
		if allowed <= 0 {
			continue
		}
		p := c.picking(session, met, q, allowed)
		p.slots = r.Slots(q.Name, wanted)
		some, err := c.narrow(&p, session, met, q.Name)
		if err != nil {
			return a, err
		}
		if !some {
			if len(queues) == 1 {
				a.Seen = c.none()
			}
			continue
		}
		if p.lookBack {
			if len(p.lanes) > 0 { // which is no dearer than a look back
				p.marked, p.hopeful = false, false
			} else {
				c.After(func() { c.s.lookBack(p) })
			}
		}
		if len(queues) == 1 && c.SQL.Lease(nil, "", 1) != "" {
			limited := a.Limited
			a, err = c.leaseAtOnce(session, q, p)
			a.Limited = limited && a.Seen == (base.Nothing{})
			return a, err
		}
		if rows == nil {
			rows = c.s.rows.take(wanted)
		}
		before := len(rows)
		if rows, err = c.walk(p, rows); err != nil {
			return a, err
		}
		found := rows[before:]
		may, err := c.spare(found, p.slots)
		if err != nil {
			return a, err
		}
		if len(queues) == 1 && len(found) < p.n && may == len(found) {
			a.Seen, a.Limited = c.none(), false
		}
		c.pickedOf(p, found, may, len(found) == p.n)
		found = found[:may]
		rows = rows[:before+may]
		for i := range found {
			slots = append(slots, leaseRow{SlotOf: slotOf(q), Ahead: base.Bit(i >= p.slots)})
		}
	}
	if len(rows) > 0 {
		a.Claim, err = fast{}.lease(c, session, rows, slots)
	}
	return a, err
}

// claimed tells of an answer to whom it concerns, and completes it.
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

// Claimable reads the wanted queues that are not paused, the highest first.
func (c *Change) Claimable(want map[string]int) ([]job.Queue, error) {
	names := make([]string, 0, len(want))
	for q, n := range want {
		if n > 0 {
			names = append(names, q)
		}
	}
	slices.Sort(names) // the same again where it was foreseen
	if len(names) == 1 {
		q, found, err := c.s.queuesRead.One(c.Change, "queues", names[0], func() (job.Queue, bool, error) {
			return base.First(c.Ctx, c.Tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues where paused_at = 0 and name = $1`, names[0])
		})
		if !found {
			return nil, err
		}
		return []job.Queue{q}, nil
	}
	return base.Collect(c.Ctx, c.Tx, queues.ScanQueue, `
		select `+queues.QueueColumns+`
		from belfry.queues
		where paused_at = 0 and `+c.SQL.In("name", 1)+`
		order by priority desc, name`, c.SQL.List(names))
}

// runnable is the condition on the kind. Kinds are Belfry's own words, never
// text from outside.
func runnable(w job.WorkerState) string {
	list := ""
	for _, k := range task.Kinds {
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
func (c *Change) withinLimit(q job.Queue, n int) (int, error) {
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

// rowPool keeps the room in which large claims read jobs: half of the memory
// that they use up. What the garbage collector empties, as it does a [sync.Pool],
// would be made anew many times a second.
type rowPool chan []JobRow

// spareRows are for two claims under way, and fewRows need none of that room.
const (
	spareRows = 2
	fewRows   = 10
)

func (p rowPool) take(n int) []JobRow {
	if n < fewRows {
		return make([]JobRow, 0, n)
	}
	select {
	case rows := <-p:
		return rows
	default:
		return make([]JobRow, 0, core.MaxBatch)
	}
}

// giveBack is for rows that nobody looks at any more.
func (p rowPool) giveBack(rows []JobRow) {
	if cap(rows) < core.MaxBatch {
		return
	}
	clear(rows)
	select {
	case p <- rows[:0]:
	default:
	}
}

func (s *Store) setUp() {
	s.path = fast{}
	if s.Opt.Claims.Plain {
		s.path = plain{}
	}
	s.water = newLowWater()
	s.water.off = s.Opt.Claims.NoMark
	s.gather = newGathering(s.Far)
	s.rows = make(rowPool, spareRows)
	s.lanes = lanes{mixed: map[waterKey]*mixture{}}
	s.OnClose(s.water.close)
	s.OnClockSet(s.water.drain)
	s.OnClockSet(s.Delayed.Drain)
}
