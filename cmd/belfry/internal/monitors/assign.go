package monitors

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/monitor"
)

func incidentAssign(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "assign ID [PERSON]", Short: "Assign an incident to a person; by default to yourself", Args: cobra.RangeArgs(1, 2),
		Example: `  belfry incident assign 12
  belfry incident assign 12 'Ann Lee'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			to := ""
			if len(args) == 2 {
				to = args[1]
			}
			i, err := s.AssignIncident(ctx, s.NS, id, to)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) {
				fmt.Fprintf(w, "incident %d of %s is assigned to %s\n", i.ID, i.Monitor, i.Assignee())
			})
		}),
	}
}

func incidentUnassign(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "unassign ID", Short: "Take the assignment of an incident back", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			i, err := s.UnassignIncident(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) { fmt.Fprintf(w, "incident %d of %s is assigned to no one\n", i.ID, i.Monitor) })
		}),
	}
}

func assignment(i monitor.Incident, now time.Time) string {
	if i.Assigned == nil {
		return ""
	}
	return "to " + i.Assigned.To + " by " + i.Assigned.By + ", " + cli.When(i.Assigned.At, now)
}
