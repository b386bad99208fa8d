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

// latestOf holds the totals of a queue in a minute that is not rolled up.
type latestOf struct {
	minuteOfQueue
	namespace string
}

// Latest holds the totals of minutes without a roll-up.
type Latest struct {
	now   time.Time
	parts []latestOf
}

// LatestIn returns the totals of minutes without a roll-up: the present minute, and the previous one until it is rolled up. It
// counts at most countLatest jobs, the earliest ends first.
func (s *Store) LatestIn(ctx context.Context, tx base.Tx, namespace string, now time.Time) (Latest, error) {
	// A roll-up writes all queues of a minute at once. The newest minute may be in the future if the clock was set back.
	newest, _, err := base.First(ctx, tx, base.ScanInt, `select minute from belfry.job_minutes order by minute desc limit 1`)
	if err != nil {
		return Latest{}, err
	}
	from, to := max(newest+1, MinuteOf(now)-1), MinuteOf(now)+1
	parts, err := base.Collect(ctx, tx, func(r base.Rows) (g latestOf, err error) {
		var minute, n, ran, lag, most int64
		var state string
		err = r.Scan(&minute, &g.namespace, &g.Queue, &state, &n, &ran, &g.Started, &lag, &most)
		var d view.DayTotals
		d.Tally(job.State(state), n, InMicros(ran))
		g.Minute, g.OK, g.Failed, g.Canceled, g.Skipped, g.Ran = time.Unix(minute*60, 0).UTC(), d.OK, d.Failed, d.Canceled, d.Skipped, d.Ran
		g.Lag, g.LagMost = InMicros(lag), InMicros(most)
		return g, err
	}, `
		select finished_at / 60000000, namespace, queue, state, count(*),
			cast(sum(`+ranSQL+`) as bigint),
			sum(case when claimed_at > 0 then 1 else 0 end),
			cast(sum(case when claimed_at > due_at then claimed_at - due_at else 0 end) as bigint),
			max(case when claimed_at > due_at then claimed_at - due_at else 0 end)
		from (select finished_at, namespace, queue, state, claimed_at, due_at from belfry.jobs_done where finished_at >= $1 and finished_at < $2 order by finished_at limit `+strconv.Itoa(countLatest)+`) as latest
		group by 1, namespace, queue, state`, from*60_000_000, to*60_000_000)
	l := Latest{now: now}
	for _, g := range parts {
		if namespace == core.AnyNamespace || namespace == g.namespace {
			l.parts = append(l.parts, g)
		}
	}
	return l, err
}

// Minutes returns the totals of each minute, oldest first, with the present one. "" counts all queues.
func (l Latest) Minutes(queue string) (all []job.MinuteTotals) {
	byMinute := map[time.Time]job.MinuteTotals{}
	for _, g := range l.parts {
		if queue == "" || queue == g.Queue {
			m := byMinute[g.Minute]
			m.Minute = g.Minute
			m.Add(g.MinuteTotals)
			byMinute[g.Minute] = m
		}
	}
	for _, m := range byMinute {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b job.MinuteTotals) int { return cmp.Compare(a.Minute.Unix(), b.Minute.Unix()) })
	return all
}

// Over returns the totals of each minute that is over, oldest first. "" counts all queues.
func (l Latest) Over(queue string) []job.MinuteTotals {
	return slices.DeleteFunc(l.Minutes(queue), func(m job.MinuteTotals) bool { return !m.Minute.Before(l.now.Truncate(time.Minute)) })
}
