package search

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/windows"
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
		return addRunAgain(ctx, tx, &j)
	})
	return j, err
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
		return s.steps.AddProgress(ctx, tx, running)
	})
	return p, err
}
