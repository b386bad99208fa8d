package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// watchJobs shows the list and then a line for every change, which works in a
// pipe as well as on a terminal.
func (c *cli) watchJobs(ctx context.Context, s *conn, list func() (core.Page[job.Job], error), f job.Filter) error {
	_, cursor, err := s.Events(ctx, s.namespace, "", 0)
	if err != nil {
		return err
	}
	p, err := list()
	if err != nil {
		return err
	}
	g := c.jobGrid()
	g.least = []int{6, 16, 9, 4, 9, 6, 16, 0} // what comes later should stand in the same columns
	slices.Reverse(p.Items)
	if c.output == "table" {
		drawJobs(c.stdout, g, s, p.Items)
	}
	for ctx.Err() == nil {
		events, next, err := s.Events(ctx, s.namespace, cursor, 20*time.Second)
		if ctx.Err() != nil {
			return nil // whoever watches ends it, and that is no error
		}
		if core.CodeOf(err) == core.Unavailable {
			// A node that is restarted is back soon, and whoever watches can
			// end it at any time.
			fmt.Fprintf(c.stderr, "note: %s; trying again\n", err)
			_ = sleep(ctx, time.Second) // the loop looks
			continue
		}
		if err != nil {
			return err
		}
		cursor = next
		for _, e := range events {
			if e.Job == nil || !f.Matches(*e.Job) {
				continue
			}
			if c.output != "table" {
				if err := json.NewEncoder(c.stdout).Encode(e.Job); err != nil {
					return err
				}
				continue
			}
			writeRow(c.stdout, jobRow(g, s, *e.Job, time.Now()), g.least)
		}
	}
	return nil
}
