package main

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
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) alertCmd() *cobra.Command {
	return noun("alert", "What was told to whom, and the rules of that", []string{"alerts"}, c.alertList(), c.alertShow(),
		noun("rule", "Who is told of what", []string{"rules"}, c.alertRules().verbs()...))
}

func (c *cli) alertList() *cobra.Command {
	var channel, monitor, state string
	var incident int64
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List what was to be told to whom, the newest first, and what came of it", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&channel, "channel", "", "only to this channel")
	cmd.Flags().StringVar(&monitor, "monitor", "", "only about this monitor")
	cmd.Flags().Int64Var(&incident, "incident", 0, "only about this outage")
	cmd.Flags().StringVar(&state, "state", "", "only pending, sent, failed or suppressed ones")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		if err := notNegative("--incident", incident, "see: belfry incident list"); err != nil {
			return err
		}
		if err := choice("--state", alert.State(state), alert.Pending, alert.Sent, alert.Failed, alert.Suppressed); err != nil {
			return err
		}
		f := alert.Filter{Namespace: s.namespace, Channel: channel, Monitor: monitor, Incident: incident, State: alert.State(state)}
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[alert.Alert], error) {
			f.Paging = pg
			return s.Alerts(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no alerts; see who is told: belfry alert rule list")
				return
			}
			g := c.grid("ID", "MADE", "TYPE", "TITLE", "CHANNEL", "STATE", "TRIES", "REASON")
			for _, a := range p.Items {
				g.row(strconv.FormatInt(a.ID, 10), stamp(a.CreatedAt), string(a.Notice.Type), clip(a.Notice.Title, 60), s.label(a.Namespace, a.Channel),
					g.state(string(a.State)), strconv.Itoa(a.Tries), clip(a.Reason, 60))
			}
			g.write(w)
		})
	})
	return cmd
}

func (c *cli) alertShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"tries"}, Short: "Show an alert, the tries to deliver it, and what the receiver said", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of an alert", "see: belfry alert list")
			}
			tries, err := s.AlertTries(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			p, err := s.Alerts(ctx, alert.Filter{Namespace: s.namespace, ID: id})
			if err != nil {
				return err
			}
			return c.emit(core.Page[alert.Try]{Items: tries}, func(w io.Writer) {
				for _, a := range p.Items {
					c.drawAlert(w, a)
				}
				if len(tries) == 0 {
					fmt.Fprintln(c.stderr, "it was not tried")
					return
				}
				g := c.grid("AT", "CHANNEL", "TOOK", "TOGETHER", "SAID")
				for _, t := range tries {
					said := g.paint(styleGood, "taken")
					if t.Error != "" {
						said = clip(t.Error, 120)
					}
					if t.Final && t.Error != "" {
						said += ", given up"
					}
					g.row(stamp(t.At), t.Channel, took(t.Took.D()), strconv.Itoa(t.Alerts), said)
				}
				g.write(w)
			})
		}),
	}
}

func (c *cli) drawAlert(w io.Writer, a alert.Alert) {
	due := ""
	if a.State == alert.Pending {
		due = stamp(a.DueAt)
	}
	c.pairs(w, "alert", strconv.FormatInt(a.ID, 10), "title", a.Notice.Title, "channel", a.Channel, "rule", a.Rule, "state", string(a.State),
		"reason", a.Reason, "created", stamp(a.CreatedAt), "due", due)
}

func (c *cli) alertRules() document[alert.Rule] {
	return document[alert.Rule]{
		c: c, noun: "alert rule", many: "alert rules", empty: "belfry alert rule set all --channel ops",
		arguments: "--channel CHANNEL [flags]",
		long: `Make or change a rule: who is told of what. One that names no monitor, task or
schedule is about all of them. What is told unless --on says otherwise: down, up,
flapping, steady, stale, fresh, changed, certificate, job_failed and
schedule_missed.`,
		example: `  belfry alert rule set all --channel ops
  belfry alert rule set night --channel pager --tag critical --on down,up,reminder --remind 1h --group=-1s
  belfry alert rule set jobs --channel ops --task backup --on job_failed`,
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[alert.Rule], error) {
			return s.AlertRules(ctx, f)
		},
		show: func(ctx context.Context, s *conn, ns, name string) (alert.Rule, error) {
			return s.AlertRule(ctx, ns, name)
		},
		save: func(ctx context.Context, s *conn, d alert.Rule) (alert.Rule, error) {
			saved, err := s.SaveAlertRule(ctx, d)
			if err == nil {
				c.noteAbsent(ctx, s, saved.Namespace, saved.Monitors, saved.Tasks, saved.Schedules)
			}
			return saved, err
		},
		drop: func(ctx context.Context, s *conn, ns, name string) error { return s.DeleteAlertRule(ctx, ns, name) },

		owner: func(d *alert.Rule) (namespace, name *string) { return &d.Namespace, &d.Name },
		head:  []string{"STATE", "CHANNELS", "ABOUT", "ON"},
		row: func(_ *conn, d alert.Rule) []string {
			return []string{onOff(d.Off), clip(strings.Join(d.Channels, ", "), 30), clip(about(d), 40), clip(join(d.On), 60)}
		},
		draw:  func(w io.Writer, _ *conn, d alert.Rule) { c.drawRule(w, d) },
		flags: ruleFlags,
		said:  func(_ *conn, d alert.Rule) string { return ", it tells " + strings.Join(d.Channels, ", ") },
	}
}

