package monitors

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// monitorFile is a monitor in a file. Output of show can be saved again: fields
// that only Belfry sets are ignored.
type monitorFile struct {
	monitor.Monitor
	Status  monitor.Status      `json:"status" readOnly:"true"`
	State   monitor.State       `json:"state" readOnly:"true"`
	NextAt  time.Time           `json:"next_at" readOnly:"true"`
	Beat    string              `json:"beat" readOnly:"true"`
	BeatURL string              `json:"beat_url" readOnly:"true"`
	Uptime  []view.UptimeWindow `json:"uptime" readOnly:"true"`
	Outage  *monitor.Incident   `json:"outage" readOnly:"true"`
}

// monitorFlags are the fields of a monitor that have a flag. Only flags that
// were given change anything, so that create and update share them.
type monitorFlags struct {
	checkFlags
	file, title, description, every, zone string
	cron, tags, dependsOn                 []string
	within, blackout                      []string
	failures, passes, staleAfter          int
	failingFor, passingFor, retryDue      string
	noFlap, noSlow, public, muted         bool
}

func (f *monitorFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	f.checkFlags.add(fs)
	fs.StringVar(&f.every, "every", "", "time between two checks, or two calls of a heartbeat; default: 1m, or 1d with --domain")
	fs.StringArrayVar(&f.cron, "cron", nil, "instead of --every: cron rule, such as '0 3 * * *'; may be repeated")
	fs.StringVar(&f.zone, "zone", "", "time zone of --cron; default: UTC")
	fs.StringArrayVar(&f.within, "only-within", nil, "check only during this calendar; may be repeated")
	fs.StringArrayVar(&f.blackout, "blackout", nil, "calendar during which it is not checked; may be repeated")
	fs.IntVar(&f.failures, "failures", 0, "failed checks in a row until it counts as down; default: 2")
	fs.StringVar(&f.failingFor, "failing-for", "", "time of failing until it counts as down, beside or instead of --failures")
	fs.StringVar(&f.retryDue, "confirm-after", "", "how soon a failure is looked at again; negative: only when it is due; default: a third of --every, at most 20s")
	fs.IntVar(&f.passes, "passes", 0, "good checks in a row until it counts as up again; default: 2")
	fs.StringVar(&f.passingFor, "passing-for", "", "time of passing until it counts as up again, beside or instead of --passes")
	fs.IntVar(&f.staleAfter, "stale-after", 0, "checks in a row that could not be made until it is stale; default: 3")
	fs.BoolVar(&f.noFlap, "no-flapping", false, "do not hold alerts back when it changes too often")
	fs.BoolVar(&f.noSlow, "no-slow", false, "do not compare latencies with the usual ones")
	fs.StringArrayVar(&f.dependsOn, "depends-on", nil, "monitor: while it is down, no notification is sent for this one; may be repeated")
	fs.BoolVar(&f.public, "public", false, "everyone can see its badges")
	fs.BoolVar(&f.muted, "muted", false, "send no notifications")
	fs.StringSliceVar(&f.tags, "tag", nil, "tags, for filters and alert rules")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
}

func (f *monitorFlags) apply(c *cli.CLI, fs *pflag.FlagSet, m *monitor.Monitor) error {
	given := fs.Changed
	if err := f.applyCheck(c, fs, m); err != nil {
		return err
	}
	cli.Set(given("title"), f.title, &m.Title)
	cli.Set(given("description"), f.description, &m.Description)
	cli.Set(given("tag"), f.tags, &m.Tags)
	cli.Set(given("zone"), f.zone, &m.Zone)
	cli.Set(given("only-within"), f.within, &m.Within)
	cli.Set(given("blackout"), f.blackout, &m.Blackout)
	cli.Set(given("failures"), f.failures, &m.Confirm.Failures)
	cli.Set(given("passes"), f.passes, &m.Recover.Passes)
	cli.Set(given("stale-after"), f.staleAfter, &m.StaleAfter)
	cli.Set(given("no-flapping"), f.noFlap, &m.Flap.Off)
	cli.Set(given("no-slow"), f.noSlow, &m.Slow.Off)
	cli.Set(given("depends-on"), f.dependsOn, &m.DependsOn)
	cli.Set(given("public"), f.public, &m.Public)
	cli.Set(given("muted"), f.muted, &m.Muted)
	for _, d := range []struct {
		name, text string
		to         *core.Duration
	}{
		{"failing-for", f.failingFor, &m.Confirm.For}, {"confirm-after", f.retryDue, &m.Confirm.Retry}, {"passing-for", f.passingFor, &m.Recover.For},
	} {
		if err := cli.Duration(given, d.name, d.text, d.to); err != nil {
			return err
		}
	}
	return f.applyTimes(given, m)
}

