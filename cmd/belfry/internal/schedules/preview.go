package schedules

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// previewFlags are shared by the verbs about upcoming times of one schedule.
type previewFlags struct {
	n        int
	from, at string
	zone     string
	runs     bool
}

// verb returns a verb for NAME, a schedule, or RULE, a draft that is not saved and needs no server.
func (f *previewFlags) verb(c *cli.CLI, draw func(w io.Writer, l schedule.Look, now time.Time)) func(*cobra.Command, []string) error {
	saved := c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		sc, err := s.Schedule(ctx, ns, args[0])
		if err != nil {
			return err
		}
		q := schedule.LookQuery{Namespace: ns, Name: args[0], N: f.n, RunsOnly: f.runs}
		if err := f.times(c, sc.Zone, &q); err != nil {
			return err
		}
		l, err := s.Look(ctx, q)
		if err != nil {
			return err
		}
		return c.Emit(l, func(w io.Writer) { draw(w, l, s.Now) })
	})
	return func(cmd *cobra.Command, args []string) error {
		rule, is, err := define.Rule("RULE", args[0])
		if err != nil {
			return err
		}
		if !is {
			nickname := "@" + args[0]
			err := saved(cmd, args)
			if _, fault := cron.Parse(nickname, cron.Options{}); core.CodeOf(err) != core.NotFound || fault != nil {
				return err
			}
			fmt.Fprintf(c.Stderr, "schedule %q not found; these are the times of the rule %s\n", args[0], nickname)
			rule.Cron = nickname
		}
		if err := c.CheckOutput(); err != nil {
			return err
		}
		q := schedule.LookQuery{Draft: &schedule.Schedule{Rules: []schedule.Rule{rule}, Zone: f.zone}, N: f.n, RunsOnly: f.runs}
		if err := f.times(c, f.zone, &q); err != nil {
			return err
		}
		now := time.Now()
		l, err := schedule.LookAtDraft(q, now, cron.ZoneVersion())
		if err != nil {
			return err
		}
		return c.Emit(l, func(w io.Writer) { draw(w, l, now) })
	}
}

// times reads the instants of a query.
func (f *previewFlags) times(c *cli.CLI, zone string, q *schedule.LookQuery) error {
	if err := cli.Instant(f.from != "", "--from", f.from, zone, &q.From); err != nil {
		return err
	}
	if err := cli.Instant(f.at != "", "--at", f.at, zone, &q.At); err != nil || q.At.IsZero() {
		return err
	}
	at, missing := afterGap(q.At, f.at)
	if q.At = at; missing != "" {
		fmt.Fprintln(c.Stderr, missing)
	}
	return nil
}

func scheduleNext(c *cli.CLI) *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use: "next NAME|RULE", Short: "Show when a schedule runs next, or when a rule would", Args: cobra.ExactArgs(1),
		Example: `  belfry schedule next nightly -n 20
  belfry schedule next '30 2 * * *' --zone Europe/Sofia --from 2027-03-27
  belfry schedule next 'FREQ=MONTHLY;BYDAY=-1FR' --zone Europe/Sofia`,
		RunE: f.verb(c, func(w io.Writer, l schedule.Look, now time.Time) { drawComing(c, w, l, now) }),
	}
	cmd.Flags().IntVarP(&f.n, "count", "n", 10, "how many, at most 1000")
	cmd.Flags().BoolVar(&f.runs, "runs", false, "show only times that run, and leave out those that calendars or --max-runs skip")
	cmd.Flags().StringVar(&f.from, "from", "", "from this time on; default: now")
	cmd.Flags().StringVar(&f.zone, "zone", "", "time zone of a RULE; default: UTC")
	return cmd
}

func drawComing(c *cli.CLI, w io.Writer, l schedule.Look, now time.Time) {
	only := func(cells ...string) []string { // a column for UTC, only beside another zone
		if l.Schedule.Zone == "UTC" {
			return slices.Delete(cells, 1, 2)
		}
		return cells
	}
	g := c.Grid(only("NOMINAL ("+l.Schedule.Zone+")", "UTC", "AWAY", "NOTE")...)
	for _, n := range l.Coming {
		note := strings.Join(n.Notes, "; ")
		if n.Skipped != "" {
			note = strings.TrimSuffix("skipped, "+string(n.Skipped)+": "+note, ": ")
		}
		g.Row(only(n.Local, n.Nominal.UTC().Format("2006-01-02 15:04:05"), cli.Ago(n.Nominal, now), note)...)
	}
	if len(l.Coming) > 0 {
		g.Write(w)
	}
	switch {
	case l.Schedule.State == schedule.Paused:
		fmt.Fprintln(c.Stderr, "the schedule is paused: none of these run until it is resumed")
	case len(l.Coming) == 0 && len(l.Schedule.Calendars()) > 0:
		fmt.Fprintln(c.Stderr, "no run is known: its calendars keep out all times")
	case len(l.Coming) == 0:
		fmt.Fprintln(c.Stderr, "none is planned: "+strings.Join(l.Explain[:1], ""))
	}
}

