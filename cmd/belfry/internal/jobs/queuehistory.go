package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func queueHistory(c *cli.CLI) *cobra.Command {
	var within, step string
	cmd := &cobra.Command{
		Use: "history NAME", Aliases: []string{"samples"}, Short: "Show how many jobs waited in a queue over time", Args: cobra.ExactArgs(1),
		Long: `Show how many jobs of a queue waited ready and ran, and how long the oldest had
waited: the most within each step. A node takes a sample every minute. Minutes
are kept for 48 hours, hours for 35 days.`,
		Example: `belfry queue history default
belfry queue history default --within 7d --step 1h --output json`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			var span, each core.Duration
			given := cmd.Flags().Changed
			if err := errors.Join(cli.Duration(given, "within", within, &span), cli.Duration(given, "step", step, &each)); err != nil {
				return err
			}
			if _, err := s.Queue(ctx, args[0]); err != nil {
				return err
			}
			all, err := s.QueueSamples(ctx, job.SampleQuery{Namespace: s.NS, Queues: args, Within: span.D(), Step: each.D()})
			if err != nil {
				return err
			}
			return c.Emit(all, func(w io.Writer) {
				g := c.Grid("FROM", "READY", "OLDEST", "RUNNING")
				for _, q := range all.Items {
					for _, p := range q.Points {
						ready := strconv.FormatInt(p.Ready, 10)
						if p.More {
							ready = "over " + ready
						}
						g.Row(cli.Stamp(p.At), ready, p.Oldest.String(), strconv.FormatInt(p.Running, 10))
					}
				}
				g.Write(w)
				if len(all.Items) > 0 && len(all.Items[0].Points) == 0 {
					fmt.Fprintln(c.Stderr, "no sample was taken in this time")
				}
			})
		}),
	}
	cmd.Flags().StringVar(&within, "within", "", "how far back; default: 3h; at most 35d")
	cmd.Flags().StringVar(&step, "step", "", "between rows, in whole minutes; default: one that gives at most 180 rows")
	return cmd
}
