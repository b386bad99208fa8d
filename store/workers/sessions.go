package workers

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/queues"
)

// OpenSession begins a session. A queue that does not exist is left out, unless no other queue is left. A worker that comes
// back must not be shut out because a queue was deleted meanwhile.
func (s *Store) OpenSession(ctx context.Context, w job.WorkerInfo) (out job.Session, err error) {
	if err := w.Validate(); err != nil {
		return out, err
	}
	if w.Namespace == "" {
		w.Namespace = core.AnyNamespace
	}
	id, err := uuid.NewV7()
	if err != nil {
		return out, err
	}
	err = s.write(ctx, "open session", func(c *Change) error {
		out = job.Session{ID: id.String(), TTL: w.TTL}
		if err := c.liveToken(w.Token); err != nil {
			return err
		}
		if err := c.checkSessionLimit(w.Token); err != nil {
			return err
		}
		if out.TTL == 0 {
			out.TTL = core.Duration(s.Opt.SessionTTL)
		}
		if out.Queues, out.Order, err = c.slots(w); err != nil {
			return err
		}
		if len(out.Queues) == 0 {
			for name := range w.Queues {
				return queues.UnknownQueue("queues", name)
			}
		}
		if err := s.tasks.In(c.Change).EnsureFuncs(w.Namespace, w.Funcs, w.Token != 0); err != nil { // a worker that is refused registers none
			return err
		}
		_, err = c.Tx.Exec(ctx, `
			insert into belfry.sessions (id, name, namespace, token, doc, ttl, started_at, renewed_at, expires_at, remote)
			values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9)`,
			out.ID, w.Name, w.Namespace, w.Token, base.Text(w), out.TTL.D().Microseconds(), base.Micros(c.Now), base.Micros(c.Now.Add(out.TTL.D())), base.Bit(w.Remote && s.listening.does()))
		return err
	})
	return out, err
}

// slots returns the number of jobs that a worker runs at the same time, by queue, and the queues in the order of priority.
func (c *Change) slots(w job.WorkerInfo) (slots map[string]int, order []string, err error) {
	queues, err := base.Collect(c.Ctx, c.Tx, queues.ScanQueue, `select `+queues.QueueColumns+` from belfry.queues order by priority desc, name`)
	slots = map[string]int{}
	for _, q := range queues {
		n, serves := w.Queues[q.Name]
		if !serves {
			continue
		}
		if n == 0 {
			n = q.Concurrency
		}
		slots[q.Name] = n
		order = append(order, q.Name)
	}
	return slots, order, err
}

// Renew renews a session. A late session that was not given up yet is still alive: none of its jobs has been leased to another
// worker.
func (s *Store) Renew(ctx context.Context, session string, has job.Holdings) (out job.Renewal, err error) {
	if len(has.Attempts) > core.MaxBatch*10 {
		return out, core.Errorf(core.TooLarge, "a session holds at most %d jobs", core.MaxBatch*10)
	}
	if err := has.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "renew", func(c *Change) error {
		out = job.Renewal{}
		w, found, err := c.RenewSession(session)
		if err != nil || !found {
			out.Lost = !found
			return err
		}
		out.Drain = w.Drain
		if err := c.serves(&w, has); err != nil {
			return err
		}
		if out.Queues, _, err = c.slots(w.WorkerInfo); err != nil {
			return err
		}
		if err := c.reconcile(session, has, &out); err != nil {
			return err
		}
		// This comes last, because it locks packs. Afterwards jobs that run for longer than the time between two renewals are
		// in no claim's way.
		return c.SQL.Unpack(ctx, c.Tx, base.Packed{Session: session, Before: base.Micros(c.Now.Add(-job.ClaimSettled))})
	})
	return out, err
}

// serves updates the queues that a worker serves.
func (c *Change) serves(w *job.WorkerState, has job.Holdings) error {
	if len(has.Queues) == 0 || maps.Equal(has.Queues, w.Queues) && slices.Equal(has.ByTicket, w.ByTicket) {
		return nil
	}
	w.Queues, w.ByTicket = has.Queues, has.ByTicket
	_, err := c.Tx.Exec(c.Ctx, `update belfry.sessions set doc = $2 where id = $1`, w.Session, base.Text(w.WorkerInfo))
	return err
}

// RenewSession renews a session by its TTL, and reports whether it still lives.
func (c *Change) RenewSession(session string) (job.WorkerState, bool, error) {
	return base.First(c.Ctx, c.Tx, c.s.jobs.ScanSession, `
		update belfry.sessions
		set renewed_at = $2, expires_at = $2 + ttl
		where id = $1 and ended_at = 0
		returning `+jobs.SessionColumns, session, base.Micros(c.Now))
}

