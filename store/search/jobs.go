package search

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/windows"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// Job returns one job, live or finished.
func (s *Store) Job(ctx context.Context, namespace string, id int64) (j job.Job, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.jobs.ReadJob(ctx, tx, namespace, id)
		if j = row.Job; err != nil {
			return err
		}
		if err := s.steps.AddProgress(ctx, tx, []*job.Job{&j}); err != nil {
			return err
		}
		if err := windows.AddTo(ctx, tx, &j); err != nil {
			return err
		}
		one := []job.Job{j}
		if err := s.addAsked(ctx, tx, one); err != nil {
			return err
		}
		j = one[0]
		return addRunAgain(ctx, tx, &j)
	})
	return j, err
}

// addAsked notes the approval that a run of a workflow waits for.
func (s *Store) addAsked(ctx context.Context, tx base.Tx, jobs []job.Job) error {
	at, ids := map[int64]*job.Job{}, []int64(nil)
	for i := range jobs {
		if j := &jobs[i]; j.Kind == task.KindWorkflow && j.State == job.Waiting {
			at[j.ID], ids = j, append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	asked, err := base.Collect(ctx, tx, func(r base.Rows) (a workflow.Asked, err error) { return a, r.Scan(base.ScanDoc(&a)) }, `
		select asked
		from belfry.workflow_runs
		where asked_at > 0 and `+s.SQL.In("job_id", 1), s.SQL.List(ids))
	for _, a := range asked {
		at[a.RunID].Note = "waits for approval of " + a.Step
	}
	return err
}

// Jobs lists jobs, newest first.
func (s *Store) Jobs(ctx context.Context, f job.Filter) (p core.Page[job.Job], err error) {
	if err := f.Validate(); err != nil {
		return p, err
	}
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		rows, l, err := s.searchJobs(ctx, tx, f, before, limit+1, maxListRows, "desc")
		if err != nil {
			return err
		}
		jobs := make([]job.Job, len(rows))
		for i, r := range rows {
			jobs[i] = r.Job
		}
		p = base.Page(jobs, limit, func(last job.Job) string { return base.EncodeCursor(strconv.FormatInt(last.ID, 10)) })
		if p.Next == "" && l.until > 0 {
			p.Next, p.Looked = base.EncodeCursor(strconv.FormatInt(l.until, 10)), l.rows
		}
		var running []*job.Job
		for i := range p.Items {
			if p.Items[i].State == job.Running {
				running = append(running, &p.Items[i])
			}
		}
		if err := s.addAsked(ctx, tx, p.Items); err != nil {
			return err
		}
		return s.steps.AddProgress(ctx, tx, running)
	})
	return p, err
}
