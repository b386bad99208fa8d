package search

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/view"
)

// CancelJobs ends waiting jobs and asks running jobs to end. Ended jobs are left alone, with the reason.
func (s *Store) CancelJobs(ctx context.Context, namespace string, sel view.Selection) (out view.Selected, err error) {
	if sel, err = s.readSelection(ctx, sel); err != nil {
		return out, err
	}
	if sel.Key != "" {
		return out, core.InvalidField("key", sel.Key, "is for retries", "leave it out: canceling a job twice does no harm")
	}
	note := "canceled by " + access.ActorOf(ctx)
	if sel.Note != "" {
		note += ": " + sel.Note
	}
	return s.bulk(ctx, bulk{name: "cancel", namespace: namespace, sel: sel, unfit: job.State.Final, why: "has ended already",
		do: func(c *Change, rows []jobs.JobRow, _ *view.Selected) error {
			if err := c.jobs().CancelRows(rows, schedule.ReasonCanceled, note); err != nil {
				return err
			}
			return c.auditJobs("cancel", rows, sel.Note)
		}})
}
