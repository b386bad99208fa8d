package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/task"
)

func (c *cli) taskCmd() *cobra.Command {
	return noun("task", "What to run: create, change, show", []string{"tasks"},
		c.taskCreate(), c.taskList(), c.taskShow(), c.taskUpdate(), c.taskDelete())
}

func (c *cli) taskList() *cobra.Command {
	var kind, tag, part string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tasks", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind")
	cmd.Flags().StringVar(&tag, "tag", "", "only with this tag")
	cmd.Flags().StringVar(&part, "part", "", "only those with this in their name")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[task.Task], error) {
			return s.Tasks(ctx, task.Filter{Paging: pg, Namespace: s.namespace, Kind: task.Kind(kind), Tag: tag, Part: part})
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no tasks yet; try: belfry task create hello --shell 'echo hello'")
				return
			}
			g := c.grid("NAME", "KIND", "QUEUE", "TIMEOUT", "TRIES", "WHAT")
			for _, t := range p.Items {
				g.row(s.label(t.Namespace, t.Name), string(t.Kind), t.Queue, t.Timeout.String(), strconv.Itoa(t.Retry.MaxAttempts), clip(what(t), 60))
			}
			g.write(w)
		})
	})
	return cmd
}

// what is what a task does, in a line.
func what(t task.Task) string {
	switch {
	case t.Command != nil && t.Command.Shell != "":
		return t.Command.Shell
	case t.Command != nil:
		return strings.Join(t.Command.Argv, " ")
	case t.HTTP != nil:
		return strings.TrimSpace(t.HTTP.Method + " " + t.HTTP.URL)
	case t.Page != nil:
		return "page " + strings.TrimSpace(t.Page.URL+" "+t.Page.CSS+t.Page.XPath+t.Page.JSONPath)
	case t.TCP != nil:
		return "tcp " + t.TCP.Address
	case t.DNS != nil:
		return "dns " + strings.TrimSpace(t.DNS.Type+" "+t.DNS.Name)
	case t.TLS != nil:
		return "tls " + t.TLS.Address
	case t.Ping != nil:
		return "ping " + t.Ping.Host
	case t.GRPC != nil:
		return "grpc " + strings.TrimSpace(t.GRPC.Address+" "+t.GRPC.Service)
	case t.WebSocket != nil:
		return t.WebSocket.URL
	case t.Program != nil:
		return strings.Join(append([]string{t.Program.SHA256[:min(len(t.Program.SHA256), 12)]}, t.Program.Args...), " ")
	case t.Cycle != nil:
		names := make([]string, len(t.Cycle.Members))
		for i, m := range t.Cycle.Members {
			names[i] = m.Task
		}
		return strings.Join(names, ", ")
	}
	return t.Description
}

func (c *cli) taskShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a task", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			t, err := s.Task(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.emit(t, func(w io.Writer) { c.drawTask(w, t) })
		}),
	}
}

func (c *cli) drawTask(w io.Writer, t task.Task) {
	pairs := []string{
		"name", t.Name, "namespace", t.Namespace, "kind", string(t.Kind), "description", t.Description,
		"queue", t.Queue, "priority", strconv.Itoa(t.Priority), "timeout", t.Timeout.String(),
		"retry", fmt.Sprintf("%d attempts, %s from %s to %s, when lost: %s",
			t.Retry.MaxAttempts, t.Retry.Backoff, t.Retry.Delay, t.Retry.MaxDelay, t.Retry.OnLost),
		"needs", entries(t.Needs.Labels, "="), "tags", strings.Join(t.Tags, ", "), "input", string(plainjson.Unescape(t.Input)),
	}
	if cmd := t.Command; cmd != nil {
		pairs = append(pairs, "shell", cmd.Shell, "argv", strings.Join(cmd.Argv, " "), "dir", cmd.Dir,
			"env", entries(cmd.Env, "="), "stdin", cmd.Stdin, "kill grace", cmd.KillGrace.String())
	}
	if h := t.HTTP; h != nil {
		pairs = append(pairs, "request", what(t), "headers", entries(h.Headers, ": "), "body", h.Body,
			"expects", strings.Join(h.ExpectStatus, ", "), "body must match", h.ExpectBody)
	}
	if t.Program != nil {
		pairs = append(pairs, programPairs(t)...)
	}
	if t.Command == nil && t.HTTP == nil && t.Program == nil && t.Kind != task.KindFunc {
		name := "target"
		if t.Kind == task.KindCycle {
			name = "members"
		}
		pairs = append(pairs, name, what(t))
	}
	pairs = append(pairs, "conditions", strings.Join(t.Conditions, "\n"), "warnings", strings.Join(t.Warnings, "\n"),
		"generation", strconv.FormatInt(t.Generation, 10), "created", stamp(t.CreatedAt), "updated", stamp(t.UpdatedAt))
	c.pairs(w, pairs...)
}

func (c *cli) taskDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete tasks; their history stays until retention ends", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return c.each(s, args, "deleted", func(ns, name string) error { return s.DeleteTask(ctx, ns, name) })
		}),
	}
}
