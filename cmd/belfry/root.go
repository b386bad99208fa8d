package main

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/access"
	"github.com/belfry-run/belfry/cmd/belfry/internal/alerts"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cycles"
	"github.com/belfry-run/belfry/cmd/belfry/internal/definitions"
	"github.com/belfry-run/belfry/cmd/belfry/internal/jobs"
	"github.com/belfry-run/belfry/cmd/belfry/internal/monitors"
	"github.com/belfry-run/belfry/cmd/belfry/internal/operate"
	"github.com/belfry-run/belfry/cmd/belfry/internal/programs"
	"github.com/belfry-run/belfry/cmd/belfry/internal/schedules"
	"github.com/belfry-run/belfry/cmd/belfry/internal/serve"
	"github.com/belfry-run/belfry/cmd/belfry/internal/tasks"
	"github.com/belfry-run/belfry/cmd/belfry/internal/workers"
	"github.com/belfry-run/belfry/cmd/belfry/internal/workflows"
)

// Main runs one command line and answers its exit code. It uses nothing of the
// process but its working directory.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	c := cli.New(stdin, stdout, stderr, env)
	c.Version = versionText()
	return c.Run(ctx, root(c), args)
}

// root is the command belfry, with all others below it.
func root(c *cli.CLI) *cobra.Command {
	version := operate.Version(c)
	var showVersion bool
	cmd := &cobra.Command{
		Use:   "belfry",
		Short: "Belfry runs things on time",
		Long: `Belfry runs things on time: tasks, schedules and durable jobs, on a SQLite
file or on PostgreSQL.

Start with:

  belfry serve --allow-commands

and, in another terminal:

  belfry task create hello --shell 'echo hello from $(hostname)'
  belfry schedule create every-5s --task hello --every 5s
  belfry job list --watch

Every verb talks to the server at --server, or opens the SQLite file itself
when no server runs.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if showVersion {
				return version.RunE(version, args)
			}
			return cmd.Help()
		},
	}
	cmd.Flags().BoolVar(&showVersion, "version", false, "show the version, as belfry version does")
	c.Attach(cmd)
	cmd.AddGroup(
		&cobra.Group{ID: "run", Title: "Run Belfry:"},
		&cobra.Group{ID: "define", Title: "Define what runs and when:"},
		&cobra.Group{ID: "watch", Title: "Monitor and notify:"},
		&cobra.Group{ID: "see", Title: "Inspect and control:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
	)
	add := func(group string, subs ...*cobra.Command) {
		for _, sub := range subs {
			sub.GroupID = group
			cmd.AddCommand(sub)
		}
	}
	add("run", serve.Serve(c), workers.Worker(c), jobs.Run(c))
	schedule := schedules.Schedule(c)
	schedule.AddCommand(definitions.ScheduleCheck(c), definitions.ScheduleImport(c))
	add("define", tasks.Task(c), programs.Program(c), programs.Secret(c), schedule, cycles.Cycle(c), workflows.Workflow(c), schedules.Calendar(c), definitions.Apply(c), definitions.Diff(c), definitions.Export(c), definitions.Import(c))
	add("watch", monitors.Monitor(c), monitors.Incident(c), alerts.Channel(c), alerts.Alert(c), alerts.Hook(c), monitors.Window(c), monitors.StatusPage(c), monitors.Announcement(c), monitors.Subscriber(c))
	add("see", jobs.Job(c), jobs.Queue(c), schedules.Backfill(c), programs.Artifact(c), access.Audit(c))
	add("operate", operate.Doctor(c), operate.CheckHistory(c), access.Token(c), access.Namespace(c), operate.Broker(c), operate.Config(c), operate.Migrate(c), version, operate.Completion(c))
	cmd.SetHelpCommandGroupID("operate")
	cli.Help(cmd)
	complete(c, cmd)
	return cmd
}

// version is set by the Makefile with -ldflags.
var version = ""

// versionText is the name and version of this program.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
