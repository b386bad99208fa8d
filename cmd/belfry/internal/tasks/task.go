// Package tasks has the command task.
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
	return cli.Noun("task", "What to run: create, change, show", []string{"tasks"},
		taskCreate(c), taskList(c), taskShow(c), taskUpdate(c), taskDelete(c))
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
			g := c.Grid("NAME", "KIND", "QUEUE", "TIMEOUT", "TRIES", "WHAT")
			for _, t := range p.Items {
				g.Row(s.Label(t.Namespace, t.Name), string(t.Kind), t.Queue, t.Timeout.String(), strconv.Itoa(t.Retry.MaxAttempts), cli.Clip(define.Summary(t), 60))
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

func taskDelete(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete tasks; their history stays until retention ends", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			return c.Each(s, args, "deleted", func(ns, name string) error { return s.DeleteTask(ctx, ns, name) })
		}),
	}
}
