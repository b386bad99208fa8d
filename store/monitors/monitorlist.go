package monitors

import (
	"context"
	"fmt"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/titles"
	"github.com/belfry-run/belfry/view"
)

func monitorWhere(f view.MonitorFilter) (*base.Where, int, error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return nil, 0, err
	}
	if f.Status != "" {
		w.And("status = ?", string(f.Status))
	}
	if f.Kind != "" {
		w.And("kind = ?", string(f.Kind))
	}
	if f.Tag != "" {
		w.And("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if f.Search != "" {
		if len(f.Search) > view.MaxMonitorSearch {
			return nil, 0, core.InvalidField("search", strconv.Itoa(len(f.Search)), fmt.Sprintf("has more than %d bytes", view.MaxMonitorSearch), "")
		}
		w.And(titles.Part(f.Search))
	}
	return w, limit, nil
}

// CountMonitors counts the monitors that a filter selects. It reads no more monitors than it counts, unless the filter excludes
// most of them.
func (s *Store) CountMonitors(ctx context.Context, f view.MonitorFilter) (out view.MonitorCount, err error) {
	f.Paging = core.Paging{}
	w, _, err := monitorWhere(f)
	if err != nil {
		return out, err
	}
	out.Statuses = map[monitor.Status]int{}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		type line struct {
			status monitor.Status
			n      int
		}
		lines, err := base.Collect(ctx, tx, func(r base.Rows) (l line, err error) { return l, r.Scan(&l.status, &l.n) }, `
			select status, count(*)
			from (select status from belfry.monitors where `+w.Sql()+` limit `+strconv.Itoa(core.CountLimit+1)+`) counted
			group by status`, w.Args...)
		for _, l := range lines {
			out.Statuses[l.status] += l.n
			out.Count += l.n
		}
		return err
	})
	if out.More = out.Count > core.CountLimit; out.More {
		out.Count = core.CountLimit
	}
	return out, err
}

// Monitors lists monitors by namespace and name.
func (s *Store) Monitors(ctx context.Context, f view.MonitorFilter) (p core.Page[view.MonitorView], err error) {
	w, limit, err := monitorWhere(f)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, err = base.CollectPage(ctx, tx, limit, func(rows base.Rows) (view.MonitorView, error) {
			r, err := s.ScanMonitor(rows)
			return r.view(), err
		}, func(v view.MonitorView) string { return base.EncodeCursor(v.Namespace, v.Name) }, `
			select `+MonitorColumns+`
			from belfry.monitors m
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		return err
	})
	return p, err
}
