package monitors

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// spanRow is an entry of the timeline in a batch.
type spanRow struct {
	MonitorID int64  `json:"monitor_id"`
	At        int64  `json:"at"`
	State     string `json:"state"`
	Cause     string `json:"cause"`
}

// writeSpans adds entries to a timeline. Stored entries from the first new one on turned out to be wrong, and are deleted.
func (c *Change) writeSpans(monitor int64, spans []monitor.Span) error {
	if len(spans) == 0 {
		return nil
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.spans where monitor_id = $1 and at >= $2`, monitor, base.Micros(spans[0].From)); err != nil {
		return err
	}
	var rows []spanRow
	for _, s := range spans {
		row := spanRow{monitor, base.Micros(s.From), string(s.State), string(s.Cause)}
		if n := len(rows); n > 0 && rows[n-1].At == row.At {
			rows[n-1] = row
			continue
		}
		rows = append(rows, row)
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.spans (monitor_id, at, state, cause)
		select monitor_id, at, state, cause
		from `+from+`
		where true
		on conflict (monitor_id, at) do update
		set state = excluded.state, cause = excluded.cause`, args...)
	return err
}

// SpansOf reads the timeline from an instant on, including the entry that holds at that instant.
func (s *Store) SpansOf(ctx context.Context, tx base.Tx, m int64, from time.Time) ([]monitor.Span, error) {
	return base.Collect(ctx, tx, func(r base.Rows) (sp monitor.Span, err error) {
		return sp, r.Scan(base.ScanTime(&sp.From), &sp.State, &sp.Cause)
	}, `
		select at, state, cause
		from belfry.spans
		where monitor_id = $1 and at >= coalesce((select max(at) from belfry.spans where monitor_id = $1 and at <= $2), 0)
		order by at`, m, base.Micros(from))
}

// IncidentColumns are the columns that [ScanIncident] reads, in its order.
const IncidentColumns = `id, namespace, monitor, started_at, ended_at, ended_by, doc, acknowledged, assigned`

// ScanIncident reads one row of [IncidentColumns].
func ScanIncident(rows base.Rows) (i monitor.Incident, err error) {
	var r monitor.Incident
	err = rows.Scan(&r.ID, &r.Namespace, &r.Monitor, base.ScanTime(&r.StartedAt), base.ScanTime(&r.EndedAt), &r.EndedBy, base.ScanDoc(&i), base.ScanDoc(&r.Acknowledged), base.ScanDoc(&r.Assignments))
	i.ID, i.Namespace, i.Monitor, i.StartedAt, i.EndedAt, i.EndedBy, i.Acknowledged = r.ID, r.Namespace, r.Monitor, r.StartedAt, r.EndedAt, r.EndedBy, r.Acknowledged
	i.AssignedBy(r.Assignments)
	return i, err
}

func (c *Change) openIncident(row MonitorRow, i monitor.Incident) (int64, error) {
	i.Namespace, i.Monitor = row.Namespace, row.Name
	doc := i
	doc.ID, doc.StartedAt, doc.EndedAt = 0, base.Instant(0), base.Instant(0)
	id, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		insert into belfry.incidents (namespace, monitor_id, monitor, started_at, doc)
		values ($1, $2, $3, $4, $5)
		returning id`, row.Namespace, row.ID, row.Name, base.Micros(i.StartedAt), base.Text(doc))
	return id, err
}

func (c *Change) closeIncident(end monitor.IncidentEnd) error {
	_, err := c.Tx.Exec(c.Ctx, `update belfry.incidents set ended_at = $2, ended_by = $3 where id = $1 and ended_at = 0`, end.ID, base.Micros(end.At), end.By)
	return err
}

// Incidents lists incidents, newest first.
func (s *Store) Incidents(ctx context.Context, f view.IncidentFilter) (p core.Page[monitor.Incident], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &base.Where{}
	w.Namespace("namespace", base.NamespaceOr(f.Namespace))
	if f.Open {
		w.Conds = append(w.Conds, "ended_at = 0") // with a parameter the partial index would not be used
	}
	if f.Over {
		w.Conds = append(w.Conds, "ended_at > 0")
	}
	if f.Assigned != "" {
		w.Conds = append(w.Conds, "assignee <> ''") // without this the partial index would not be used
		w.And("assignee = ?", f.Assigned)
	}
	if before > 0 {
		w.And("id < ?", before)
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		if f.Monitor != "" {
			// The filter is the name, which outlives the monitor: incidents are kept.
			w := *w
			w.And("monitor = ?", f.Monitor)
			return s.IncidentPage(ctx, tx, &w, limit, &p)
		}
		return s.IncidentPage(ctx, tx, w, limit, &p)
	})
	return p, err
}

// IncidentPage adds one page of the incidents that match w, newest first, with the cursor of the next page.
func (s *Store) IncidentPage(ctx context.Context, tx base.Tx, w *base.Where, limit int, p *core.Page[monitor.Incident]) error {
	all, err := base.Collect(ctx, tx, ScanIncident, `
		select `+IncidentColumns+`
		from belfry.incidents
		where `+w.Sql()+`
		order by id desc
		limit `+strconv.Itoa(limit+1), w.Args...)
	for n := range all {
		all[n].Assignments = nil
	}
	*p = base.Page(all, limit, func(i monitor.Incident) string { return base.EncodeCursor(strconv.FormatInt(i.ID, 10)) })
	return err
}
