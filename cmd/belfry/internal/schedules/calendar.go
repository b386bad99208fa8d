package schedules

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// Calendar is the command calendar.
func Calendar(c *cli.CLI) *cobra.Command {
	return cli.Noun("calendar", "Manage calendars: holidays and closing times", []string{"calendars"},
		calendarCreate(c), calendarImport(c), calendarList(c), calendarShow(c), calendarDelete(c))
}

// calendarFlags are the fields of a calendar that have a flag.
type calendarFlags struct {
	file, zone, title, description string
	weekly, dates, rules           []string
}

// calendar builds a calendar. The text before a = in --weekly and --dates is the
// displayed reason: "Christmas=12-25".
func (f *calendarFlags) calendar(c *cli.CLI, s *cli.Conn, cmd *cobra.Command, args []string) (schedule.Calendar, error) {
	var cal schedule.Calendar
	if err := c.Draft(s, f.file, "calendar", args, &cal, &cal.Name, &cal.Namespace); err != nil {
		return cal, err
	}
	cli.Set(cmd.Flags().Changed("zone"), f.zone, &cal.Zone)
	cli.Set(cmd.Flags().Changed("title"), f.title, &cal.Title)
	cli.Set(cmd.Flags().Changed("description"), f.description, &cal.Description)
	for _, text := range f.weekly {
		name, value := reasonOf(text)
		cal.Closings = append(cal.Closings, cron.Closing{Name: name, Weekly: value})
	}
	for _, text := range f.dates {
		name, value := reasonOf(text)
		cal.Closings = append(cal.Closings, cron.Closing{Name: name, Dates: value})
	}
	for _, text := range f.rules {
		cal.Closings = append(cal.Closings, cron.Closing{Rule: text})
	}
	return cal, nil
}

// reasonOf splits "Christmas=12-25" into the reason and the times.
func reasonOf(text string) (name, value string) {
	if name, value, found := strings.Cut(text, "="); found {
		return name, value
	}
	return "", text
}

func calendarCreate(c *cli.CLI) *cobra.Command {
	var f calendarFlags
	cmd := &cobra.Command{
		Use: "create NAME [--weekly TIMES | --dates DATES | --rule RRULE]...", Aliases: []string{"update", "set"},
		Short: "Create a calendar, or replace one", Args: cobra.MaximumNArgs(1),
		Example: `  belfry calendar create office --zone Europe/Sofia --weekly 'closed=SAT-SUN' --weekly '* 18:00-08:00'
  belfry calendar create holidays --dates 'New Year=01-01' --dates 'Christmas=12-24..12-26'
  belfry schedule create report --task report --cron '0 9 * * *' --blackout holidays --blackout office`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			cal, err := f.calendar(c, s, cmd, args)
			if err != nil {
				return err
			}
			cal, err = s.SaveCalendar(ctx, cal)
			if err != nil {
				return err
			}
			return c.Emit(cal, func(w io.Writer) {
				fmt.Fprintf(w, "calendar %s saved, %s\n", cal.Name, core.Plural(len(cal.Closings), "closing"))
			})
		}),
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	fs.StringVar(&f.zone, "zone", "", "time zone of its days and hours; default: UTC")
	fs.StringArrayVar(&f.weekly, "weekly", nil, "weekdays and hours, such as SAT-SUN or 'MON-FRI 18:00-24:00', with REASON= before it if you like; may be repeated")
	fs.StringArrayVar(&f.dates, "dates", nil, "a day or a range, of one year or of every: 2027-12-25, 12-24..12-26; with REASON= before it if you like; may be repeated")
	fs.StringArrayVar(&f.rules, "rule", nil, "RFC 5545 recurrence with its DTSTART; each time closes a day; may be repeated")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
	return cmd
}

func calendarImport(c *cli.CLI) *cobra.Command {
	var zone string
	cmd := &cobra.Command{
		Use: "import NAME FILE.ics", Short: "Make a calendar of an iCalendar file; its events are closed times", Args: cobra.ExactArgs(2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			spec, err := readICS(c, args[1], zone)
			if err != nil {
				return err
			}
			old, err := s.Calendar(ctx, ns, args[0])
			if err != nil && core.CodeOf(err) != core.NotFound {
				return err
			}
			cal, err := s.SaveCalendar(ctx, schedule.Calendar{Namespace: ns, Name: args[0], Title: old.Title, Description: old.Description, CalendarSpec: spec})
			if err != nil {
				return err
			}
			return c.Emit(cal, func(w io.Writer) {
				fmt.Fprintf(w, "calendar %s imported, %s\n", cal.Name, core.Plural(len(cal.Closings), "closing"))
			})
		}),
	}
	cmd.Flags().StringVar(&zone, "zone", "", "time zone of whole days; default: the file's")
	return cmd
}

func readICS(c *cli.CLI, path, zone string) (cron.CalendarSpec, error) {
	in := c.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return cron.CalendarSpec{}, core.InvalidField("FILE", path, err.Error(), "name an .ics file, or - for standard input")
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	var o cron.Options
	if zone != "" {
		loc, err := cron.LoadZone(zone)
		if err != nil {
			return cron.CalendarSpec{}, core.InvalidField("--zone", zone, err.Error(), "")
		}
		o.Zone = loc
	}
	cal, err := cron.ParseICS(in, schedule.MaxICS, o)
	if err != nil {
		return cron.CalendarSpec{}, core.InvalidField("FILE", path, err.Error(), "")
	}
	return cal.Spec(), nil
}

func calendarList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List calendars", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[schedule.Calendar], error) {
			return s.Calendars(ctx, schedule.CalendarFilter{Paging: pg, Namespace: s.NS})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no calendars; try: belfry calendar create holidays --dates 'Christmas=12-25'")
				return
			}
			g := c.Grid("NAME", "?TITLE", "ZONE", "CLOSINGS", "NOW", "DESCRIPTION")
			for _, cal := range p.Items {
				g.Row(s.Label(cal.Namespace, cal.Name), cli.Clip(cal.Title, 40), cal.Zone, strconv.Itoa(len(cal.Closings)), closedNow(cal, s), cli.Clip(cal.Description, 50))
			}
			g.Write(w)
		})
	})
	return cmd
}

func closedNow(cal schedule.Calendar, s *cli.Conn) string {
	ready, err := cron.NewCalendar(cal.CalendarSpec)
	if err != nil {
		return "?"
	}
	if closed, reason := ready.Closed(s.Now); closed {
		return "closed: " + cli.Clip(reason, 30)
	}
	return "open"
}

func calendarShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a calendar", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			cal, err := s.Calendar(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(cal, func(w io.Writer) {
				c.Pairs(w, "name", cal.Name, "namespace", cal.Namespace, "title", cal.Title, "description", cal.Description, "zone", cal.Zone,
					"now", closedNow(cal, s), "created", cli.Stamp(cal.CreatedAt), "updated", cli.Stamp(cal.UpdatedAt))
				fmt.Fprintln(w)
				g := c.Grid("CLOSED", "WHEN")
				for _, cl := range cal.Closings {
					g.Row(cl.Name, cli.Clip(cl.Weekly+cl.Dates+cl.Rule, 90))
				}
				g.Write(w)
			})
		}),
	}
}

func calendarDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete calendars that no schedule refers to", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "deleted", func(ns, name string) error { return s.DeleteCalendar(ctx, ns, name) })
		}),
	}
}
