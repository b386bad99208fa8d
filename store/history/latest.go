package history

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// countLatest bounds the jobs since the last roll-up that are counted one by one.
const countLatest = 10 * base.LookFirst

// LatestIn returns the totals of minutes without a roll-up: the present minute, and the previous one until it is rolled up. It
// counts at most countLatest jobs, the earliest ends first.
func (s *Store) LatestIn(ctx context.Context, tx base.Tx, namespace string, now time.Time) ([]job.MinuteTotals, error) {
	// A roll-up writes all queues of a minute at once. The newest minute may be in the future if the clock was set back.
	newest, _, err := base.First(ctx, tx, base.ScanInt, `select minute from belfry.job_minutes order by minute desc limit 1`)
	if err != nil {
		return nil, err
	}
	from, to := max(newest+1, MinuteOf(now)-1), MinuteOf(now)+1
	type group struct {
		job.MinuteTotals
		namespace string
		n         int64
	}
	groups, err := base.Collect(ctx, tx, func(r base.Rows) (g group, err error) {
		var minute, ran, lag, most int64
		var state string
		err = r.Scan(&minute, &g.namespace, &state, &g.n, &ran, &g.Started, &lag, &most)
		var d view.DayTotals
		d.Tally(job.State(state), g.n, InMicros(ran))
		g.Minute, g.OK, g.Failed, g.Canceled, g.Skipped, g.Ran = time.Unix(minute*60, 0).UTC(), d.OK, d.Failed, d.Canceled, d.Skipped, d.Ran
		g.Lag, g.LagMost = InMicros(lag), InMicros(most)
		return g, err
	}, `
		select finished_at / 60000000, namespace, state, count(*),
			cast(sum(`+ranSQL+`) as bigint),
			sum(case when claimed_at > 0 then 1 else 0 end),
			cast(sum(case when claimed_at > due_at then claimed_at - due_at else 0 end) as bigint),
			max(case when claimed_at > due_at then claimed_at - due_at else 0 end)
		from (select finished_at, namespace, state, claimed_at, due_at from belfry.jobs_done where finished_at >= $1 and finished_at < $2 order by finished_at limit `+strconv.Itoa(countLatest)+`) as latest
		group by 1, namespace, state`, from*60_000_000, to*60_000_000)
	byMinute := map[time.Time]job.MinuteTotals{}
	for _, g := range groups {
		if namespace == core.AnyNamespace || namespace == g.namespace {
			m := byMinute[g.Minute]
			m.Minute = g.Minute
			m.Add(g.MinuteTotals)
			byMinute[g.Minute] = m
		}
	}
	if err != nil {
		return nil, err
	}
	var all []job.MinuteTotals
	for _, m := range byMinute {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b job.MinuteTotals) int { return cmp.Compare(a.Minute.Unix(), b.Minute.Unix()) })
	return all, nil
}
