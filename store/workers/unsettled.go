package workers

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Values of the column lost: how a session ended. From lostSilent on, a worker is missing.
const (
	closed      = iota // by its worker
	lostByEpoch        // [base.LostByEpoch]
	lostSilent         // it did not renew in time
	lostByToken        // the token that opened it was revoked
	lostByNode         // the process in which it ran has ended
)

// ended is a session that has ended, and how: a value of the column lost. Its jobs are settled in several transactions, so each
// of them reads the reason from the row.
type ended struct {
	session   string
	renewedAt time.Time
	lost      int64
}

func scanEnded(rows base.Rows) (x ended, err error) {
	return x, rows.Scan(&x.session, base.ScanTime(&x.renewedAt), &x.lost)
}

// outcome returns what the attempts of the session end as, and their error.
func (x ended) outcome() (job.Outcome, string) {
	switch x.lost {
	case closed:
		return job.OutcomeHandedBack, "its worker closed the session"
	case lostByEpoch:
		return job.OutcomeLost, "its worker was lost: the database was promoted or restored, which ends all sessions"
	case lostByToken:
		return job.OutcomeLost, "its worker was lost: the token of its session was revoked"
	case lostByNode:
		return job.OutcomeLost, "its worker was lost: the node that it ran in has ended without a word"
	}
	return job.OutcomeLost, "its worker was lost: the session did not renew in time"
}
