package workers

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// whyClosed is the error of attempts that were handed back because their session was closed.
const whyClosed = "its worker closed the session"

// unsettled is an ended session with the reason for the end of its jobs.
type unsettled struct {
	silent
	outcome job.Outcome
	why     string
}

func scanUnsettled(rows base.Rows) (x unsettled, err error) {
	var lost int64
	err = rows.Scan(&x.session, base.ScanTime(&x.renewedAt), &lost)
	x.outcome, x.why = job.OutcomeLost, "its worker was lost: the session did not renew in time"
	switch lost {
	case 0:
		x.outcome, x.why = job.OutcomeHandedBack, whyClosed
	case base.LostByEpoch:
		x.why = "its worker was lost: the database was promoted or restored, which ends all sessions"
	}
	return x, err
}
