package history

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/view"
)

// Strips returns the recent history of schedules: their last jobs, running and waiting jobs, and skipped nominal times. Unknown
// names are left out. It takes three statements for all schedules, and reads as many rows of each as it returns.
func (s *Store) Strips(ctx context.Context, q view.StripQuery) (all []view.Strip, err error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		all, err = base.Collect(ctx, tx, func(r base.Rows) (st view.Strip, err error) {
			return st, r.Scan(&st.ScheduleID, &st.Schedule, (*string)(&st.State), base.ScanTime(&st.NextAt))
		}, `select id, name, state, next_at from belfry.schedules where namespace = $1 and `+s.SQL.In("name", 2)+` order by name`, base.NamespaceOr(q.Namespace), s.SQL.List(q.Schedules))
		if err != nil || len(all) == 0 {
			return err
		}
		return s.fillStrips(ctx, tx, all, q.Bound())
	})
	if all == nil {
		all = []view.Strip{}
	}
	return all, err
}

// maxLiveOfStrips bounds the live jobs of all strips: a schedule that buffers has many.
const maxLiveOfStrips = 1000

func (s *Store) fillStrips(ctx context.Context, tx base.Tx, all []view.Strip, n int) error {
	ids, at := make([]int64, len(all)), make(map[int64]*view.Strip, len(all))
	for i := range all {
		ids[i], at[all[i].ScheduleID] = all[i].ScheduleID, &all[i]
		all[i].Results = []view.StripResult{}
	}
	live, err := base.Collect(ctx, tx, jobs.ScanJob, jobs.SelectLive+` where `+s.SQL.In("schedule_id", 1)+` and schedule_id > 0 limit `+strconv.Itoa(maxLiveOfStrips), s.SQL.List(ids))
	if err != nil {
		return err
	}
	for _, j := range live {
		st := at[j.ScheduleID]
		st.Results = append(st.Results, view.StripResult{JobID: j.ID, State: j.State, Reason: j.Reason, Nominal: j.Nominal, At: j.DueAt})
	}
	for _, lines := range []string{`
		select cast(d.id as text) || ',' || d.state || ',' || d.reason || ',' || cast(d.nominal as text) || ',' || cast(d.finished_at as text) || ','
			|| cast(case when d.claimed_at > 0 then d.finished_at - d.claimed_at else 0 end as text) || ',1' as line
		from belfry.jobs_done d
		where d.schedule_id = s.id and d.schedule_id > 0
		order by d.id desc`, `
		select '0,' || o.decision || ',' || o.reason || ',' || cast(o.nominal as text) || ',' || cast(o.decided_at as text) || ',0,' || cast(o.count as text) as line
		from belfry.occurrences o
		where o.schedule_id = s.id
		order by o.nominal desc`} {
		// One text for each schedule: only in this form do both databases walk an index within the limit of each schedule, in
		// one statement.
		texts, err := base.Collect(ctx, tx, func(r base.Rows) (t stripText, err error) { return t, r.Scan(&t.schedule, &t.lines) }, `
			select s.id, coalesce((select string_agg(line, ';') from (`+lines+` limit `+strconv.Itoa(n)+`) as latest), '')
			from belfry.schedules s
			where `+s.SQL.In("s.id", 1), s.SQL.List(ids))
		if err != nil {
			return err
		}
		for _, t := range texts {
			if err := t.add(at[t.schedule]); err != nil {
				return err
			}
		}
	}
	for i := range all {
		st := &all[i]
		slices.SortStableFunc(st.Results, func(a, b view.StripResult) int {
			return cmp.Or(cmp.Compare(base.Bit(b.LiveResult()), base.Bit(a.LiveResult())), b.At.Compare(a.At), cmp.Compare(b.JobID, a.JobID))
		})
		st.Results = st.Results[:min(len(st.Results), n)]
	}
	return nil
}

// stripText holds the last rows of a schedule, one line each.
type stripText struct {
	schedule int64
	lines    string
}

func (t stripText) add(st *view.Strip) error {
	for line := range strings.SplitSeq(t.lines, ";") {
		f := strings.Split(line, ",")
		if len(f) != 7 {
			continue
		}
		var n [7]int64
		for _, i := range []int{0, 3, 4, 5, 6} {
			var err error
			if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
				return err
			}
		}
		r := view.StripResult{JobID: n[0], State: job.State(f[1]), Reason: core.Reason(f[2]), Nominal: base.Instant(n[3]), At: base.Instant(n[4]), Took: InMicros(n[5])}
		if r.JobID == 0 {
			if f[1] != string(schedule.DecidedSkipped) {
				continue
			}
			r.State, r.Missed = job.Skipped, int(n[6])
			if r.Missed == 1 {
				r.Missed = 0
			}
		} else if st.LastAt.Before(r.At) {
			st.LastAt = r.At
		}
		st.Results = append(st.Results, r)
	}
	return nil
}
