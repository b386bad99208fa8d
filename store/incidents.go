package store

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// spanRow is an entry of the timeline as a batch carries it.
type spanRow struct {
	MonitorID int64  `json:"monitor_id"`
	At        int64  `json:"at"`
	State     string `json:"state"`
	Cause     string `json:"cause"`
}

// writeSpans adds entries to a timeline. What was held from the first of them
// on turned out to be otherwise, and goes.
func (c *change) writeSpans(monitor int64, spans []monitor.Span) error {
	if len(spans) == 0 {
		return nil
	}
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.spans where monitor_id = $1 and at >= $2`, monitor, micros(spans[0].From)); err != nil {
		return err
	}
	var rows []spanRow
	for _, s := range spans {
		row := spanRow{monitor, micros(s.From), string(s.State), string(s.Cause)}
		if n := len(rows); n > 0 && rows[n-1].At == row.At {
			rows[n-1] = row
			continue
		}
		rows = append(rows, row)
	}
	from, args := c.sql.Table(1, "t", BatchOf(rows))
	_, err := c.tx.Exec(c.ctx, `
		insert into belfry.spans (monitor_id, at, state, cause)
		select monitor_id, at, state, cause
		from `+from+`
		where true
		on conflict (monitor_id, at) do update
		set state = excluded.state, cause = excluded.cause`, args...)
	return err
}

// spansOf reads the timeline from an instant on, with the entry that holds then.
func (s *Store) spansOf(ctx context.Context, tx Tx, m int64, from time.Time) ([]monitor.Span, error) {
	return collect(ctx, tx, func(r Rows) (sp monitor.Span, err error) {
		return sp, r.Scan(scanTime(&sp.From), &sp.State, &sp.Cause)
	}, `
		select at, state, cause
		from belfry.spans
		where monitor_id = $1 and at >= coalesce((select max(at) from belfry.spans where monitor_id = $1 and at <= $2), 0)
		order by at`, m, micros(from))
}

const incidentColumns = `id, namespace, monitor, started_at, ended_at, ended_by, doc`

func scanIncident(rows Rows) (i monitor.Incident, err error) {
	var r monitor.Incident
	err = rows.Scan(&r.ID, &r.Namespace, &r.Monitor, scanTime(&r.StartedAt), scanTime(&r.EndedAt), &r.EndedBy, scanDoc(&i))
	i.ID, i.Namespace, i.Monitor, i.StartedAt, i.EndedAt, i.EndedBy = r.ID, r.Namespace, r.Monitor, r.StartedAt, r.EndedAt, r.EndedBy
	return i, err
}

func (c *change) openIncident(row monitorRow, i monitor.Incident) (int64, error) {
	i.Namespace, i.Monitor = row.Namespace, row.Name
	doc := i
	doc.ID, doc.StartedAt, doc.EndedAt = 0, instant(0), instant(0)
	id, _, err := first(c.ctx, c.tx, scanInt, `
		insert into belfry.incidents (namespace, monitor_id, monitor, started_at, doc)
		values ($1, $2, $3, $4, $5)
		returning id`, row.Namespace, row.ID, row.Name, micros(i.StartedAt), text(doc))
	return id, err
}

func (c *change) closeIncident(end monitor.IncidentEnd) error {
	_, err := c.tx.Exec(c.ctx, `update belfry.incidents set ended_at = $2, ended_by = $3 where id = $1 and ended_at = 0`, end.ID, micros(end.At), end.By)
	return err
}

// Incidents lists outages, newest first.
func (s *Store) Incidents(ctx context.Context, f view.IncidentFilter) (p core.Page[monitor.Incident], err error) {
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &where{}
	w.namespace("namespace", namespaceOr(f.Namespace))
	if f.Open {
		w.conds = append(w.conds, "ended_at = 0") // a parameter would not take the partial index
	}
	if f.Over {
		w.conds = append(w.conds, "ended_at > 0")
	}
	if before > 0 {
		w.and("id < ?", before)
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		if f.Monitor != "" {
			// By name, which outlives the monitor: incidents are kept.
			w := *w
			w.and("monitor = ?", f.Monitor)
			return s.incidentPage(ctx, tx, &w, limit, &p)
		}
		return s.incidentPage(ctx, tx, w, limit, &p)
	})
	return p, err
}

func (s *Store) incidentPage(ctx context.Context, tx Tx, w *where, limit int, p *core.Page[monitor.Incident]) error {
	all, err := collect(ctx, tx, scanIncident, `
		select `+incidentColumns+`
		from belfry.incidents
		where `+w.sql()+`
		order by id desc
		limit `+strconv.Itoa(limit+1), w.args...)
	*p = page(all, limit, func(i monitor.Incident) string { return encodeCursor(strconv.FormatInt(i.ID, 10)) })
	return err
}

// Incident is one outage.
func (s *Store) Incident(ctx context.Context, namespace string, id int64) (i monitor.Incident, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		var found bool
		i, found, err = first(ctx, tx, scanIncident, `select `+incidentColumns+` from belfry.incidents where id = $1`, id)
		if err == nil && (!found || namespace != core.AnyNamespace && i.Namespace != namespaceOr(namespace)) {
			err = core.Errorf(core.NotFound, "no incident %d", id).WithHint("see: belfry incident list")
		}
		return err
	})
	return i, err
}
