// Package alerts has the commands alert, channel and hook. Each noun has a file,
// and each verb a function. They talk to the server through package cli, which
// also prints tables and JSON, and know no other package of commands.
package alerts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// Alert is the command alert.
func Alert(c *cli.CLI) *cobra.Command {
	return cli.Noun("alert", "Show notifications and manage alert rules", []string{"alerts"}, alertList(c), alertShow(c),
		cli.Noun("rule", "Manage alert rules, which select the channels of notifications", []string{"rules"}, alertRules(c).Verbs()...))
}

func alertList(c *cli.CLI) *cobra.Command {
	var channel, monitor, state string
	var incident int64
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List notifications with their delivery state, the newest first", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&channel, "channel", "", "only to this channel")
	cmd.Flags().StringVar(&monitor, "monitor", "", "only about this monitor")
	cmd.Flags().Int64Var(&incident, "incident", 0, "only about this outage")
	cmd.Flags().StringVar(&state, "state", "", "only pending, sent, failed or suppressed ones")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		if err := cli.NotNegative("--incident", incident, "see: belfry incident list"); err != nil {
			return err
		}
		if err := cli.Choice("--state", alert.State(state), alert.Pending, alert.Sent, alert.Failed, alert.Suppressed); err != nil {
			return err
		}
		f := alert.Filter{Namespace: s.NS, Channel: channel, Monitor: monitor, Incident: incident, State: alert.State(state)}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[alert.Alert], error) {
			f.Paging = pg
			return s.Alerts(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no notifications; see the rules: belfry alert rule list")
				return
			}
			g := c.Grid("ID", "MADE", "TYPE", "TITLE", "CHANNEL", "STATE", "TRIES", "REASON")
			for _, a := range p.Items {
				g.Row(strconv.FormatInt(a.ID, 10), cli.Stamp(a.CreatedAt), string(a.Notification.Type), cli.Clip(a.Notification.Title, 60), s.Label(a.Namespace, a.Channel),
					g.State(string(a.State)), strconv.Itoa(a.Tries), cli.Clip(a.Reason, 60))
			}
			g.Write(w)
		})
	})
	return cmd
}

func alertShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"tries"}, Short: "Show an alert, the tries to deliver it, and what the receiver said", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of an alert", "see: belfry alert list")
			}
			tries, err := s.AlertTries(ctx, s.NS, id)
			if err != nil {
				return err
			}
			p, err := s.Alerts(ctx, alert.Filter{Namespace: s.NS, ID: id})
			if err != nil {
				return err
			}
			return c.Emit(core.Page[alert.Try]{Items: tries}, func(w io.Writer) {
				for _, a := range p.Items {
					drawAlert(c, w, a)
				}
				if len(tries) == 0 {
					fmt.Fprintln(c.Stderr, "it was not tried")
					return
				}
				g := c.Grid("AT", "CHANNEL", "DURATION", "TOGETHER", "SAID")
				for _, t := range tries {
					said := g.Paint(cli.StyleGood, "taken")
					if t.Error != "" {
						said = cli.Clip(t.Error, 120)
					}
					if t.Final && t.Error != "" {
						said += ", given up"
					}
					g.Row(cli.Stamp(t.At), t.Channel, core.SpanText(t.Took.D()), strconv.Itoa(t.Alerts), said)
				}
				g.Write(w)
			})
		}),
	}
}

func drawAlert(c *cli.CLI, w io.Writer, a alert.Alert) {
	due := ""
	if a.State == alert.Pending {
		due = cli.Stamp(a.DueAt)
	}
	c.Pairs(w, "alert", strconv.FormatInt(a.ID, 10), "title", a.Notification.Title, "channel", a.Channel, "rule", a.Rule, "state", string(a.State),
		"reason", a.Reason, "created", cli.Stamp(a.CreatedAt), "due", due)
}

