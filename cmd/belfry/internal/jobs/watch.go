package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// watchJobs shows the list and then a line for every change, which works in a
// pipe as well as on a terminal.
func watchJobs(ctx context.Context, c *cli.CLI, s *cli.Conn, list func() (core.Page[job.Job], error), f job.Filter) error {
	_, cursor, err := s.Events(ctx, s.NS, "", 0)
	if err != nil {
		return err
	}
	p, err := list()
	if err != nil {
		return err
	}
	g := jobGrid(c)
	g.Least = []int{6, 16, 9, 4, 14, 11, 16, 0} // most rows to come fit: in 23 h 59 min
	slices.Reverse(p.Items)
	if c.Output == "table" {
		drawJobs(c.Stdout, g, s, p.Items)
	}
	shown := map[int64]string{} // last row of each job: an event may repeat the list
	for _, j := range p.Items {
		shown[j.ID] = told(j)
	}
	for ctx.Err() == nil {
		events, next, err := s.Events(ctx, s.NS, cursor, 20*time.Second)
		if ctx.Err() != nil {
			return nil // the user ended it, which is not an error
		}
		if core.CodeOf(err) == core.Unavailable {
			// A node that is restarted is back soon, and the user can
			// end it at any time.
			fmt.Fprintf(c.Stderr, "note: %s; trying again\n", err)
			_ = wait.Sleep(ctx, time.Second) // the loop checks ctx
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
			if shown[e.Job.ID] == told(*e.Job) {
				continue
			}
			shown[e.Job.ID] = told(*e.Job)
			if e.Job.State.Final() {
				delete(shown, e.Job.ID)
			}
			if c.Output != "table" {
				if err := json.NewEncoder(c.Stdout).Encode(e.Job); err != nil {
					return err
				}
				continue
			}
			g.WriteNext(c.Stdout, jobRow(g, s, *e.Job, time.Now()))
		}
	}
	return nil
}

// told identifies the state of a job; a change prints a new line.
func told(j job.Job) string { return fmt.Sprint(j.State, j.Attempt, j.DueAt, j.FinishedAt) }
