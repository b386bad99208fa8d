// Package tasks has the command task. Each noun has a file, and each verb a
// function. They talk to the server through package cli, which also prints
// tables and JSON, and know no other package of commands.
package tasks

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Task is the command task.
func Task(c *cli.CLI) *cobra.Command {
	return cli.Noun("task", "Manage tasks: create, change, show", []string{"tasks"},
		taskCreate(c), taskList(c), taskShow(c), taskUpdate(c), taskTry(c), taskDelete(c), taskLimits(c), taskResume(c))
}

func taskList(c *cli.CLI) *cobra.Command {
	var kind, tag, part string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tasks", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind")
	cmd.Flags().StringVar(&tag, "tag", "", "only with this tag")
	cmd.Flags().StringVar(&part, "part", "", "only those with this in their name")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[task.Task], error) {
			return s.Tasks(ctx, task.Filter{Paging: pg, Namespace: s.NS, Kind: task.Kind(kind), Tag: tag, Part: part})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no tasks yet; try: belfry task create hello --shell 'echo hello'")
				return
			}
			g := c.Grid("NAME", "?TITLE", "KIND", "QUEUE", "TIMEOUT", "TRIES", "WHAT")
			for _, t := range p.Items {
				g.Row(s.Label(t.Namespace, t.Name), cli.Clip(t.Title, 40), string(t.Kind), t.Queue, t.Timeout.String(), strconv.Itoa(t.Retry.MaxAttempts), cli.Clip(define.Summary(t), 60))
			}
			g.Write(w)
		})
	})
	return cmd
}

func taskShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a task", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			t, err := s.Task(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(t, func(w io.Writer) { define.DrawTask(c, w, t) })
		}),
	}
}

func taskLimits(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "limits NAME", Short: "Show how the limits of a task are used now, and by which keys most", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			all, err := s.LimitUse(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return define.EmitLimitUse(c, all, "the task has no limits; try: belfry task update "+args[0]+" --limit key=input.customer,running=5")
		}),
	}
}

func taskResume(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME [KEY]", Short: "Resume a sequence that a failed job stopped, with its next job", Args: cobra.RangeArgs(1, 2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			key := ""
			if len(args) > 1 {
				key = args[1]
			}
			resumed, err := s.ResumeSequence(ctx, ns, args[0], key)
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"resumed": resumed}, func(w io.Writer) {
				if !resumed {
					fmt.Fprintf(w, "sequence %q of task %s was not stopped\n", key, args[0])
					return
				}
				fmt.Fprintf(w, "sequence %q of task %s goes on\n", key, args[0])
			})
		}),
	}
}

func taskDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete tasks; their history stays until retention ends", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "deleted", func(ns, name string) error { return s.DeleteTask(ctx, ns, name) })
		}),
	}
}