// LateFinish returns a finish for an attempt that its worker did not end in time.
func LateFinish(ref job.Ref) job.Finish {
	return job.Finish{Ref: ref, Outcome: job.OutcomeTimeout, Error: "its worker lives but did not end it by the deadline"}
}

// floors holds for each session a number below which it has no lease. So a renewal skips the ended leases that a long
// transaction elsewhere keeps from being removed. A floor is taken from the renewal before the last. No claim draws its number
// before one renewal and commits after the next.
type floors struct {
	mu    sync.Mutex
	known map[string]floor
}

type floor struct{ now, next int64 }

func (f *floors) of(session string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[session].now
}

func (f *floors) rise(session string, rows []jobs.Held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= base.MaxDocs {
		f.known = map[string]floor{}
	}
	known := f.known[session]
	known.now = known.next
	if len(rows) > 0 {
		known.next = slices.MinFunc(rows, func(a, b jobs.Held) int { return cmp.Compare(a.Ref.Lease, b.Ref.Lease) }).Ref.Lease
	}
	f.known[session] = known
}

// reconcile compares the attempts of a worker with its leases. It returns attempts that were asked to end, hands back leases
// that never arrived, and ends attempts past their deadline. Deadlines of a worker that does not renew need no look: its
// session ends.
func (c *Change) reconcile(session string, has job.Holdings, out *job.Renewal) error {
	rows, err := base.Collect(c.Ctx, c.Tx, jobs.ScanHeld, `
		select job_id, number, claimed_at, deadline_at, cancel_at, ahead
		from belfry.running
		where session = $1 and number >= $2`, session, c.s.floors.of(session))
	if err != nil {
		return err
	}
	sure := true
	if slices.ContainsFunc(rows, func(h jobs.Held) bool {
		return !c.Now.Before(h.DeadlineAt) || c.Now.Sub(h.ClaimedAt) > job.ClaimSettled
	}) {
		if sure, err = c.Trusted(); err != nil {
			return err
		}
		for i, h := range rows {
			rows[i] = h.Moved(c.Clock)
		}
	}
	c.After(func() { c.s.floors.rise(session, rows) }) // once for each renewal: a renewal is not repeated after this point
	leased := make(map[job.Ref]jobs.Held, len(rows))
	var late, never []job.Finish
	for _, h := range rows {
		if sure && !c.Now.Before(h.DeadlineAt) {
			late = append(late, LateFinish(h.Ref))
			continue
		}
		leased[h.Ref] = h
	}
	if err := c.jobs().NoteBegun(session, leased, has.Attempts); err != nil {
		return err
	}
	for _, h := range has.Attempts {
		ref := h.Ref
		// A held job without a lease of this session was ended by another transaction. It may also have been settled just now
		// by its own finish: that makes no difference.
		if h, ok := leased[ref]; !ok || !h.CancelAt.IsZero() {
			out.Cancel = append(out.Cancel, ref)
		}
		delete(leased, ref)
	}
	if sure {
		out.Settled = settled(rows, c.Now)
	}
	for ref, h := range leased {
		if ref.Lease <= has.Settled && sure && c.Now.Sub(h.ClaimedAt) > job.ClaimSettled {
			never = append(never, job.Finish{Ref: ref, Outcome: job.OutcomeHandedBack, Error: "the claim never reached the worker"})
		}
	}
	if len(late)+len(never) == 0 {
		return nil
	}
	slices.SortFunc(never, func(a, b job.Finish) int { return cmp.Compare(a.JobID, b.JobID) }) // they come from a map
	if len(never) > 0 {
		c.s.Opt.Logger.Warn("claims that never arrived are handed back", "session", session, "jobs", len(never))
	}
	if _, err = c.jobs().SettleOther(session, append(late, never...)); err != nil || len(never) == 0 {
		return err
	}
	// If a handler settled its job in its own transaction, with a snapshot from before the row of the lease, this row remained.
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1)+` and (select id from belfry.jobs where id = job_id) is null`, c.SQL.List(base.JobIDs(never)))
	return err
}

// settled returns the highest lease up to which the answer of every claim has arrived or never will, or 0 for none.
func settled(rows []jobs.Held, now time.Time) (lease int64) {
	young := int64(math.MaxInt64)
	for _, h := range rows {
		if now.Sub(h.ClaimedAt) > job.ClaimSettled {
			lease = max(lease, h.Ref.Lease)
		} else {
			young = min(young, h.Ref.Lease)
		}
	}
	return min(lease, young-1)
}

// Nudged returns a channel that is closed when the session should renew now.
func (s *Store) Nudged(session string) <-chan struct{} { return s.Hub.On(base.TopicSession(session)) }

