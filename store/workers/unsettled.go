package workers

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
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
	case base.Closed:
		return job.OutcomeHandedBack, "its worker closed the session"
	case base.LostByEpoch:
		return job.OutcomeLost, "its worker was lost: the database was promoted or restored, which ends all sessions"
	case base.LostByToken:
		return job.OutcomeLost, "its worker was lost: the token of its session was revoked"
	case base.LostByNode:
		return job.OutcomeLost, "its worker was lost: the node that it ran in has ended without a word"
	}
	return job.OutcomeLost, "its worker was lost: the session did not renew in time"
}
