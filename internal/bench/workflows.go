//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// workflows is measure 12: steps a second of a workflow that fans out and joins, and the cost of sleeping workflows for others.
func (r *run) workflows(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.whole, func(d *database.Database) error {
		err := r.site(ctx, d, func(s *database.Site, st *store.Store) error {
			w, err := r.Fan.Run(ctx, s, st)
			r.costs(d.Name, fmt.Sprintf("workflow of %s parallel steps and a join", report.Thousands(fmt.Sprint(r.Fan.Steps))), w)
			return err
		})
		if err != nil {
			return err
		}
		return r.site(ctx, d, func(s *database.Site, st *store.Store) error {
			burn := func() (w rates.Work, err error) {
				if _, err = rates.EnqueueBulk(ctx, s, st, r.Jobs); err != nil {
					return w, err
				}
				return rates.Burn(ctx, s, st, r.Jobs, node.Tuning{})
			}
			if _, err := burn(); err != nil { // warms the caches
				return err
			}
			alone, err := burn()
			if err != nil {
				return err
			}
			if err := rates.Sleepers(ctx, st, r.Asleep); err != nil {
				return err
			}
			beside, err := burn()
			if err != nil {
				return err
			}
			r.report.Compare(d.Name, fmt.Sprintf("burn-down beside %s workflows that sleep, to none", report.Thousands(fmt.Sprint(r.Asleep))), report.Rate, beside.Rate(), alone.Rate())
			return nil
		})
	})
}

// callers is measure 13: the rate of callers that enqueue one by one through the API.
func (r *run) callers(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.whole, func(d *database.Database) (err error) {
		const callers = 32
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		var own rates.Work
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			own, err = rates.EnqueueSingly(ctx, s, st, callers, r.Singly)
			return err
		})
		if err != nil {
			return err
		}
		server, err := node.Serve(s, r.Program, "--roles", "api")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		api, err := client.New(server.URL, server.Token, client.Options{})
		if err != nil {
			return err
		}
		defer api.CloseIdleConnections()
		w, err := rates.EnqueueSingly(ctx, s, api, callers, r.Singly)
		r.report.Compare(d.Name, fmt.Sprintf("enqueue one by one over HTTP, callers: %d, to in-process", callers), report.Rate, w.Rate(), own.Rate())
		return err
	})
}

// site runs a function in a fresh database.
func (r *run) site(ctx context.Context, d *database.Database, fn func(s *database.Site, st *store.Store) error) error {
	s, err := d.NewSite(ctx)
	if err != nil {
		return err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error { return fn(s, st) })
	return errors.Join(err, s.Close())
}