// CloseSession ends a session. Its jobs are handed back.
func (s *Store) CloseSession(ctx context.Context, session string) error {
	more := false
	err := s.write(ctx, "close session", func(c *Change) error {
		more = false
		n, err := c.Tx.Exec(ctx, `
			update belfry.sessions
			set ended_at = $2
			where id in (select id from belfry.sessions where id = $1 and ended_at = 0`+s.SQL.ForUpdate("sessions")+`)`, session, base.Micros(c.Now))
		if err != nil || n == 0 {
			return err
		}
		_, more, err = c.settleHeld(ended{session: session})
		return err
	})
	for err == nil && more { // if this ends early, [Store.ReleaseLost] hands back the rest
		err = s.write(ctx, "close session", func(c *Change) error {
			_, more, err = c.settleHeld(ended{session: session})
			return err
		})
	}
	return err
}

// releaseBatch bounds the jobs that one transaction releases.
const releaseBatch = 500

// ReleaseLost gives up sessions that did not renew although they could have, and settles their jobs as lost, in the same way as
// a worker's own finish. Jobs that a closed session has left are handed back.
func (s *Store) ReleaseLost(ctx context.Context) (out job.Released, err error) {
	err = s.write(ctx, "release lost", func(c *Change) error {
		out = job.Released{}
		if sure, err := c.Trusted(); err != nil || !sure {
			return err
		}
		from, to := c.Clock.UnderWay() // of renewals in progress too
		heard, err := c.heard()
		if err != nil {
			return err
		}
		n, err := c.Tx.Exec(ctx, `
			update belfry.sessions
			set ended_at = $1, lost = $10
			where id in (
				select id
				from belfry.sessions
				where ended_at = 0 and expires_at < $2 and ttl <= $3 and (renewed_at <= $4 or renewed_at >= $5 or expires_at + $6 < $2)
					and (remote = 0 or ttl <= $7 and expires_at <= $8 or expires_at < $9)`+s.SQL.SkipLocked("sessions")+`)`,
			base.Micros(c.Now), base.Micros(c.Now.Add(-job.LostGrace)), c.watchedFor().Microseconds(), base.Micros(from), base.Micros(to), c.Clock.SetBy.Microseconds(),
			heard.Until.Sub(heard.Since).Microseconds(), base.Micros(heard.Until), base.Micros(c.Now.Add(-job.UnheardFor)), lostSilent)
		if err != nil {
			return err
		}
		out.Sessions = int(n)
		c.Observe(func(o base.Observer) { o.Lost(out.Sessions) })
		unsettled, err := base.Collect(ctx, c.Tx, scanEnded, `
			select id, renewed_at, lost
			from belfry.sessions
			where ended_at > 0 and settled = 0
			order by id`+s.SQL.SkipLocked("sessions"))
		if err != nil {
			return err
		}
		for _, x := range unsettled {
			n, more, err := c.settleHeld(x)
			if err != nil {
				return err
			}
			if n > 0 {
				c.Observe(func(o base.Observer) { o.Released(n, c.Now.Sub(x.renewedAt)) })
			}
			if out.Jobs += n; more || out.Jobs >= releaseBatch {
				out.More = true
				return nil
			}
		}
		return nil
	})
	return out, err
}

// TakeUp gives up the sessions of the previous process on this database, and settles their jobs as lost, up to a batch for each
// session. [Store.ReleaseLost] settles the rest. The caller must know that the previous process is dead: on SQLite, because it
// holds the lock of the file. Sessions of remote workers continue.
func (s *Store) TakeUp(ctx context.Context) error {
	return s.write(ctx, "take up", func(c *Change) error {
		dead, err := base.Collect(ctx, c.Tx, scanEnded, `
			update belfry.sessions
			set ended_at = $1, lost = $2
			where ended_at = 0 and remote = 0 and token = 0
			returning id, renewed_at, lost`, base.Micros(c.Now), lostByNode)
		if err != nil || len(dead) == 0 {
			return err
		}
		c.Observe(func(o base.Observer) { o.Lost(len(dead)) })
		for _, x := range dead {
			n, _, err := c.settleHeld(x)
			if err != nil {
				return err
			}
			if n > 0 {
				c.Observe(func(o base.Observer) { o.Released(n, c.Now.Sub(x.renewedAt)) })
			}
		}
		return nil
	})
}

// sight holds the time since which this process has looked for lost sessions without a gap.
type sight struct {
	mu          sync.Mutex
	since, last time.Duration // by Options.Monotonic
	rest        time.Duration // between the last two looks
	begun       bool
}

// sightGap is the gap between looks after which it is unknown which sessions were renewed meanwhile. It is longer if looks are
// regularly further apart. An engine looks every two seconds.
const sightGap = 15 * time.Second

