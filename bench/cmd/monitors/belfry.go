//go:build linux

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/monitors"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// contenders has the lines of the table, in their order.
func (f *field) contenders() []*contender {
	few := func(name, needs string, start func(context.Context, *contender) (*running, error)) *contender {
		c := &contender{name: name, needs: needs, monitors: f.monitors, every: f.every}
		c.start = func(ctx context.Context) (*running, error) { return start(ctx, c) }
		return c
	}
	list := []*contender{
		few("**Belfry**, SQLite FULL", "belfry", f.belfry(false)),
		few("**Belfry**, SQLite FULL, `keep_alive`", "belfry", f.belfry(true)),
		few("blackbox_exporter, asked evenly", "blackbox", f.blackbox(0)),
		few("blackbox_exporter, asked every 50 ms", "blackbox", f.blackbox(50*time.Millisecond)),
		few("Gatus, in memory", "gatus", f.gatus("memory")),
		few("Gatus, SQLite NORMAL", "gatus", f.gatus("sqlite")),
	}
	if f.many > 0 {
		many := few("**Belfry**, SQLite FULL, many monitors", "belfry", f.belfry(false))
		many.monitors = f.many
		many.every = time.Duration(float64(f.every) * float64(f.many) / float64(f.monitors)).Round(time.Second)
		list = slices.Insert(list, 2, many)
	}
	return slices.DeleteFunc(list, func(c *contender) bool { return !f.wanted(c) })
}

// belfry starts a node on an empty database and creates its monitors over the API.
func (f *field) belfry(keepAlive bool) func(context.Context, *contender) (*running, error) {
	return func(ctx context.Context, c *contender) (_ *running, err error) {
		site, err := database.SQLite("SQLite", f.dir, "FULL").NewSite(ctx)
		if err != nil {
			return nil, err
		}
		node, err := node.Serve(site, f.programs["belfry"], "--allow-addresses", "loopback")
		if err != nil {
			return nil, errors.Join(err, site.Close())
		}
		r := &running{Process: node.Process, stop: func() error { return errors.Join(node.Stop(), site.Close()) }}
		defer func() {
			if err != nil {
				err = errors.Join(err, r.stop())
			}
		}()
		client, err := client.New(node.URL, node.Token, client.Options{})
		if err != nil {
			return nil, err
		}
		var all []monitor.Monitor
		for i := range c.monitors {
			m := monitors.Check(f.target, i, c.every)
			m.Check.HTTP.KeepAlive = keepAlive
			all = append(all, m)
		}
		for some := range slices.Chunk(all, 1000) {
			if _, err := client.Apply(ctx, view.Manifest{Monitors: some}, wire.ApplyOptions{}); err != nil {
				return nil, err
			}
		}
		r.lags = func(ctx context.Context, from time.Time) (list []time.Duration, err error) {
			to := time.Now().Add(-time.Second) // checks that are due now may not have begun
			for _, m := range all {
				page, err := client.Results(ctx, view.ResultFilter{Monitor: m.Name, Since: from, Until: to, Paging: core.Paging{Limit: 1000}})
				if err != nil {
					return nil, err
				}
				for _, one := range page.Items {
					list = append(list, one.QueueDelay.D())
				}
			}
			return list, nil
		}
		return r, nil
	}
}
