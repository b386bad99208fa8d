package schedules

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Backfill is the command backfill.
func Backfill(c *cli.CLI) *cobra.Command {
	return cli.Noun("backfill", "Run planned times of a schedule that have passed", []string{"backfills"},
		backfillStart(c), backfillList(c), backfillShow(c),
		backfillSet(c, "pause", "Pause a backfill; jobs that it made go on", schedule.BackfillPaused),
		backfillSet(c, "resume", "Resume a backfill", schedule.BackfillActive),
		backfillSet(c, "cancel", "Cancel a backfill; jobs that it made stay", schedule.BackfillCanceled))
}

func backfillStart(c *cli.CLI) *cobra.Command {
	var b schedule.Backfill
	var from, to, overlap string
	cmd := &cobra.Command{
		Use: "start SCHEDULE --from TIME", Aliases: []string{"create"}, Short: "Run nominal times of a schedule that have passed", Args: cobra.ExactArgs(1),
		Long: `Run nominal times of a schedule that have passed, one after another or, with
--overlap allow, without waiting. Each job knows its nominal time, as always.
The schedule's own plan goes on beside it.`,
		Example: `  belfry backfill start nightly --from 2026-11-01 --to '2026-11-20 23:59' --only-missing`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			sc, err := s.Schedule(ctx, ns, args[0])
			if err != nil {
				return err
			}
			b.Namespace, b.Schedule, b.Overlap = ns, args[0], schedule.Overlap(overlap)
			if err := cli.Instant(from != "", "--from", from, sc.Zone, &b.From); err != nil {
				return err
			}
			if err := cli.Instant(to != "", "--to", to, sc.Zone, &b.To); err != nil {
				return err
			}
			if to == "" {
				b.To = s.Now
			}
			out, err := s.StartBackfill(ctx, b)
			if err != nil {
				return err
			}
			return c.Emit(out, func(w io.Writer) {
				fmt.Fprintf(w, "backfill %d of %s started\n", out.ID, out.Schedule)
				fmt.Fprintf(c.Stderr, "follow it with: belfry backfill show %d\n", out.ID)
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
	f.StringVar(&b.Key, "key", "", "idempotency key: a second backfill with it is not made, the first is shown")
	return cmd
}

func backfillList(c *cli.CLI) *cobra.Command {
	var sch string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List backfills, newest first", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&sch, "schedule", "", "only those of a schedule")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[schedule.Backfill], error) {
			return s.Backfills(ctx, schedule.BackfillFilter{Paging: pg, Namespace: s.NS, Schedule: sch})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no backfills; try: belfry backfill start SCHEDULE --from TIME")
				return
			}
			g := c.Grid("ID", "SCHEDULE", "STATE", "FROM", "TO", "DONE", "JOBS", "LEFT OUT")
			for _, b := range p.Items {
				g.Row(strconv.FormatInt(b.ID, 10), s.Label(b.Namespace, b.Schedule), g.State(string(b.State)), cli.Stamp(b.From), cli.Stamp(b.To),
					cli.Stamp(b.Done), strconv.Itoa(b.Made), strconv.Itoa(b.LeftOut))
			}
			g.Write(w)
			for _, b := range p.Items {
				if b.Cut() {
					fmt.Fprintf(c.Stderr, "backfill %d stopped at its limit of %d jobs\n", b.ID, b.Limit)
				}
			}
		})
	})
	return cmd
}

func backfillShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a backfill", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of a backfill", "see: belfry backfill list")
			}
			b, err := s.Backfill(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(b, func(w io.Writer) { drawBackfill(c, w, b, s.Now) })
		}),
	}
}

func drawBackfill(c *cli.CLI, w io.Writer, b schedule.Backfill, now time.Time) {
	only := ""
	if b.OnlyMissing {
		only = "what has no job yet"
	}
	cut := ""
	if b.Cut() {
		cut = fmt.Sprintf("by its limit; later times were not looked at. Start another from %s", cli.Stamp(b.Done.Add(time.Second)))
	}
	c.Pairs(w, "id", strconv.FormatInt(b.ID, 10), "schedule", b.Schedule, "namespace", b.Namespace, "state", string(b.State),
		"from", cli.Stamp(b.From), "to", cli.Stamp(b.To), "done", cli.Stamp(b.Done), "jobs", fmt.Sprintf("%d of at most %d", b.Made, b.Limit),
		"stopped", cut, "left out", strconv.Itoa(b.LeftOut), "overlap", string(b.Overlap), "only", only, "note", b.Note,
		"started", cli.When(b.CreatedAt, now)+" by "+b.CreatedBy, "ended", cli.When(b.EndedAt, now))
}

func backfillSet(c *cli.CLI, verb, short string, state schedule.BackfillState) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of a backfill", "see: belfry backfill list")
			}
			b, err := s.SetBackfill(ctx, s.NS, id, state)
			if err != nil {
				return err
			}
			return c.Emit(b, func(w io.Writer) { fmt.Fprintf(w, "backfill %d is %s\n", b.ID, b.State) })
		}),
	}
}
