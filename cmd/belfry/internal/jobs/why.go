package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/job"
)

func jobWhy(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Say why a job is where it is, and what to do about it", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			y, err := s.Why(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(y, func(w io.Writer) { drawWhy(c, w, y) })
		}),
	}
}

func drawWhy(c *cli.CLI, w io.Writer, y job.Why) {
	fmt.Fprintln(w, y.Summary)
	paint := c.Painter()
	for _, k := range y.Checks {
		mark := paint(cli.StyleGood, "ok")
		if !k.OK {
			mark = paint(cli.StyleBad, "no")
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
		others := ""
		if y.More > 0 {
			others = fmt.Sprintf(" and %d more: belfry worker list", y.More)
		}
		fmt.Fprintf(w, "could run on: %s%s\n", strings.Join(y.Workers, ", "), others)
	}
	if y.Next != "" {
		fmt.Fprintf(w, "try: %s\n", y.Next)
	}
}
