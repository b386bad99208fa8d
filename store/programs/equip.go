package programs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
)

// secretsDelay is the delay of a job whose secrets cannot be opened, until an operator fixes that.
const secretsDelay = time.Minute

// Equip returns the secrets for leased jobs of programs, by job. A job that cannot start loses its lease again: its artifact is
// missing since an edit of the task, or a secret is missing.
func (c *Change) Equip(rows []jobs.JobRow, tasks map[int64]task.Task) ([]jobs.JobRow, map[int64]map[string]string, error) {
	var programs []int64
	for i := range rows {
		if rows[i].Kind == task.KindProgram {
			programs = append(programs, rows[i].TaskID)
		}
	}
	if len(programs) == 0 {
		return rows, nil, nil
	}
	missing, err := c.pendingUploads(base.Unique(programs))
	if err != nil {
		return nil, nil, err
	}
	given := map[int64]map[string]string{}
	var held, left []int64
	var ends []jobs.Ending
	kept := rows[:0:len(rows)]
	for _, j := range rows {
		g := tasks[j.TaskID].Program
		switch {
		case j.Kind != task.KindProgram || g == nil:
			kept = append(kept, j)
			continue
		case missing[j.TaskID]:
			held = append(held, j.ID)
			left = append(left, j.ID)
			continue
		}
		values, lacks, err := c.secretsOf(j.Namespace, *g)
		switch {
		case err != nil:
			c.s.Opt.Logger.Warn("secrets of a program cannot be opened, delaying its job", "job", j.ID, "error", err)
			if err := c.postpone(j.ID, err); err != nil {
				return nil, nil, err
			}
			left = append(left, j.ID)
		case len(lacks) > 0:
			ends = append(ends, jobs.Ending{Row: j, Settled: job.Settlement{
				State: job.Failed, Reason: schedule.ReasonNoRetry, Failures: j.Failures, Infra: j.Infra, Snoozes: j.Snoozes,
				Error: fmt.Sprintf("its program wants secret %q, which is not there: belfry secret set %s", lacks[0], lacks[0]),
			}})
			left = append(left, j.ID)
		default:
			given[j.ID] = values
			kept = append(kept, j)
		}
	}
	if len(left) == 0 {
		return kept, given, nil
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1), c.SQL.List(left)); err != nil {
		return nil, nil, err
	}
	if err := c.hold(held); err != nil {
		return nil, nil, err
	}
	if len(ends) == 0 {
		return kept, given, nil
	}
	return kept, given, c.jobs().End(ends, true)
}

// secretsOf returns the variables of a program with their values, and the names of missing secrets.
func (c *Change) secretsOf(namespace string, g task.Program) (values map[string]string, missing []string, err error) {
	if len(g.Secrets) == 0 {
		return nil, nil, nil
	}
	byName, missing, err := c.openSecrets(namespace, slices.Compact(slices.Sorted(maps.Values(g.Secrets))))
	if err != nil || len(missing) > 0 {
		return nil, missing, err
	}
	values = make(map[string]string, len(g.Secrets))
	for variable, name := range g.Secrets {
		values[variable] = byName[name]
	}
	return values, nil, nil
}

// postpone schedules another try of a job. No attempt was made, and none is counted.
func (c *Change) postpone(id int64, why error) error {
	text, _ := core.CleanText("its secrets cannot be opened: "+why.Error(), core.MaxError)
	if err := c.s.jobs.Limits().In(c.Change).ReleaseLimited([]int64{id}); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.jobs set state = 'scheduled', ready_at = 0, limited = 0, due_at = $2, error = $3 where id = $1`, id, base.Micros(c.Now.Add(secretsDelay)), text)
	c.Wake(base.TopicEngine)
	return err
}

// Link adds download links to jobs of programs. Without a reachable byte store a job gets no link: its worker then reports an
// infrastructure failure, not a failure of the task.
func (s *Store) Link(ctx context.Context, jobs []job.LeasedJob) {
	for i := range jobs {
		g := jobs[i].Task.Program
		if g == nil || jobs[i].Job.Kind != task.KindProgram {
			continue
		}
		bytes, err := s.Bytes()
		if err == nil {
			var link task.SignedRequest
			if link, err = bytes.SignGet(ctx, BytesName(jobs[i].Job.Namespace, g.SHA256), task.DownloadLink); err == nil {
				jobs[i].Artifact = &link
			}
		}
		if err != nil {
			s.Opt.Logger.Warn("cannot create a link to a program", "job", jobs[i].Job.ID, "sha256", g.SHA256, "error", err)
		}
	}
}
