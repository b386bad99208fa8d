package history

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// whyStopped explains which job stopped a sequence, and what to do about it, to be followed by the way to go on without it. A retry
// of a workflow makes its run the job that stops the sequence, until a job of the run takes the place of the one that failed.
func whyStopped(ctx context.Context, tx base.Tx, id int64) (detail, fix string, err error) {
	type stopping struct {
		kind    task.Kind
		trigger schedule.Trigger
		state   job.State
	}
	s, kept, err := base.First(ctx, tx, func(r base.Rows) (s stopping, err error) { return s, r.Scan(&s.kind, &s.trigger, &s.state) }, `
		select kind, trigger, state from belfry.jobs where id = $1
		union all
		select kind, trigger, state from belfry.jobs_done where id = $1`, id)
	detail = fmt.Sprintf("job %d failed, and the sequence is stopped", id)
	switch {
	case err != nil:
		return "", "", err
	case !kept:
		return detail, fmt.Sprintf("job %d is no longer kept; ", id), nil
	case s.kind == task.KindWorkflow && !s.state.Final():
		return fmt.Sprintf("a step of run %d failed, and the sequence waits for its retry, which is under way", id), fmt.Sprintf("see it: belfry workflow show %d; or ", id), nil
	case s.kind == task.KindWorkflow:
		return fmt.Sprintf("a step of run %d failed, and the sequence is stopped", id), fmt.Sprintf("retry it: belfry workflow retry %d; or ", id), nil
	case s.trigger != job.TriggerStep:
		return detail, fmt.Sprintf("retry it: belfry job retry %d; or ", id), nil
	}
	fix, err = nextOfStep(ctx, tx, id)
	if fix == "" {
		return detail, "it is a step that has another job since; ", err
	}
	return detail, "it is a step, and is retried with its workflow: " + fix + "; or ", err
}
