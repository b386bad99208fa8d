package workers

import (
	"github.com/belfry-run/belfry/store/base"
)

// unsettled is an ended session with the reason for the end of its jobs.
type unsettled struct {
	silent
	why string
}

func scanUnsettled(rows base.Rows) (x unsettled, err error) {
	var lost int64
	err = rows.Scan(&x.session, base.ScanTime(&x.renewedAt), &lost)
	x.why = "its worker was lost: the session did not renew in time"
	if lost == base.LostByEpoch {
		x.why = "its worker was lost: the database was promoted or restored, which ends all sessions"
	}
	return x, err
}
