package views

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
)

// Gauges holds the metrics of monitors and pending alerts.
type Gauges struct {
	Now      time.Time
	Monitors map[monitor.Status]int64
	States   []MonitorGauge // the oldest monitors that are up or down
	Channels []ChannelGauge // channels with pending alerts
}

// MonitorGauge is a monitor that is up or down.
type MonitorGauge struct {
	Namespace, Name string
	Up              bool
}

// ChannelGauge holds the pending alerts of a channel.
type ChannelGauge struct {
	Namespace, Channel string
	Pending            int64
	OldestAt           time.Time // creation of the oldest alert that is due or was tried; zero: none
}

// Gauges reads at most so many single monitors and channels. The numbers of monitors by status cover all monitors.
func (s *Store) Gauges(ctx context.Context, monitors, channels int) (g Gauges, err error) {
	if g.Now, err = s.Now(ctx); err != nil {
		return g, err
	}
	g.Monitors = map[monitor.Status]int64{}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		type count struct {
			status monitor.Status
			n      int64
		}
		counts, err := base.Collect(ctx, tx, func(r base.Rows) (c count, err error) { return c, r.Scan(&c.status, &c.n) },
			`select status, count(*) from belfry.monitors group by status`)
		if err != nil {
			return err
		}
		for _, c := range counts {
			g.Monitors[c.status] = c.n
		}
		g.States, err = base.Collect(ctx, tx, func(r base.Rows) (m MonitorGauge, err error) {
			var status monitor.Status
			err = r.Scan(&m.Namespace, &m.Name, &status)
			m.Up = status == monitor.StatusUp
			return m, err
		}, `
			select namespace, name, status
			from belfry.monitors
			where status in ('up', 'down')
			order by id
			limit $1 + 0`, monitors)
		if err != nil {
			return err
		}
		g.Channels, err = base.Collect(ctx, tx, func(r base.Rows) (c ChannelGauge, err error) {
			return c, r.Scan(&c.Namespace, &c.Channel, &c.Pending, base.ScanTime(&c.OldestAt))
		}, `
			select namespace, channel, count(*), coalesce(min(case when tries > 0 or due_at <= $1 then created_at end), 0)
			from belfry.alerts
			where state = 'pending'
			group by namespace, channel
			order by namespace, channel
			limit $2 + 0`, base.Micros(g.Now), channels)
		return err
	})
	return g, err
}
