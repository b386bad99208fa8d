// Package definitions has the commands that read and write files of definitions:
// apply, diff, export and import, and schedule check and import.
package definitions

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Apply is the command apply.
func Apply(c *cli.CLI) *cobra.Command {
	var files []string
	var yes, dry, prune bool
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Apply files of definitions: create what is missing, change what differs", Args: noFiles,
		Long: `Make the database as files of definitions say: queues, calendars, tasks,
schedules, monitors, channels, alert_rules, hooks, windows and status_pages. Create
what is missing, change what differs, leave alone what the files do not name. All
of it happens in one transaction, or nothing of it.

The plan is shown first. On a terminal it is then asked for; elsewhere, or with
--yes, it is carried out. --prune also deletes what the namespace has and the
files do not name, but for queues; files that name nothing else are refused then.

Where a file has "(kept secret)" for a secret, as an export does, the one that
is there stays.

A file may hold several YAML documents, and -f may name several files, folders,
and - for standard input.`,
		Example: `  belfry apply -f belfry.yaml
  belfry apply -f definitions/ --prune --dry-run
  belfry export | belfry apply -f - --database sqlite:copy.db`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			defs, err := definitions(c, s, files)
			if err != nil {
				return err
			}
			return apply(ctx, c, s, defs, view.ApplyOptions{Namespace: s.NS, DryRun: dry, Prune: prune}, asking(c, yes))
		}),
	}
	f := cmd.Flags()
	f.StringArrayVarP(&files, "file", "f", nil, "file, folder, or - for standard input; may be repeated")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&dry, "dry-run", false, "show the plan and do nothing")
	f.BoolVar(&prune, "prune", false, "delete what the namespace has and the files do not name, but for queues")
	return cmd
}

func definitions(c *cli.CLI, s *cli.Conn, files []string) (config.Definitions, error) {
	if _, err := s.OneNamespace(); err != nil {
		return config.Definitions{}, err
	}
	if len(files) == 0 {
		return config.Definitions{}, core.InvalidField("--file", "", "is missing", "such as -f belfry.yaml, or -f - for standard input")
	}
	srcs, err := config.ReadSources(files, c.Stdin)
	if err != nil {
		return config.Definitions{}, err
	}
	return config.ParseManifest(srcs, s.NS)
}

// noFiles refuses a file argument without its flag, with a hint.
func noFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return core.InvalidField("FILE", args[0], "must be named with -f", cmd.CommandPath()+" -f "+args[0])
}

// apply shows the plan, asks for confirmation at a terminal, and applies it. If the plan has changed since the confirmation, it
// is refused.
func apply(ctx context.Context, c *cli.CLI, s *cli.Conn, defs config.Definitions, o view.ApplyOptions, ask func(*cli.CLI) bool) error {
	if err := defs.Manifest.CheckPrune(o); err != nil {
		return err
	}
	plan := o
	plan.DryRun = true
	planned, err := s.Apply(ctx, defs.Manifest, plan)
	if err != nil {
		return defs.Locate(err)
	}
	if o.DryRun || define.Changes(planned) == 0 {
		planned.DryRun = o.DryRun
		return c.Emit(planned, func(w io.Writer) { drawPlan(c, w, planned) })
	}
	if c.Output == "table" {
		drawPlan(c, c.Stdout, planned)
	}
	if ask != nil {
		if !ask(c) {
			return core.Errorf(core.Conflict, "not applied").WithHint("--yes does not ask")
		}
		now, err := s.Apply(ctx, defs.Manifest, plan)
		if err != nil {
			return defs.Locate(err)
		}
		if !reflect.DeepEqual(now.Changes, planned.Changes) {
			return core.Errorf(core.Conflict, "not applied: the plan has changed since it was shown").WithHint("apply again, and look at the new plan")
		}
	}
	applied, err := s.Apply(ctx, defs.Manifest, o)
	if err != nil {
		return defs.Locate(err)
	}
	return c.Emit(applied, func(w io.Writer) { fmt.Fprintf(w, "applied: %s\n", define.PlanSummary(applied)) })
}

