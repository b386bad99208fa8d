package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

func (c *cli) backfillCmd() *cobra.Command {
	return noun("backfill", "Runs of nominal times that have passed", []string{"backfills"},
		c.backfillStart(), c.backfillList(), c.backfillShow(),
		c.backfillSet("pause", "Stop making jobs; those made go on", schedule.BackfillPaused),
		c.backfillSet("resume", "Go on making jobs", schedule.BackfillActive),
		c.backfillSet("cancel", "End it; jobs that it made stay", schedule.BackfillCanceled))
}

func (c *cli) backfillStart() *cobra.Command {
	var b schedule.Backfill
	var from, to, overlap string
	cmd := &cobra.Command{
		Use: "start SCHEDULE --from TIME --to TIME", Aliases: []string{"create"}, Short: "Run nominal times of a schedule that have passed", Args: cobra.ExactArgs(1),
		Long: `Run nominal times of a schedule that have passed, one after another or, with
--overlap allow, without waiting. Each job knows its nominal time, as always.
The schedule's own plan goes on beside it.`,
		Example: `  belfry backfill start nightly --from 2026-11-01 --to '2026-11-20 23:59' --only-missing`,
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			sc, err := s.Schedule(ctx, ns, args[0])
			if err != nil {
				return err
			}
			b.Namespace, b.Schedule, b.Overlap = ns, args[0], schedule.Overlap(overlap)
			if err := instant(from != "", "--from", from, sc.Zone, &b.From); err != nil {
				return err
			}
			if err := instant(to != "", "--to", to, sc.Zone, &b.To); err != nil {
				return err
			}
			if to == "" {
				b.To = s.now
			}
			out, err := s.StartBackfill(ctx, b)
			if err != nil {
				return err
			}
			return c.emit(out, func(w io.Writer) {
				fmt.Fprintf(w, "backfill %d of %s started\n", out.ID, out.Schedule)
				fmt.Fprintf(c.stderr, "follow it with: belfry backfill show %d\n", out.ID)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "first nominal time, such as '2026-11-01' in the schedule's zone")
	f.StringVar(&to, "to", "", "last nominal time; default: now")
	f.StringVar(&overlap, "overlap", "", "buffer_all runs one after another, allow does not wait; default: buffer_all")
	f.BoolVar(&b.OnlyMissing, "only-missing", false, "leave out nominal times that became a job already")
	f.IntVar(&b.Limit, "limit", 0, "most jobs it may make; default: 1000")
	f.StringVar(&b.Note, "note", "", "why")
	return cmd
}

func (c *cli) backfillList() *cobra.Command {
	var sch string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List backfills, newest first", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&sch, "schedule", "", "only those of a schedule")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[schedule.Backfill], error) {
			return s.Backfills(ctx, schedule.BackfillFilter{Paging: pg, Namespace: s.namespace, Schedule: sch})
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no backfills; try: belfry backfill start SCHEDULE --from TIME")
				return
			}
			g := c.grid("ID", "SCHEDULE", "STATE", "FROM", "TO", "DONE", "JOBS", "LEFT OUT")
			for _, b := range p.Items {
				g.row(strconv.FormatInt(b.ID, 10), s.label(b.Namespace, b.Schedule), g.state(string(b.State)), stamp(b.From), stamp(b.To),
					stamp(b.Done), strconv.Itoa(b.Made), strconv.Itoa(b.LeftOut))
			}
			g.write(w)
			for _, b := range p.Items {
				if b.Cut() {
					fmt.Fprintf(c.stderr, "backfill %d stopped at its limit of %d jobs\n", b.ID, b.Limit)
				}
			}
		})
	})
	return cmd
}

func (c *cli) backfillShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a backfill", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of a backfill", "see: belfry backfill list")
			}
			b, err := s.Backfill(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			return c.emit(b, func(w io.Writer) { c.drawBackfill(w, b, s.now) })
		}),
	}
}

func (c *cli) drawBackfill(w io.Writer, b schedule.Backfill, now time.Time) {
	only := ""
	if b.OnlyMissing {
		only = "what has no job yet"
	}
	cut := ""
	if b.Cut() {
		cut = fmt.Sprintf("by its limit; later times were not looked at. Start another from %s", stamp(b.Done.Add(time.Second)))
	}
	c.pairs(w, "id", strconv.FormatInt(b.ID, 10), "schedule", b.Schedule, "namespace", b.Namespace, "state", string(b.State),
		"from", stamp(b.From), "to", stamp(b.To), "done", stamp(b.Done), "jobs", fmt.Sprintf("%d of at most %d", b.Made, b.Limit),
		"stopped", cut, "left out", strconv.Itoa(b.LeftOut), "overlap", string(b.Overlap), "only", only, "note", b.Note,
		"started", when(b.CreatedAt, now)+" by "+b.CreatedBy, "ended", when(b.EndedAt, now))
}

func (c *cli) backfillSet(verb, short string, state schedule.BackfillState) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of a backfill", "see: belfry backfill list")
			}
			b, err := s.SetBackfill(ctx, s.namespace, id, state)
			if err != nil {
				return err
			}
			return c.emit(b, func(w io.Writer) { fmt.Fprintf(w, "backfill %d is %s\n", b.ID, b.State) })
		}),
	}
}
