package store

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// Occurrences lists what was decided for a schedule, newest nominal time first.
func (s *Store) Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (p core.Page[schedule.Occurrence], err error) {
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	if f.Namespace == "" {
		f.Namespace = core.DefaultNamespace
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.schedule(ctx, tx, f.Namespace, f.Schedule, false)
		if err != nil {
			return err
		}
		w := &where{}
		w.and("schedule_id = ?", row.ID)
		if before > 0 {
			w.and("nominal < ?", before)
		}
		if f.Decision != "" {
			w.and("decision = ?", string(f.Decision))
		}
		all, err := collect(ctx, tx, scanOccurrence, `
			select `+occurrenceColumns+`
			from belfry.occurrences
			where `+w.sql()+`
			order by nominal desc
			limit `+strconv.Itoa(limit+1), w.args...)
		for i := range all {
			all[i].Schedule = row.Name
		}
		p = page(all, limit, func(o schedule.Occurrence) string { return encodeCursor(strconv.FormatInt(micros(o.Nominal), 10)) })
		return err
	})
	return p, err
}

const occurrenceColumns = `schedule_id, nominal, until, count, decision, reason, note, job_id, due_at, decided_at`

func scanOccurrence(rows Rows) (o schedule.Occurrence, err error) {
	return o, rows.Scan(&o.ScheduleID, scanTime(&o.Nominal), scanTime(&o.Until), &o.Count, &o.Decision, &o.Reason, &o.Note, &o.JobID,
		scanTime(&o.DueAt), scanTime(&o.DecidedAt))
}