// asking returns the function that asks for confirmation, or nil without a terminal.
func asking(c *cli.CLI, yes bool) func(*cli.CLI) bool {
	if yes || !cli.IsTerminal(c.Stdin) {
		return nil
	}
	return confirm
}

func confirm(c *cli.CLI) bool {
	fmt.Fprint(c.Stderr, "Apply this? [y/N] ")
	line, _ := bufio.NewReader(c.Stdin).ReadString('\n') // no answer means no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func drawPlan(c *cli.CLI, w io.Writer, a view.Applied) {
	paint := c.Painter()
	for _, ch := range a.Changes {
		line := fmt.Sprintf("%s %s %s", ch.Action, strings.ReplaceAll(ch.Noun, "_", " "), ch.Name)
		if ch.Namespace != "" && ch.Namespace != core.DefaultNamespace {
			line += " in " + ch.Namespace
		}
		switch ch.Action {
		case view.ActionCreate:
			fmt.Fprintln(w, paint(cli.StyleGood, "+ "+line))
		case view.ActionUpdate:
			fmt.Fprintln(w, paint(cli.StyleWarn, "~ "+line))
			for _, f := range ch.Fields {
				fmt.Fprintf(w, "    %s\n", f)
			}
		case view.ActionDelete:
			fmt.Fprintln(w, paint(cli.StyleBad, "- "+line))
		}
	}
	fmt.Fprintf(w, "plan: %s\n", define.PlanSummary(a))
}

// Diff is the command diff.
func Diff(c *cli.CLI) *cobra.Command {
	var files []string
	var prune, exitCode bool
	cmd := &cobra.Command{
		Use: "diff -f FILE", Short: "Show what apply would change", Args: noFiles,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			defs, err := definitions(c, s, files)
			if err != nil {
				return err
			}
			o := view.ApplyOptions{Namespace: s.NS, DryRun: true, Prune: prune}
			if err := defs.Manifest.CheckPrune(o); err != nil {
				return err
			}
			plan, err := s.Apply(ctx, defs.Manifest, o)
			if err != nil {
				return defs.Locate(err)
			}
			if err := c.Emit(plan, func(w io.Writer) { drawPlan(c, w, plan) }); err != nil {
				return err
			}
			if exitCode && define.Changes(plan) > 0 {
				return cli.ExitStatus(cli.ExitFailed)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringArrayVarP(&files, "file", "f", nil, "file, folder, or - for standard input; may be repeated")
	f.BoolVar(&prune, "prune", false, "as if apply were called with --prune")
	f.BoolVar(&exitCode, "exit-code", false, "exit 1 when there is a difference")
	return cmd
}

// Export is the command export.
func Export(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Write all definitions as a file for apply", Args: cobra.NoArgs,
		Long: `Write all queues, and the other definitions of a namespace (* for all), as YAML
for apply, or as JSON with -o json. Secrets are not part of it: "(kept secret)"
stands for each. Applied where the secret is, it stays; elsewhere it has to be
written in first.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			m, err := s.Export(ctx, s.NS)
			if err != nil {
				return err
			}
			return c.Emit(m, func(w io.Writer) { _ = writeExport(w, m) })
		}),
	}
}

const exportNote = `# Secrets are not part of this file. Where one was, it says "(kept secret)":
# applied to the database that it came from, each stays as it is there. For
# another database, write the secrets in first.
`

// writeExport writes a manifest, with a note if it is incomplete.
func writeExport(w io.Writer, m view.Manifest) error {
	var b bytes.Buffer
	if err := config.WriteYAML(&b, m); err != nil {
		return err
	}
	if bytes.Contains(b.Bytes(), []byte(core.Redacted)) {
		if _, err := io.WriteString(w, exportNote); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
