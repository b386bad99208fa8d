package jobs

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
	"github.com/belfry-run/belfry/task"
)

// A worker that claims ahead of its free slots keeps jobs that have not begun. If the worker is lost, such a job must not lose an
// attempt, and the store cannot ask whether it had begun. So a lease records that it was given ahead, until a renewal reports
// that the job has begun. A job for which this uncertainty matters is never claimed ahead ([job.Job.MayWait]).

// spare returns how many of the jobs of a claim may be leased, when the first slots of them have a free slot: the jobs up to the
// first later one that must not wait at a worker. That job is not skipped: this keeps the order of the queue, and jobs that may
// wait are not always claimed before it. Jobs from the first one on whose input had no room are not leased either.
//
// In a fair queue, only jobs with a free slot are leased: jobs that wait at a worker would run before jobs of a new key.
func (c *claim) spare(q job.Queue, rows []JobRow, slots int) (int, error) {
	if i := slices.IndexFunc(rows, func(j JobRow) bool { return j.dropped }); i >= 0 {
		rows = rows[:i]
	}
	if c.r.Remote {
		tasks, err := c.tasks().TasksByID(idsOf(rows, func(j *JobRow) int64 { return j.TaskID }))
		if err != nil {
			return 0, err
		}
		rows = rows[:marks.Fitting(len(rows), func(i int) (task.Task, int) { return tasks[rows[i].TaskID], len(rows[i].Input) })]
	}
	if len(rows) <= slots {
		return len(rows), nil
	}
	if q.Fair != nil {
		return slots, nil
	}
	waiting := rows[slots:]
	tasks, err := c.tasks().TasksByID(idsOf(waiting, func(j *JobRow) int64 { return j.TaskID }))
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

func idsOf[T any](rows []T, id func(*T) int64) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = id(&rows[i])
	}
	return ids
}

// unlease takes back leases that this transaction has just given.
func (c *claim) unlease(rows []JobRow) error {
	ids := idsOf(rows, func(j *JobRow) int64 { return j.ID })
	if err := c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{Jobs: ids}); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return err
}

// NoteBegun records that jobs which were claimed ahead have begun. It waits for no other transaction: a handler that settles its
// job in its own transaction may lock the lease for long, and a renewal must not take as long. A lease in a pack stays marked
// as ahead until the pack is taken apart.
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

// SessionColumns are the columns that [Store.ScanSession] reads, in its order.
const SessionColumns = `id, name, namespace, token, doc, started_at, renewed_at, expires_at, ended_at, lost, drain`

// ScanSession reads one row of [SessionColumns].
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

// session reads a session that has not ended, and locks it against its end until this transaction ends: the transition that ends
// the session then sees the leases that were given here.
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

// Held is a lease, as a renewal reads it.
type Held struct {
	Ref                             job.Ref
	ClaimedAt, DeadlineAt, CancelAt time.Time
	ahead                           bool
}

// ScanHeld reads one row of a lease: job, lease number, times, and whether the job was claimed ahead.
func ScanHeld(rows base.Rows) (h Held, err error) {
	var ahead int64
	err = rows.Scan(&h.Ref.JobID, &h.Ref.Lease, base.ScanTime(&h.ClaimedAt), base.ScanTime(&h.DeadlineAt), base.ScanTime(&h.CancelAt), &ahead)
	h.ahead = ahead != 0
	return h, err
}

// Moved corrects a lease that was given in a transaction under way while the clock was set.
func (h Held) Moved(r base.ClockRow) Held {
	if from, to := r.UnderWay(); h.ClaimedAt.After(from) && h.ClaimedAt.Before(to) {
		h.ClaimedAt, h.DeadlineAt = h.ClaimedAt.Add(r.SetBy), h.DeadlineAt.Add(r.SetBy)
	}
	return h
}
