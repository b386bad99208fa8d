package jobs

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// A worker that claims ahead of its free slots keeps jobs that have not begun. If
// it is lost, they must not be charged for that, and the store cannot ask. So a
// lease says whether it was given ahead, until a renewal says that the job has
// begun; and a job for which not to know would matter is never claimed ahead
// ([job.Job.MayWait]).

// spare is how many of the jobs of a claim, in their order, may be leased when so
// many of them have a slot: all up to the first behind these that must not wait.
// Not to step over that one keeps the order of a queue, and keeps jobs that may
// wait from being claimed for ever before it.
//
// In a fair queue none may: what waits at a worker would go before a key that comes.
func (c *claim) spare(q job.Queue, rows []JobRow, slots int) (int, error) {
	if len(rows) <= slots {
		return len(rows), nil
	}
	if q.Fair != nil {
		return slots, nil
	}
	waiting := rows[slots:]
	ids := make([]int64, len(waiting))
	for i := range waiting {
		ids[i] = waiting[i].TaskID
	}
	tasks, err := c.tasks().TasksByID(ids)
	if err != nil {
		return 0, err
	}
	for i := range waiting {
		if !waiting[i].Job.MayWait(tasks[waiting[i].TaskID].Retry) {
			return slots + i, nil
		}
	}
	return len(rows), nil
}

// unlease takes back what this transaction has just leased.
func (c *claim) unlease(rows []JobRow) error {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	if err := c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{Jobs: ids}); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return err
}

// NoteBegun takes note of jobs that were claimed ahead and have begun. It waits for no
// other transaction: a handler that settles its job in a transaction of its own may hold
// the lease for long, and a renewal must not take as long. A lease in a pack says
// so still, until the pack is taken apart.
func (c *Change) NoteBegun(session string, leased map[job.Ref]Held, holding []job.Holding) error {
	var begun []int64
	for _, h := range holding {
		if !h.Waiting && leased[h.Ref].ahead {
			begun = append(begun, h.JobID)
		}
	}
	if len(begun) == 0 {
		return nil
	}
	slices.Sort(begun)
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.leases
		set ahead = 0
		where job_id in (
			select job_id
			from belfry.leases
			where `+c.SQL.In("job_id", 1)+` and session = $2 and ahead = 1`+c.SQL.SkipLocked("leases")+`)`, c.SQL.List(begun), session)
	return err
}

const SessionColumns = `id, name, namespace, token, doc, started_at, renewed_at, expires_at, ended_at, lost, drain`

func (s *Store) ScanSession(rows base.Rows) (w job.WorkerState, err error) {
	var name, namespace, doc string
	var token, lost, drain int64
	err = rows.Scan(&w.Session, &name, &namespace, &token, &doc, base.ScanTime(&w.StartedAt), base.ScanTime(&w.RenewedAt),
		base.ScanTime(&w.ExpiresAt), base.ScanTime(&w.EndedAt), &lost, &drain)
	if err == nil {
		w.WorkerInfo, err = s.sessionDocs.Decode(w.Session, doc)
	}
	w.Name, w.Namespace, w.Token, w.Lost, w.Drain = name, namespace, token, lost != 0, drain != 0
	return w, err
}

// session reads a living session and keeps it from being ended before this
// transaction is: what is leased to it here is seen by the transition that ends it.
func (c *Change) session(id string) (job.WorkerState, error) {
	w, found, err := c.s.sessionsRead.One(c.Change, "sessions", id, func() (job.WorkerState, bool, error) {
		return base.First(c.Ctx, c.Tx, c.s.ScanSession, `
			select `+SessionColumns+`
			from belfry.sessions
			where id = $1 and ended_at = 0`+c.SQL.ForKeyShare("sessions"), id)
	})
	if err == nil && !found {
		err = core.Errorf(core.Unauthorized, "session %s has ended", id).WithHint("open a new one")
	}
	return w, err
}

// Held is a lease as a renewal looks at it.
type Held struct {
	Ref                             job.Ref
	ClaimedAt, DeadlineAt, CancelAt time.Time
	ahead                           bool
}

func ScanHeld(rows base.Rows) (h Held, err error) {
	var ahead int64
	err = rows.Scan(&h.Ref.JobID, &h.Ref.Lease, base.ScanTime(&h.ClaimedAt), base.ScanTime(&h.DeadlineAt), base.ScanTime(&h.CancelAt), &ahead)
	h.ahead = ahead != 0
	return h, err
}

// Moved is a lease as it would be if it had not been under way.
func (h Held) Moved(r base.ClockRow) Held {
	if from, to := r.UnderWay(); h.ClaimedAt.After(from) && h.ClaimedAt.Before(to) {
		h.ClaimedAt, h.DeadlineAt = h.ClaimedAt.Add(r.SetBy), h.DeadlineAt.Add(r.SetBy)
	}
	return h
}
