package history

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
)

// Attempts lists the ended attempts of a job, oldest first. The attempt that ended the job is stored in the job's own row.
func (s *Store) Attempts(ctx context.Context, namespace string, id int64) (all []job.Attempt, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		if _, err := s.jobs.ReadJob(ctx, tx, namespace, id); err != nil {
			return err
		}
		all, err = base.Collect(ctx, tx, scanAttempt, `
			select job_id, number, lease, session, worker, claimed_at, started_at, ended_at, outcome, error, exit_code, signal, log_cut
			from belfry.attempts
			where job_id = $1
			union all
			select `+jobs.LastAttempt+`
			from belfry.jobs_done
			where id = $1 and outcome <> ''
			order by 2, 3`, id)
		if err != nil {
			return err
		}
		return addDetails(ctx, tx, id, all)
	})
	if all == nil {
		all = []job.Attempt{}
	}
	return all, err
}

func scanAttempt(rows base.Rows) (a job.Attempt, err error) {
	var exit *int64
	var cut int64
	err = rows.Scan(&a.JobID, &a.Number, &a.Lease, &a.Session, &a.Worker, base.ScanTime(&a.ClaimedAt), base.ScanTime(&a.StartedAt), base.ScanTime(&a.EndedAt),
		&a.Outcome, &a.Error, &exit, &a.Signal, &cut)
	if exit != nil {
		code := int(*exit)
		a.ExitCode = &code
	}
	a.LogCut = cut != 0
	return a, err
}

// addDetails adds the stored details to the attempts of a job.
func addDetails(ctx context.Context, tx base.Tx, j int64, attempts []job.Attempt) error {
	type detail struct {
		lease int64
		doc   *task.Sandboxed
	}
	all, err := base.Collect(ctx, tx, func(r base.Rows) (d detail, err error) {
		return d, r.Scan(&d.lease, base.ScanDoc(&d.doc))
	}, `
		select lease, doc
		from belfry.attempt_details
		where job_id = $1 and doc is not null`, j)
	for _, d := range all {
		if i := slices.IndexFunc(attempts, func(a job.Attempt) bool { return a.Lease == d.lease }); i >= 0 {
			attempts[i].Sandboxed = d.doc
		}
	}
	return err
}
