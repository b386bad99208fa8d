package jobs

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/job"
)

func jobSignal(c *cli.CLI) *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use: "signal ID NAME", Short: "Send a signal to a job whose step waits for it", Args: cobra.ExactArgs(2),
		Long: `Send a signal to a job. It ends the wait of the step of its name, and the job starts
again at once. One that no step waits for yet is kept. Of two with one name the first
counts. Runs of workflows have signals of their own: belfry workflow signal.`,
		Example: `  belfry job signal 1042 approved --input '{"by": "finance"}'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			sig := job.Signal{Name: args[1]}
			if err := cli.JSONText(input != "", input, &sig.Input); err != nil {
				return err
			}
			sent, err := s.SignalJob(ctx, s.NS, id, sig)
			if err != nil {
				return err
			}
			return c.Emit(sent, func(w io.Writer) {
				switch {
				case sent.Existing:
					fmt.Fprintf(w, "not sent: the signal %s that %s sent at %s counts\n", sig.Name, sent.By, cli.Stamp(sent.At))
				case sent.Taken:
					fmt.Fprintf(w, "sent: job %d goes on\n", id)
				default:
					fmt.Fprintln(w, "sent: kept until a step waits for it")
				}
			})
		}),
	}
	cmd.Flags().StringVar(&input, "input", "", "what it brings, as JSON of at most 64 KiB; default: null")
	return cmd
}
