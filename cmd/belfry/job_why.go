package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/job"
)

func (c *cli) jobWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Say why a job is where it is, and what to do about it", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			y, err := s.Why(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			return c.emit(y, func(w io.Writer) { c.drawWhy(w, y) })
		}),
	}
}

func (c *cli) drawWhy(w io.Writer, y job.Why) {
	fmt.Fprintln(w, y.Summary)
	paint := c.painter()
	for _, k := range y.Checks {
		mark := paint(styleGood, "ok")
		if !k.OK {
			mark = paint(styleBad, "no")
		}
		fmt.Fprintf(w, "  %s  %s", mark, k.Name)
		if k.Detail != "" {
			fmt.Fprintf(w, ": %s", k.Detail)
		}
		fmt.Fprintln(w)
		if !k.OK && k.Fix != "" {
			fmt.Fprintf(w, "      %s\n", k.Fix)
		}
	}
	if len(y.Workers) > 0 {
		fmt.Fprintf(w, "could run on: %s\n", strings.Join(y.Workers, ", "))
	}
	if y.Next != "" {
		fmt.Fprintf(w, "try: %s\n", y.Next)
	}
}
