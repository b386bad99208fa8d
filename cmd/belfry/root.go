package main

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Main runs one command line and answers its exit code. It uses nothing of the
// process but its working directory.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	c := newCLI(stdin, stdout, stderr, env)
	c.version = versionText()
	return c.run(ctx, root(c), args)
}

// root is the command belfry, with all others below it.
func root(c *cli) *cobra.Command {
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

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.attach(cmd)
	cmd.AddGroup(
		&cobra.Group{ID: "run", Title: "Run Belfry:"},
		&cobra.Group{ID: "define", Title: "Say what runs and when:"},
		&cobra.Group{ID: "watch", Title: "Watch, and tell people:"},
		&cobra.Group{ID: "see", Title: "See and steer what happens:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
	)
	add := func(group string, subs ...*cobra.Command) {
		for _, sub := range subs {
			sub.GroupID = group
			cmd.AddCommand(sub)
		}
	}
	add("run", c.serveCmd(), c.workerCmd(), c.runCmd())
	schedule := c.scheduleCmd()
	schedule.AddCommand(c.scheduleCheck(), c.scheduleImport())
	add("define", c.taskCmd(), c.programCmd(), c.secretCmd(), schedule, c.cycleCmd(), c.calendarCmd(), c.applyCmd(), c.diffCmd(), c.exportCmd(), c.importCmd())
	add("watch", c.monitorCmd(), c.incidentCmd(), c.channelCmd(), c.alertCmd(), c.windowCmd(), c.statusPageCmd())
	add("see", c.jobCmd(), c.queueCmd(), c.backfillCmd(), c.artifactCmd(), c.auditCmd())
	add("operate", c.doctorCmd(), c.tokenCmd(), c.namespaceCmd(), c.brokerCmd(), c.configCmd(), c.migrateCmd(), c.versionCmd(), c.completionCmd())
	cmd.SetHelpCommandGroupID("operate")
	return cmd
}

// version is set by the Makefile with -ldflags.
var version = ""

// versionText is what this program calls itself.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