// applyTimes replaces all times of a monitor: rules replace an interval, and an
// interval replaces rules.
func (f *monitorFlags) applyTimes(given func(string) bool, m *monitor.Monitor) error {
	switch {
	case given("every") && given("cron"):
		return core.InvalidField("--every", f.every, "cannot stand beside --cron", "keep one of them")
	case given("every"):
		m.Rules = nil
		if err := cli.Duration(given, "every", f.every, &m.Every); err != nil || m.Every > 0 {
			return err
		}
		return core.InvalidField("--every", f.every, "is no time between two checks", "such as 30s")
	case given("cron"):
		m.Every, m.Rules = 0, nil
		for _, text := range f.cron {
			m.Rules = append(m.Rules, schedule.Rule{Cron: text})
		}
	}
	return nil
}

// monitorFrom builds a monitor from a file, a name and flags.
func monitorFrom(c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *monitorFlags, args []string) (monitor.Monitor, error) {
	var read monitorFile
	if err := c.Draft(s, f.file, "monitor", args, &read, &read.Name, &read.Namespace); err != nil {
		return read.Monitor, err
	}
	m := read.Monitor
	if m.Name == "" {
		return m, core.InvalidField("NAME", "", "is missing", "write: belfry monitor create NAME --url https://example.com")
	}
	return m, f.apply(c, cmd.Flags(), &m)
}

func monitorCreate(c *cli.CLI) *cobra.Command {
	var f monitorFlags
	cmd := &cobra.Command{
		Use: "create NAME --url URL|--tcp HOST:PORT|--heartbeat|... [flags]", Short: "Create a monitor", Args: cobra.MaximumNArgs(1),
		Long: `Create a monitor. Exactly one flag says its kind and its target; the help of the
others names the kinds that they belong to. What no flag says, such as the hosts
of a certificate's authorities, is said in a file.

Try a check before it is saved with: belfry monitor try --url URL`,
		Example: `  belfry monitor create site --url https://example.com --every 30s --expect-body 'Welcome' --warning "latency < duration('800ms')"
  belfry monitor create db --tcp db.example.com:5432 --failures 3 --tag infra
  belfry monitor create mx --dns example.com --record MX --answer '10 mail.example.com.'
  belfry monitor create cert --tls example.com --warn-days 30 --every 6h
  belfry monitor create prices --page https://example.com/prices --css '#list' --ignore-css .ad --every 10m
  belfry monitor create backup --heartbeat --cron '0 3 * * *' --zone Europe/Sofia --grace 30m
  belfry monitor create -f monitor.yaml`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			m, err := monitorFrom(c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			v, err := s.CreateMonitor(ctx, m)
			if err != nil {
				return err
			}
			return monitorSaved(ctx, c, s, v, "created")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

// monitorSaved shows a saved monitor and its next check.
func monitorSaved(ctx context.Context, c *cli.CLI, s *cli.Conn, v view.MonitorView, done string) error {
	err := c.Emit(shownMonitor{MonitorView: v, BeatURL: beatURL(c, s, v)}, func(w io.Writer) {
		fmt.Fprintf(w, "monitor %s %s, %s, %s\n", v.Name, done, monitorTarget(v.Monitor), monitorTimes(v, s.Now))
		if url := beatURL(c, s, v); url != "" {
			fmt.Fprintln(w, "call: "+curl(url))
		}
	})
	if err == nil && v.Heartbeat == nil {
		t := v.Monitor.Task()
		t.Name = v.Name
		define.AdviseWorkers(ctx, c, s, t)
	}
	return err
}

func monitorUpdate(c *cli.CLI) *cobra.Command {
	var f monitorFlags
	cmd := &cobra.Command{
		Use: "update NAME [flags]", Aliases: []string{"edit", "set"}, Short: "Change a monitor; what no flag names stays as it is", Args: cobra.MaximumNArgs(1),
		Long: `Change a monitor. What no flag names stays as it is, and so does its verdict,
unless it is pointed at another target. With --file the definition as a whole is
replaced; a secret that stands there as show prints it stays.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			m, err := monitorToUpdate(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			v, err := s.UpdateMonitor(ctx, m)
			if err != nil {
				return err
			}
			return monitorSaved(ctx, c, s, v, "updated")
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func monitorToUpdate(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *monitorFlags, args []string) (monitor.Monitor, error) {
	if f.file != "" || len(args) == 0 {
		return monitorFrom(c, s, cmd, f, args)
	}
	ns, err := s.OneNamespace()
	if err != nil {
		return monitor.Monitor{}, err
	}
	v, err := s.Monitor(ctx, ns, args[0])
	if err != nil {
		return v.Monitor, err
	}
	return v.Monitor, f.apply(c, cmd.Flags(), &v.Monitor)
}