func scheduleExplain(c *cli.CLI) *cobra.Command {
	f := previewFlags{n: 3}
	cmd := &cobra.Command{
		Use: "explain NAME|RULE [--at TIME]", Short: "Say in words when a schedule runs, and why a time is or is not one of its", Args: cobra.ExactArgs(1),
		Example: `  belfry schedule explain '0 9 * * MON-FRI'
  belfry schedule explain nightly --at '2027-03-28 03:30'`,
		RunE: f.verb(c, func(w io.Writer, l schedule.Look, _ time.Time) { drawExplained(w, l) }),
	}
	cmd.Flags().StringVar(&f.at, "at", "", "is this one of its times, and why or why not")
	cmd.Flags().StringVar(&f.zone, "zone", "", "time zone of a RULE; default: UTC")
	return cmd
}

// afterGap returns the first instant after the gap of a clock change, if the local time is in the gap, and a note about it.
func afterGap(at time.Time, asked string) (time.Time, string) {
	if at.Location() == time.UTC {
		return at, ""
	}
	shown := false
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if wall, err := time.Parse(layout, asked); err == nil {
			shown = wall.Format("2006-01-02 15:04:05") == at.Format("2006-01-02 15:04:05")
			break
		} else if layout == "2006-01-02" {
			return at, "" // it has an offset
		}
	}
	if shown {
		return at, ""
	}
	from, to := at.ZoneBounds()
	first := from
	if !to.IsZero() && to.Sub(at) < at.Sub(from) {
		first = to // in a gap, Go may use the offset of either side
	}
	return first, fmt.Sprintf("%s does not exist in %s: the clock goes forward over it. What follows is about %s, the first instant after that.",
		asked, at.Location(), core.StampIn(first, at.Location()))
}

func drawExplained(w io.Writer, l schedule.Look) {
	for _, line := range l.Explain {
		fmt.Fprintln(w, line)
	}
	if l.Is != nil {
		fmt.Fprintln(w)
		for _, line := range l.Why {
			fmt.Fprintln(w, line)
		}
		return
	}
	for _, n := range l.Coming {
		fmt.Fprintln(w, "next: "+n.Local)
	}
}

