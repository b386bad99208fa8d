package schedules

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// Occurrences lists the decisions for a schedule, newest nominal time first.
func (s *Store) Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (p core.Page[schedule.Occurrence], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	if f.Namespace == "" {
		f.Namespace = core.DefaultNamespace
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.ReadSchedule(ctx, tx, f.Namespace, f.Schedule, false)
		if err != nil {
			return err
		}
		w := &base.Where{}
		w.And("schedule_id = ?", row.ID)
		if before > 0 {
			w.And("nominal < ?", before)
		}
		if f.Decision != "" {
			w.And("decision = ?", string(f.Decision))
		}
		all, err := base.Collect(ctx, tx, scanOccurrence, `
			select `+occurrenceColumns+`
			from belfry.occurrences
			where `+w.Sql()+`
			order by nominal desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		for i := range all {
			all[i].Schedule = row.Name
		}
		p = base.Page(all, limit, func(o schedule.Occurrence) string {
			return base.EncodeCursor(strconv.FormatInt(base.Micros(o.Nominal), 10))
		})
		return err
	})
	return p, err
}

const occurrenceColumns = `schedule_id, nominal, until, count, decision, reason, note, job_id, due_at, decided_at`

func scanOccurrence(rows base.Rows) (o schedule.Occurrence, err error) {
	return o, rows.Scan(&o.ScheduleID, base.ScanTime(&o.Nominal), base.ScanTime(&o.Until), &o.Count, &o.Decision, &o.Reason, &o.Note, &o.JobID,
		base.ScanTime(&o.DueAt), base.ScanTime(&o.DecidedAt))
}
