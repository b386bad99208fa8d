package jobs

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

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

// errSession says that a session is no more.
func errSession(id string) error {
	return core.Errorf(core.Unauthorized, "session %s has ended", id).WithHint("open a new one")
}

// session reads a living session and keeps it from being ended before this
// transaction is: what is leased to it here is seen by whoever ends it.
func (c *Change) session(id string) (job.WorkerState, error) {
	w, found, err := c.s.sessionsRead.One(c.Change, "sessions", id, func() (job.WorkerState, bool, error) {
		return base.First(c.Ctx, c.Tx, c.s.ScanSession, `
			select `+SessionColumns+`
			from belfry.sessions
			where id = $1 and ended_at = 0`+c.SQL.ForKeyShare("sessions"), id)
	})
	if err == nil && !found {
		err = errSession(id)
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
