package steps

import (
	"context"
	"encoding/json"
	"math"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// progressRow is a progress report in a batch.
type progressRow struct {
	JobID    int64  `json:"job_id"`
	Lease    int64  `json:"lease"`
	Percent  int64  `json:"percent"`
	Message  string `json:"message"`
	Counters string `json:"counters"`
}

// SaveProgress stores the progress of attempts of a session. Of two reports for one job, the later one counts.
func (s *Store) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	if len(ps) > core.MaxBatch {
		return job.TooMany("attempts", len(ps))
	}
	place := map[int64]int{}
	var rows []progressRow
	for _, p := range ps {
		if err := p.Validate(); err != nil {
			return err
		}
		row := progressRow{p.JobID, p.Lease, int64(math.Round(p.Percent * 100)), p.Message, ""}
		if len(p.Counters) > 0 {
			row.Counters = base.Text(p.Counters)
		}
		if i, twice := place[p.JobID]; twice {
			rows[i] = row
			continue
		}
		place[p.JobID] = len(rows)
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.JobID
	}
	return s.write(ctx, "save progress", func(c *Change) error {
		if lock := c.SQL.ForUpdate("jobs"); lock != "" {
			if _, err := c.Tx.Exec(ctx, `select id from belfry.jobs where `+c.SQL.In("id", 1)+` order by id`+lock, c.SQL.List(ids)); err != nil {
				return err
			}
		}
		from, args := c.SQL.Table(3, "t", base.BatchOf(rows))
		_, err := c.Tx.Exec(ctx, `
			insert into belfry.progress (job_id, lease, percent, message, counters, at, since, begun)
			select t.job_id, t.lease, t.percent, t.message, t.counters, $2, $2, t.percent
			from `+from+`
			where (select session from belfry.live where id = t.job_id and number = t.lease) = $1
			on conflict (job_id) do update
			set lease = excluded.lease, percent = excluded.percent, message = excluded.message, counters = excluded.counters, at = excluded.at,
				since = case when belfry.progress.lease = excluded.lease then belfry.progress.since else excluded.since end,
				begun = case when belfry.progress.lease = excluded.lease then belfry.progress.begun else excluded.begun end`,
			append([]any{session, base.Micros(c.Now)}, args...)...)
		c.Wake(base.TopicJobs)
		return err
	})
}

// AddProgress sets the progress of jobs: what the last attempt of each has said last.
func (s *Store) AddProgress(ctx context.Context, tx base.Tx, jobs []*job.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	byID, ids := map[int64]*job.Job{}, make([]int64, len(jobs))
	for i, j := range jobs {
		byID[j.ID], ids[i] = j, j.ID
	}
	_, err := base.Collect(ctx, tx, func(r base.Rows) (id int64, err error) {
		var g job.JobProgress
		var percent, since, begun int64
		var counters string
		if err := r.Scan(&id, &g.Lease, &percent, &g.Message, &counters, base.ScanTime(&g.At), &since, &begun); err != nil {
			return id, err
		}
		g.Percent = float64(percent) / 100
		if counters != "" {
			if err := json.Unmarshal([]byte(counters), &g.Counters); err != nil {
				return id, err
			}
		}
		j := byID[id]
		if j.State == job.Running && j.Lease != g.Lease { // the attempt that runs has not said anything yet
			return id, nil
		}
		if j.State == job.Running {
			g.EndAt = job.EstimateEnd(float64(begun)/100, base.Instant(since), g.Percent, g.At)
		}
		j.Progress = &g
		return id, nil
	}, `
		select job_id, lease, percent, message, counters, at, since, begun
		from belfry.progress
		where `+s.SQL.In("job_id", 1), s.SQL.List(ids))
	return err
}