// watchedFor returns the time for which renewals could have been seen: this process ran and reached the database. A session is
// given up only if that covers the whole life of its lease. So workers that could not reach the database are not all taken for
// dead together.
func (c *Change) watchedFor() time.Duration {
	if c.s.Opt.Monotonic == nil {
		return job.MaxSessionTTL.D()
	}
	now := c.s.Opt.Monotonic()
	c.s.sight.mu.Lock()
	defer c.s.sight.mu.Unlock()
	rest := time.Duration(0)
	if c.s.sight.begun {
		rest = now - c.s.sight.last
	}
	if !c.s.sight.begun || rest > max(sightGap, 2*c.s.sight.rest) {
		c.s.sight.since, c.s.sight.begun = now, true
	}
	c.s.sight.last, c.s.sight.rest = now, rest
	return now - c.s.sight.since
}

// settleHeld settles a bounded number of jobs of an ended session; more reports that jobs may be left. A session without jobs is
// marked as settled and not looked at again.
func (c *Change) settleHeld(x ended) (n int, more bool, err error) {
	refs, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (ref job.Ref, err error) {
		return ref, r.Scan(&ref.JobID, &ref.Lease)
	}, `
		select job_id, number
		from belfry.running
		where session = $1
		order by number, job_id
		limit $2 + 0`, x.session, releaseBatch)
	if err != nil {
		return 0, false, err
	}
	outcome, why := x.outcome()
	fs := make([]job.Finish, len(refs))
	for i, ref := range refs {
		fs[i] = job.Finish{Ref: ref, Outcome: outcome, Error: why}
	}
	if more = len(refs) == releaseBatch; !more {
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.sessions set settled = 1 where id = $1`, x.session); err != nil {
			return 0, false, err
		}
	}
	settled, err := c.jobs().SettleOther(x.session, fs)
	if err == nil && !more { // a pack may overstate its content
		err = c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{Session: x.session, Before: math.MaxInt64})
	}
	return len(settled), more, err
}

// maxHandlers limits the names of handlers, in bytes, that a list of workers has. Those of further workers are only counted.
const maxHandlers = 8 << 20

// Workers lists living sessions, newest first, and with ended also up to a thousand ended ones.
func (s *Store) Workers(ctx context.Context, ended bool) (all []job.WorkerState, err error) {
	all = []job.WorkerState{}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		room := maxHandlers
		scan := func(rows base.Rows) (job.WorkerState, error) {
			w, err := s.jobs.ScanSession(rows)
			for _, f := range w.Funcs {
				room -= len(f)
			}
			if room < 0 {
				w.MoreFuncs, w.Funcs = len(w.Funcs), nil
			}
			w.WorkerInfo = base.Own(w.WorkerInfo)
			return w, err
		}
		cond := "ended_at = 0"
		if ended {
			cond = "true"
		}
		all, err = base.Collect(ctx, tx, scan, `
			select `+jobs.SessionColumns+`
			from belfry.sessions
			where `+cond+`
			order by started_at desc
			limit 1000`)
		if err != nil {
			return err
		}
		return countHeld(ctx, tx, all)
	})
	if all == nil {
		all = []job.WorkerState{}
	}
	return all, err
}

// countHeld counts the running jobs of each session by queue.
func countHeld(ctx context.Context, tx base.Tx, all []job.WorkerState) error {
	at := map[string]int{}
	for i := range all {
		at[all[i].Session], all[i].RunningByQueue = i, map[string]int{}
	}
	_, err := base.Collect(ctx, tx, func(r base.Rows) (_ struct{}, err error) {
		var session, queue string
		var n int64
		err = r.Scan(&session, &queue, &n)
		if i, listed := at[session]; listed {
			all[i].Running += int(n)
			all[i].RunningByQueue[queue] = int(n)
		}
		return struct{}{}, err
	}, `
		select session, queue, count(*)
		from (select session, coalesce((select queue from belfry.jobs where id = job_id), '') as queue from belfry.running) as leased
		group by session, queue`)
	return err
}

// DrainWorker asks a worker to finish what it runs and claim no more.
func (s *Store) DrainWorker(ctx context.Context, session string) error {
	return s.write(ctx, "drain worker", func(c *Change) error {
		n, err := c.Tx.Exec(ctx, `update belfry.sessions set drain = 1 where id = $1 and ended_at = 0`, session)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.Errorf(core.NotFound, "no living worker with session %s", session).WithHint("see: belfry worker list")
		}
		c.Wake(base.TopicSession(session))
		return c.Audit("drain", "worker", "", session, "", nil, nil)
	})
}
