package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/job"
)

func jobWait(c *cli.CLI) *cobra.Command {
	var w wait.Flags
	cmd := &cobra.Command{
		Use: "wait ID...", Short: "Wait for jobs to end", Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ids, err := jobIDs(args)
			if err != nil {
				return err
			}
			var jobs []job.Job
			for _, id := range ids {
				j, err := s.Job(ctx, s.NS, id)
				if err != nil {
					return err
				}
				jobs = append(jobs, j)
			}
			return wait.For(ctx, c, s, jobs, w.Timeout)
		}),
	}
	cmd.Flags().Var(&w.Timeout, "wait-timeout", "give up waiting after this long; the jobs go on")
	return cmd
}
