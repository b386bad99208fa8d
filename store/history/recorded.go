package history

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Recorded corrects stale answers to finishes of a session. A finish that repeats an earlier one, with the same lease and
// outcome, is answered as recorded. The answer has the state of the job if the attempt ended it.
//
// It corrects only outcomes that only a worker reports. A node may have ended an attempt that was canceled, timed out or handed
// back, and then the worker's finish is late.
func (s *Store) Recorded(ctx context.Context, session string, fs []job.Finish, answers []job.Finished) error {
	if !slices.ContainsFunc(answers, func(a job.Finished) bool { return a.Stale }) {
		return nil
	}
	asked := make(map[job.Ref]*job.Finished)
	said := make(map[job.Ref]job.Outcome)
	for i := range answers {
		a := &answers[i]
		if _, again := said[a.Ref]; again {
			continue // the same attempt twice in one batch: the second is stale
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

// end is a recorded attempt, with the state of its job if the attempt ended the job.
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