func onOff(off bool) string {
	if off {
		return "off"
	}
	return "on"
}

func join[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// about is what a rule is about.
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

func (c *cli) drawRule(w io.Writer, d alert.Rule) {
	remind := ""
	if d.Remind > 0 {
		remind = fmt.Sprintf("after %s and then after twice as long, at most %d times", d.Remind, d.RemindMax)
	}
	group := "for " + d.Group.String() + ", to tell a channel at once"
	if d.Group < 0 {
		group = "not at all"
	}
	c.pairs(w, "name", d.Name, "namespace", d.Namespace, "description", d.Description, "state", onOff(d.Off),
		"about", about(d), "on", join(d.On), "channels", strings.Join(d.Channels, ", "), "waits", group, "reminds", remind,
		"quiet in", strings.Join(d.Quiet, ", "), "generation", strconv.FormatInt(d.Generation, 10), "created", stamp(d.CreatedAt), "updated", stamp(d.UpdatedAt))
}

func ruleFlags(fs *pflag.FlagSet) func(*conn, *pflag.FlagSet, *alert.Rule, []string) error {
	var on, monitors, tasks, schedules, tags, channels, quiet []string
	var group, remind, description string
	var remindMax int
	var off bool
	fs.StringSliceVar(&channels, "channel", nil, "channels to tell; may be repeated")
	fs.StringSliceVar(&on, "on", nil, "types of notices: "+join(alert.NoticeTypes))
	fs.StringSliceVar(&monitors, "monitor", nil, "only about these monitors")
	fs.StringSliceVar(&tasks, "task", nil, "only about these tasks, for job_failed and schedule_missed")
	fs.StringSliceVar(&schedules, "schedule", nil, "only about these schedules, for job_failed and schedule_missed")
	fs.StringSliceVar(&tags, "tag", nil, "only about what has one of these tags")
	fs.StringVar(&group, "group", "", "how long to wait for more, to tell a channel at once; negative: not at all; default: 30s")
	fs.StringVar(&remind, "remind", "", "while it is down, tell again after so long, then after twice as long; default: never")
	fs.IntVar(&remindMax, "remind-max", 0, "most reminders of one outage; default: 10")
	fs.StringSliceVar(&quiet, "quiet", nil, "calendars during which no notification is sent; what is still so afterwards is sent then")
	fs.BoolVar(&off, "off", false, "tell nobody; --off=false ends that")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *conn, fs *pflag.FlagSet, d *alert.Rule, rest []string) error {
		given := fs.Changed
		if given("on") {
			d.On = nil
			for _, text := range on {
				if err := choice("--on", alert.NoticeType(text), alert.NoticeTypes...); err != nil {
					return err
				}
				d.On = append(d.On, alert.NoticeType(text))
			}
		}
		set(given("channel"), channels, &d.Channels)
		set(given("monitor"), monitors, &d.Monitors)
		set(given("task"), tasks, &d.Tasks)
		set(given("schedule"), schedules, &d.Schedules)
		set(given("tag"), tags, &d.Tags)
		set(given("remind-max"), remindMax, &d.RemindMax)
		set(given("quiet"), quiet, &d.Quiet)
		set(given("off"), off, &d.Off)
		set(given("description"), description, &d.Description)
		if len(d.Channels) == 0 {
			return core.InvalidField("--channel", "", "is missing", "whom does it tell? see: belfry channel list")
		}
		if err := duration(given, "group", group, &d.Group); err != nil {
			return err
		}
		if err := duration(given, "remind", remind, &d.Remind); err != nil {
			return err
		}
		return noRest(rest)
	}
}
