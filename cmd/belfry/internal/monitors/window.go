package monitors

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// Window is the command window.
func Window(c *cli.CLI) *cobra.Command {
	return cli.Noun("window", "Maintenance windows: no notifications are sent, and downtime does not count", []string{"windows", "maintenance"}, append(windows(c).Verbs(), windowNext(c))...)
}

func windows(c *cli.CLI) cli.Document[monitor.Window] {
	return cli.Document[monitor.Window]{
		CLI: c, Noun: "window", Many: "windows", Empty: "belfry window set update --for 2h --monitor site",
		Arguments: "[--from TIME] --to TIME|--for SPAN | --cron RULE --lasts SPAN",
		Long: `Make or change a time of maintenance. What fails in it is recorded, told to nobody,
and does not count for uptime. It comes once, from --from to --to or for so long,
or again and again, by --cron or --rrule, and --lasts each time.`,
		Example: `  belfry window set update --for 2h --monitor site --monitor api
  belfry window set move --from '2026-12-24 18:00' --to '2026-12-24 22:00' --zone Europe/Sofia
  belfry window set nightly --cron '0 3 * * *' --lasts 30m --zone Europe/Sofia --tag infra`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[monitor.Window], error) {
			return s.Windows(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (monitor.Window, error) {
			return s.Window(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d monitor.Window) (monitor.Window, error) {
			saved, err := s.SaveWindow(ctx, d)
			if err == nil {
				c.NoteAbsent(ctx, s, saved.Namespace, saved.Monitors, nil, nil)
				if note := begunNote(saved, s.Now); note != "" {
					fmt.Fprintln(c.Stderr, note)
				}
			}
			return saved, err
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error { return s.DeleteWindow(ctx, ns, name) },

		Owner: func(d *monitor.Window) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"TITLE", "STATE", "WHEN", "NEXT", "FOR"},
		Row: func(s *cli.Conn, d monitor.Window) []string {
			return []string{cli.Clip(d.Title, 40), windowState(d, s.Now), cli.Clip(windowTimes(d), 60), nextWindow(d, s.Now), cli.Clip(targets(d.Monitors, d.Tags), 40)}
		},
		Draw: func(w io.Writer, s *cli.Conn, d monitor.Window) {
			c.Pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "state", windowState(d, s.Now),
				"when", windowTimes(d), "zone", d.Zone, "next", nextWindow(d, s.Now), "monitors", targets(d.Monitors, d.Tags),
				"generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))
		},
		Flags: windowFlags,
		Said: func(s *cli.Conn, d monitor.Window) string {
			return ", " + windowState(d, s.Now) + ", " + windowTimes(d)
		},
	}
}

// begunNote says that a window takes time that has passed out of the uptime, or nothing. It is empty for one that begins now.
func begunNote(d monitor.Window, now time.Time) string {
	if len(d.Rules) > 0 || d.Off || now.Sub(d.From) < time.Minute {
		return ""
	}
	return "note: it began at " + cli.InZone(d.From, d.Zone) + ": what was observed since then counts as maintenance, downtime too"
}

// targets describes the selected monitors.
func targets(monitors, tags []string) string {
	parts := monitors
	for _, tag := range tags {
		parts = append(parts[:len(parts):len(parts)], "all with the tag "+tag)
	}
	return cmp.Or(strings.Join(parts, ", "), "all")
}

// windowTimes describes the times of a maintenance window in one line.
func windowTimes(d monitor.Window) string {
	if len(d.Rules) == 0 {
		return cli.InZone(d.From, d.Zone) + " to " + cli.InZone(d.To, d.Zone)
	}
	return schedule.Schedule{Rules: d.Rules, Zone: d.Zone}.RuleText() + ", for " + d.Lasts.String()
}

// comingWindows returns the next times of a maintenance window.
func comingWindows(d monitor.Window, from time.Time, n int) ([]monitor.ActiveWindow, error) {
	plan, err := monitor.CompileWindow(d.WithDefaults())
	if err != nil {
		return nil, err
	}
	return plan.Upcoming(from, n), nil
}

func windowState(d monitor.Window, now time.Time) string {
	coming, err := comingWindows(d, now, 1)
	switch {
	case d.Off:
		return "off"
	case err != nil || len(coming) == 0:
		return "over"
	case !coming[0].From.After(now):
		return "under way"
	}
	return "to come"
}

func nextWindow(d monitor.Window, now time.Time) string {
	coming, err := comingWindows(d, now, 1)
	switch {
	case err != nil || len(coming) == 0:
		return ""
	case !coming[0].From.After(now):
		return "until " + cli.InZone(coming[0].To, d.Zone)
	}
	return cli.Ago(coming[0].From, now)
}

func windowFlags(fs *pflag.FlagSet) cli.Setter[monitor.Window] {
	var monitors, tags, cronRules, rrules []string
	var from, to, long, lasts, zone, title, description string
	var off bool
	fs.StringSliceVar(&monitors, "monitor", nil, "only these monitors; default: all")
	fs.StringSliceVar(&tags, "tag", nil, "only monitors with one of these tags, beside those of --monitor")
	fs.StringVar(&from, "from", "", "begin of one that comes once; default with --for: now")
	fs.StringVar(&to, "to", "", "end of one that comes once")
	fs.StringVar(&long, "for", "", "instead of --to: how long it lasts")
	fs.StringArrayVar(&cronRules, "cron", nil, "when it begins, again and again, such as '0 3 * * *'; may be repeated")
	fs.StringArrayVar(&rrules, "rrule", nil, "the same as an RFC 5545 recurrence with its DTSTART; may be repeated")
	fs.StringVar(&lasts, "lasts", "", "with --cron and --rrule: how long it lasts each time")
	fs.StringVar(&zone, "zone", "", "time zone of all these times; default: UTC")
	fs.BoolVar(&off, "off", false, "it does not hold; --off=false ends that")
	fs.StringVar(&title, "title", "", "what people call it, in any script; status pages show it")
	fs.StringVar(&description, "description", "", "for people")
	return func(s *cli.Conn, fs *pflag.FlagSet, d *monitor.Window, rest []string) error {
		given := fs.Changed
		cli.Set(given("monitor"), monitors, &d.Monitors)
		cli.Set(given("tag"), tags, &d.Tags)
		cli.Set(given("zone"), zone, &d.Zone)
		cli.Set(given("off"), off, &d.Off)
		cli.Set(given("title"), title, &d.Title)
		cli.Set(given("description"), description, &d.Description)
		once := given("from") || given("to") || given("for")
		again := given("cron") || given("rrule")
		switch {
		case once && (again || given("lasts")):
			return core.InvalidField("--from", from, "cannot stand beside --cron, --rrule and --lasts", "a window comes once, with --from and --to or --for, or again and again")
		case given("to") && given("for"):
			return core.InvalidField("--for", long, "cannot stand beside --to", "keep one of them")
		case again:
			d.From, d.To, d.Rules = time.Time{}, time.Time{}, nil
			for _, text := range cronRules {
				d.Rules = append(d.Rules, schedule.Rule{Cron: text})
			}
			for _, text := range rrules {
				d.Rules = append(d.Rules, schedule.Rule{RRule: text})
			}
		case once:
			d.Rules, d.Lasts = nil, 0
		}
		if err := cli.Duration(given, "lasts", lasts, &d.Lasts); err != nil {
			return err
		}
		if err := cli.Instant(given("from"), "--from", from, d.Zone, &d.From); err != nil {
			return err
		}
		if err := cli.Instant(given("to"), "--to", to, d.Zone, &d.To); err != nil {
			return err
		}
		if given("for") {
			var span core.Duration
			if err := cli.Duration(given, "for", long, &span); err != nil {
				return err
			}
			if !given("from") {
				d.From = core.Micro(s.Now)
			}
			d.To = d.From.Add(span.D())
		}
		return cli.NoRest(rest)
	}
}

func windowNext(c *cli.CLI) *cobra.Command {
	var n int
	var from string
	cmd := &cobra.Command{
		Use: "next NAME", Short: "Show when a window holds next; the time under way is the first", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			if n < 1 || n > 1000 {
				return core.InvalidField("--count", strconv.Itoa(n), "is outside 1 to 1000", "")
			}
			d, err := s.Window(ctx, ns, args[0])
			if err != nil {
				return err
			}
			begin := s.Now
			if err := cli.Instant(from != "", "--from", from, d.Zone, &begin); err != nil {
				return err
			}
			coming, err := comingWindows(d, begin, n)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[monitor.ActiveWindow]{Items: coming}, func(w io.Writer) {
				if len(coming) == 0 {
					fmt.Fprintf(c.Stderr, "it does not hold again: it is %s\n", windowState(d, begin))
					return
				}
				g := c.Grid("FROM ("+d.Zone+")", "TO", "AWAY", "LASTS")
				for _, a := range coming {
					g.Row(cli.InZone(a.From, d.Zone), cli.InZone(a.To, d.Zone), cli.Ago(a.From, s.Now), core.SpanText(a.To.Sub(a.From)))
				}
				g.Write(w)
			})
		}),
	}
	cmd.Flags().IntVarP(&n, "count", "n", 10, "how many, at most 1000")
	cmd.Flags().StringVar(&from, "from", "", "from this time on; default: now")
	return cmd
}
