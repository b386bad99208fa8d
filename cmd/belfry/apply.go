package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) applyCmd() *cobra.Command {
	var files []string
	var yes, dry, prune bool
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Make the database as files of definitions say", Args: cobra.NoArgs,
		Long: `Make the database as files of definitions say: queues, calendars, tasks,
schedules, monitors, channels, alert_rules, windows and status_pages. Create what
is missing, change what differs, leave alone what the files do not name. All of
it happens in one transaction, or nothing of it.

The plan is shown first. On a terminal it is then asked for; elsewhere, or with
--yes, it is carried out. --prune also deletes what the namespace has and the
files do not name, but for queues.

Where a file has "(kept secret)" for a secret, as an export does, the one that
is there stays.

A file may hold several YAML documents, and -f may name several files, folders,
and - for standard input.`,
		Example: `  belfry apply -f belfry.yaml
  belfry apply -f definitions/ --prune --dry-run
  belfry export | belfry apply -f - --database sqlite:copy.db`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			defs, err := c.definitions(s, files)
			if err != nil {
				return err
			}
			return c.apply(ctx, s, defs, view.ApplyOptions{Namespace: s.namespace, DryRun: dry, Prune: prune}, yes)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVarP(&files, "file", "f", nil, "file, folder, or - for standard input; may be repeated")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&dry, "dry-run", false, "show the plan and do nothing")
	f.BoolVar(&prune, "prune", false, "delete what the namespace has and the files do not name, but for queues")
	return cmd
}

func (c *cli) definitions(s *conn, files []string) (config.Definitions, error) {
	if _, err := s.one(); err != nil {
		return config.Definitions{}, err
	}
	if len(files) == 0 {
		return config.Definitions{}, core.InvalidField("--file", "", "is missing", "such as -f belfry.yaml, or -f - for standard input")
	}
	srcs, err := config.ReadSources(files, c.stdin)
	if err != nil {
		return config.Definitions{}, err
	}
	return config.ParseManifest(srcs, s.namespace)
}

// apply shows the plan, asks where somebody can answer, and carries it out.
func (c *cli) apply(ctx context.Context, s *conn, defs config.Definitions, o view.ApplyOptions, yes bool) error {
	plan := o
	plan.DryRun = true
	planned, err := s.Apply(ctx, defs.Manifest, plan)
	if err != nil {
		return defs.Locate(err)
	}
	if o.DryRun || changes(planned) == 0 {
		planned.DryRun = o.DryRun
		return c.emit(planned, func(w io.Writer) { c.drawPlan(w, planned) })
	}
	if c.output == "table" {
		c.drawPlan(c.stdout, planned)
	}
	if !yes && isTerminal(c.stdin) && !c.confirm() {
		return core.Errorf(core.Conflict, "not applied").WithHint("--yes does not ask")
	}
	applied, err := s.Apply(ctx, defs.Manifest, o)
	if err != nil {
		return defs.Locate(err)
	}
	return c.emit(applied, func(w io.Writer) { fmt.Fprintf(w, "applied: %s\n", planSummary(applied)) })
}

func (c *cli) confirm() bool {
	fmt.Fprint(c.stderr, "Apply this? [y/N] ")
	line, _ := bufio.NewReader(c.stdin).ReadString('\n') // no answer is a no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func changes(a view.Applied) int {
	n := 0
	for _, ch := range a.Changes {
		if ch.Action != view.ActionKeep {
			n++
		}
	}
	return n
}

func (c *cli) drawPlan(w io.Writer, a view.Applied) {
	paint := c.painter()
	for _, ch := range a.Changes {
		line := fmt.Sprintf("%s %s %s", ch.Action, strings.ReplaceAll(ch.Noun, "_", " "), ch.Name)
		if ch.Namespace != "" && ch.Namespace != core.DefaultNamespace {
			line += " in " + ch.Namespace
		}
		switch ch.Action {
		case view.ActionCreate:
			fmt.Fprintln(w, paint(styleGood, "+ "+line))
		case view.ActionUpdate:
			fmt.Fprintln(w, paint(styleWarn, "~ "+line))
			for _, f := range ch.Fields {
				fmt.Fprintf(w, "    %s\n", f)
			}
		case view.ActionDelete:
			fmt.Fprintln(w, paint(styleBad, "- "+line))
		}
	}
	fmt.Fprintf(w, "plan: %s\n", planSummary(a))
}

func planSummary(a view.Applied) string {
	n := map[view.Action]int{}
	for _, ch := range a.Changes {
		n[ch.Action]++
	}
	if changes(a) == 0 {
		return fmt.Sprintf("no change, %d as they should be", n[view.ActionKeep])
	}
	return fmt.Sprintf("%d to create, %d to update, %d to delete, %d as they should be",
		n[view.ActionCreate], n[view.ActionUpdate], n[view.ActionDelete], n[view.ActionKeep])
}

func (c *cli) diffCmd() *cobra.Command {
	var files []string
	var prune, exitCode bool
	cmd := &cobra.Command{
		Use: "diff -f FILE", Short: "Show what apply would change", Args: cobra.NoArgs,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			defs, err := c.definitions(s, files)
			if err != nil {
				return err
			}
			plan, err := s.Apply(ctx, defs.Manifest, view.ApplyOptions{Namespace: s.namespace, DryRun: true, Prune: prune})
			if err != nil {
				return defs.Locate(err)
			}
			if err := c.emit(plan, func(w io.Writer) { c.drawPlan(w, plan) }); err != nil {
				return err
			}
			if exitCode && changes(plan) > 0 {
				return exitStatus(exitFailed)
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

func (c *cli) exportCmd() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Write all definitions as a file for apply", Args: cobra.NoArgs,
		Long: `Write all queues, and the other definitions of a namespace (* for all), as YAML
for apply, or as JSON with -o json. Secrets are not part of it: "(kept secret)"
stands for each. Applied where the secret is, it stays; elsewhere it has to be
written in first.`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			m, err := s.Export(ctx, s.namespace)
			if err != nil {
				return err
			}
			return c.emit(m, func(w io.Writer) { _ = writeExport(w, m) })
		}),
	}
}

const exportNote = `# Secrets are not part of this file. Where one was, it says "(kept secret)":
# applied to the database that it came from, each stays as it is there. For
# another database, write the secrets in first.
`

// writeExport writes a manifest, with a note when something is missing in it.
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
