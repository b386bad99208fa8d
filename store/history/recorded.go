package history

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Recorded looks for what is stale in the answers to finishes of a session: one that says again what it said before, under
// the same lease and with the same outcome, is answered as recorded. Its state is known if it ended its job.
//
// It looks only for outcomes that only a worker reports. An attempt that was canceled, timed out or was handed back may
// have been ended by a node, and then what its worker says is late.
func (s *Store) Recorded(ctx context.Context, session string, fs []job.Finish, answers []job.Finished) error {
	if !slices.ContainsFunc(answers, func(a job.Finished) bool { return a.Stale }) {
		return nil
	}
	asked := make(map[job.Ref]*job.Finished)
	said := make(map[job.Ref]job.Outcome)
	for i := range answers {
		a := &answers[i]
		if _, again := said[a.Ref]; again {
			continue // the same attempt twice in one batch is stale the second time
		}
		said[a.Ref] = fs[i].Outcome
		switch fs[i].Outcome {
		case job.OutcomeOK, job.OutcomeError, job.OutcomeSnoozed:
			if a.Stale {
				asked[a.Ref] = a
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(asked))
	for ref := range asked {
		ids = append(ids, ref.JobID)
	}
	return s.DB().Read(ctx, func(tx base.Tx) error {
		list := s.SQL.List(base.Unique(ids))
		ends, err := base.Collect(ctx, tx, scanEnd, `
			select id, lease, session, outcome, state
			from belfry.jobs_done
			where `+s.SQL.In("id", 1)+`
			union all
			select job_id, lease, session, outcome, ''
			from belfry.attempts
			where `+s.SQL.In("job_id", 1), list)
		for _, e := range ends {
			if a := asked[e.ref]; a != nil && e.session == session && e.outcome == said[e.ref] {
				a.Stale, a.State = false, e.state
			}
		}
		return err
	})
}

// end is how an attempt is recorded, and what its job became if that ended it.
type end struct {
	ref     job.Ref
	session string
	outcome job.Outcome
	state   job.State
}

func scanEnd(rows base.Rows) (e end, err error) {
	err = rows.Scan(&e.ref.JobID, &e.ref.Lease, &e.session, (*string)(&e.outcome), (*string)(&e.state))
	return e, err
}
