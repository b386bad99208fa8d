package history

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// minuteRow holds the totals of a queue in a minute.
type minuteRow struct {
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	OK        int64  `json:"ok"`
	Failed    int64  `json:"failed"`
	Canceled  int64  `json:"canceled"`
	Skipped   int64  `json:"skipped"`
	Ran       int64  `json:"ran"`
	Started   int64  `json:"started"`
	Lag       int64  `json:"lag"`
	LagMost   int64  `json:"lag_most"`
}

// MinuteColumns are the columns that [ScanMinute] reads, in its order.
const MinuteColumns = `minute, namespace, queue, ok, failed, canceled, skipped, ran, started, lag, lag_most`

func (c *Change) writeMinute(minute int64, rows []minuteRow) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.job_minutes where minute = $1`, minute); err != nil || len(rows) == 0 {
		return err
	}
	from, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.job_minutes (`+MinuteColumns+`)
		select $1, namespace, queue, ok, failed, canceled, skipped, ran, started, lag, lag_most
		from `+from+`
		where true
		on conflict (minute, namespace, queue) do nothing`, append([]any{minute}, args...)...)
	return err
}

// JobMinutes returns the totals of each of the last minutes that are over, oldest first.
func (s *Store) JobMinutes(ctx context.Context, q job.MinuteQuery) (all []job.MinuteTotals, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	if q.Within < 0 || q.Within > KeepMinutes {
		return nil, core.InvalidField("within", q.Within.String(), "is outside 1m to 48h", "such as 1h")
	}
	if q.Within == 0 {
		q.Within = time.Hour
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		namespace := base.NamespaceOr(q.Namespace)
		if all, err = s.MinutesIn(ctx, tx, namespace, q.Queue, now.Add(-q.Within)); err != nil {
			return err
		}
		latest, err := s.LatestIn(ctx, tx, namespace, now)
		all = append(all, latest.Over(q.Queue)...)
		return err
	})
	return all, err
}

// MinutesIn returns the totals of each minute from an instant on, oldest first. "" counts all namespaces or queues.
func (s *Store) MinutesIn(ctx context.Context, tx base.Tx, namespace, queue string, from time.Time) ([]job.MinuteTotals, error) {
	w := &base.Where{}
	w.And("minute >= ?", MinuteOf(from))
	w.Namespace("namespace", namespace)
	w.Equals("queue", queue)
	rows, err := base.Collect(ctx, tx, ScanMinute, `select `+MinuteColumns+` from belfry.job_minutes where `+w.Sql()+` order by minute`, w.Args...)
	all := []job.MinuteTotals{}
	for _, r := range rows {
		if n := len(all); n == 0 || !all[n-1].Minute.Equal(r.Minute) {
			all = append(all, job.MinuteTotals{Minute: r.Minute})
		}
		all[len(all)-1].Add(r.MinuteTotals)
	}
	return all, err
}

type minuteOfQueue struct {
	job.MinuteTotals
	Queue string
}

// ScanMinute reads one row of [MinuteColumns].
func ScanMinute(r base.Rows) (m minuteOfQueue, err error) {
	var minute, ran, lag, most int64
	var namespace string
	err = r.Scan(&minute, &namespace, &m.Queue, &m.OK, &m.Failed, &m.Canceled, &m.Skipped, &ran, &m.Started, &lag, &most)
	m.Minute, m.Ran, m.Lag, m.LagMost = time.Unix(minute*60, 0).UTC(), InMicros(ran), InMicros(lag), InMicros(most)
	return m, err
}

// InMicros converts a stored number of microseconds.
func InMicros(us int64) core.Duration {
	return core.Duration(time.Duration(us) * time.Microsecond)
}