func alertRules(c *cli.CLI) cli.Document[alert.Rule] {
	return cli.Document[alert.Rule]{
		CLI: c, Noun: "alert rule", Many: "alert rules", Empty: "belfry alert rule set all --channel ops",
		Arguments: "--channel CHANNEL [flags]",
		Long: `Create or change a rule. It selects notifications and sends them to its channels. A
rule that names no monitor, task or schedule covers all of them. Default events of
--on: down, up, flapping, steady, stale, fresh, changed, certificate, job_failed,
schedule_missed and hook_disabled.`,
		Example: `  belfry alert rule set all --channel ops
  belfry alert rule set night --channel pager --tag critical --on down,up,reminder --remind 1h --group=-1s
  belfry alert rule set jobs --channel ops --task backup --on job_failed`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[alert.Rule], error) {
			return s.AlertRules(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (alert.Rule, error) {
			return s.AlertRule(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d alert.Rule) (alert.Rule, error) {
			saved, err := s.SaveAlertRule(ctx, d)
			if err == nil {
				c.NoteAbsent(ctx, s, saved.Namespace, saved.Monitors, saved.Tasks, saved.Schedules)
			}
			return saved, err
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error { return s.DeleteAlertRule(ctx, ns, name) },

		Owner: func(d *alert.Rule) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"TITLE", "STATE", "CHANNELS", "ABOUT", "ON"},
		Row: func(_ *cli.Conn, d alert.Rule) []string {
			return []string{cli.Clip(d.Title, 40), cli.OnOff(d.Off), cli.Clip(strings.Join(d.Channels, ", "), 30), cli.Clip(about(d), 40), cli.Clip(join(d.On), 60)}
		},
		Draw:  func(w io.Writer, _ *cli.Conn, d alert.Rule) { drawRule(c, w, d) },
		Flags: ruleFlags,
		Said:  func(_ *cli.Conn, d alert.Rule) string { return ", it tells " + strings.Join(d.Channels, ", ") },
	}
}

func join[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// about returns the subjects of a rule.
func about(d alert.Rule) string {
	var parts []string
	for _, list := range []struct {
		noun  string
		names []string
	}{{"monitors ", d.Monitors}, {"tasks ", d.Tasks}, {"schedules ", d.Schedules}} {
		if len(list.names) > 0 {
			parts = append(parts, list.noun+strings.Join(list.names, ", "))
		}
	}
	text := cmp.Or(strings.Join(parts, "; "), "all")
	if len(d.Tags) > 0 {
		text += " with the tag " + strings.Join(d.Tags, " or ")
	}
	return text
}

func drawRule(c *cli.CLI, w io.Writer, d alert.Rule) {
	remind := ""
	if d.Remind > 0 {
		remind = fmt.Sprintf("after %s and then after twice as long, at most %d times", d.Remind, d.RemindMax)
	}
	group := "for " + d.Group.String() + ", to tell a channel at once"
	if d.Group < 0 {
		group = "not at all"
	}
	c.Pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "state", cli.OnOff(d.Off),
		"about", about(d), "on", join(d.On), "channels", strings.Join(d.Channels, ", "), "waits", group, "reminds", remind,
		"quiet in", strings.Join(d.Quiet, ", "), "generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))
}

func ruleFlags(fs *pflag.FlagSet) cli.Setter[alert.Rule] {
	var on, monitors, tasks, schedules, tags, channels, quiet []string
	var group, remind, title, description string
	var remindMax int
	var off bool
	fs.StringSliceVar(&channels, "channel", nil, "channels to tell; may be repeated")
	fs.StringSliceVar(&on, "on", nil, "types of notifications: "+join(alert.NotificationTypes))
	fs.StringSliceVar(&monitors, "monitor", nil, "only about these monitors")
	fs.StringSliceVar(&tasks, "task", nil, "only about these tasks, for job_failed and schedule_missed")
	fs.StringSliceVar(&schedules, "schedule", nil, "only about these schedules, for job_failed and schedule_missed")
	fs.StringSliceVar(&tags, "tag", nil, "only about what has one of these tags")
	fs.StringVar(&group, "group", "", "how long to wait for more, to tell a channel at once; negative: not at all; default: 30s")
	fs.StringVar(&remind, "remind", "", "while it is down, tell again after so long, then after twice as long; default: never")
	fs.IntVar(&remindMax, "remind-max", 0, "most reminders of one outage; default: 10")
	fs.StringSliceVar(&quiet, "quiet", nil, "calendars during which no notification is sent; what is still so afterwards is sent then")
	fs.BoolVar(&off, "off", false, "tell nobody; --off=false ends that")
	fs.StringVar(&title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *cli.Conn, fs *pflag.FlagSet, d *alert.Rule, rest []string) error {
		given := fs.Changed
		if given("on") {
			d.On = []alert.NotificationType{}
			for _, text := range on {
				if err := cli.Choice("--on", alert.NotificationType(text), alert.NotificationTypes...); err != nil {
					return err
				}
				d.On = append(d.On, alert.NotificationType(text))
			}
		}
		cli.Set(given("channel"), channels, &d.Channels)
		cli.Set(given("monitor"), monitors, &d.Monitors)
		cli.Set(given("task"), tasks, &d.Tasks)
		cli.Set(given("schedule"), schedules, &d.Schedules)
		cli.Set(given("tag"), tags, &d.Tags)
		cli.Set(given("remind-max"), remindMax, &d.RemindMax)
		cli.Set(given("quiet"), quiet, &d.Quiet)
		cli.Set(given("off"), off, &d.Off)
		cli.Set(given("title"), title, &d.Title)
		cli.Set(given("description"), description, &d.Description)
		if len(d.Channels) == 0 {
			return core.InvalidField("--channel", "", "is missing", "whom does it tell? see: belfry channel list")
		}
		if err := cli.Duration(given, "group", group, &d.Group); err != nil {
			return err
		}
		if err := cli.Duration(given, "remind", remind, &d.Remind); err != nil {
			return err
		}
		return cli.NoRest(rest)
	}
}