func scheduleDiff(c *cli.CLI) *cobra.Command {
	var f scheduleFlags
	var n int
	var from string
	cmd := &cobra.Command{
		Use: "diff NAME [flags as for update]", Short: "Show what an edit would change in the next runs, and save nothing", Args: cobra.MaximumNArgs(1),
		Example: `  belfry schedule diff nightly --cron '30 3 * * *'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			sc, err := scheduleToUpdate(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			q := schedule.LookQuery{Namespace: sc.Namespace, Name: sc.Name, Draft: &sc, N: n}
			if err := cli.Instant(from != "", "--from", from, sc.Zone, &q.From); err != nil {
				return err
			}
			l, err := s.Look(ctx, q)
			if err != nil {
				return err
			}
			return c.Emit(l.Diff, func(w io.Writer) { drawDiff(c, w, l) })
		}),
	}
	f.add(cmd.Flags())
	cmd.Flags().IntVarP(&n, "count", "n", 10, "how many runs of each version, at most 1000")
	cmd.Flags().StringVar(&from, "from", "", "from this time on; default: now")
	return cmd
}

func drawDiff(c *cli.CLI, w io.Writer, l schedule.Look) {
	paint := c.Painter()
	same := true
	for _, d := range l.Diff {
		line := d.Change + " " + cli.InZone(d.Nominal, l.Schedule.Zone)
		switch d.Change {
		case "+":
			line, same = paint(cli.StyleGood, line), false
		case "-":
			line, same = paint(cli.StyleBad, line), false
		default:
			line = "  " + line[2:]
		}
		fmt.Fprintln(w, line)
	}
	if same {
		fmt.Fprintln(c.Stderr, "the next runs stay the same")
	}
}

// aheadFlags are shared by the verbs about upcoming times of all schedules.
type aheadFlags struct {
	within, from string
	limit        int
}

func (f *aheadFlags) add(cmd *cobra.Command, within string) {
	cmd.Flags().StringVar(&f.within, "within", within, "how far to look, at most 31d")
	cmd.Flags().StringVar(&f.from, "from", "", "from this time on; default: now")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "show at most so many; default: 200")
}

func (f *aheadFlags) ahead(s *cli.Conn) (schedule.Ahead, error) {
	a := schedule.Ahead{Namespace: s.NS, Limit: f.limit}
	d, err := core.ParseDuration(f.within)
	if err != nil {
		return a, core.InvalidField("--within", f.within, err.Error(), "")
	}
	a.Within = d.D()
	return a, cli.Instant(f.from != "", "--from", f.from, "UTC", &a.From)
}

func scheduleUpcoming(c *cli.CLI) *cobra.Command {
	var f aheadFlags
	cmd := &cobra.Command{
		Use: "upcoming", Short: "List what all schedules will run, soonest first", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			a, err := f.ahead(s)
			if err != nil {
				return err
			}
			list, err := s.Upcoming(ctx, a)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[schedule.Coming]{Items: list}, func(w io.Writer) {
				g := c.Grid("NOMINAL", "AWAY", "SCHEDULE", "IN ITS ZONE", "NOTE")
				for _, n := range list {
					note := strings.Join(n.Notes, "; ")
					if n.Skipped != "" {
						note = "skipped, " + string(n.Skipped) + ": " + note
					}
					g.Row(cli.Stamp(n.Nominal), cli.Ago(n.Nominal, s.Now), s.Label(n.Namespace, n.Schedule), n.Local, note)
				}
				if len(list) == 0 {
					fmt.Fprintln(c.Stderr, "nothing is planned within "+f.within)
					return
				}
				g.Write(w)
				if len(list) == cmp.Or(f.limit, schedule.DefaultAheadRows) {
					fmt.Fprintf(c.Stderr, "the first %d are shown; more with --limit, or less with --within\n", len(list))
				}
			})
		}),
	}
	f.add(cmd, "24h")
	return cmd
}

func scheduleForecast(c *cli.CLI) *cobra.Command {
	var f aheadFlags
	var top int
	var checks bool
	cmd := &cobra.Command{
		Use: "forecast", Short: "Show how many runs start in each minute, where most collide first", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			if err := cli.NotNegative("--top", top, "0 shows the sum alone"); err != nil {
				return err
			}
			a, err := f.ahead(s)
			if err != nil {
				return err
			}
			a.Checks = checks
			fc, err := s.Forecast(ctx, a)
			if err != nil {
				return err
			}
			return c.Emit(fc, func(w io.Writer) { drawForecast(c, w, fc, top) })
		}),
	}
	f.add(cmd, "7d")
	cmd.Flags().IntVar(&top, "top", 20, "show the so many busiest minutes")
	cmd.Flags().BoolVar(&checks, "checks", false, "count checks of monitors too")
	return cmd
}

// busiestFirst returns a copy sorted by the number of starts, then by time.
func busiestFirst(loads []schedule.Load) []schedule.Load {
	out := slices.Clone(loads)
	slices.SortStableFunc(out, func(a, b schedule.Load) int { return b.Starts - a.Starts })
	return out
}

func drawForecast(c *cli.CLI, w io.Writer, fc schedule.Forecast, top int) {
	busiest := busiestFirst(fc.Loads)
	total := 0
	for _, l := range fc.Loads {
		total += l.Starts
	}
	g := c.Grid("MINUTE", "STARTS", "", "SCHEDULES")
	for _, l := range busiest[:min(top, len(busiest))] {
		bar := strings.Repeat("#", max(1, l.Starts*30/busiest[0].Starts))
		g.Row(cli.Stamp(l.Minute), strconv.Itoa(l.Starts), bar, cli.Clip(strings.Join(l.Schedules, ", "), 60))
	}
	if len(busiest) > 0 {
		g.Write(w)
	}
	fmt.Fprintf(c.Stderr, "%d runs in %d minutes\n", total, len(fc.Loads))
	if fc.Partial {
		fmt.Fprintf(c.Stderr, "the %d schedules that are due first were counted, and there are more: from %s on there are at least so many\n", fc.Schedules, cli.Stamp(fc.Until))
	}
}
