package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
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

func jobLink(c *cli.CLI) *cobra.Command {
	var l job.Link
	var valid string
	cmd := &cobra.Command{
		Use: "link ID NAME", Short: "Make an address at which a signal is sent to a job without a token", Args: cobra.ExactArgs(2),
		Long: `Make an address at which one signal is sent to a job without a token. A person sees a
form there; a program posts JSON to it. Anyone who has the address can send the signal
until one has come, it expires, is taken back or the job ends. It is shown this once.`,
		Example: `  belfry job link 1042 approved --for ann@example.com --valid 12h
  curl --json '{"by": "finance"}' ADDRESS`,
	}
	cmd.Flags().StringVar(&l.For, "for", "", "person or system that it is for; kept with the signal")
	cmd.Flags().StringVar(&valid, "valid", "", "how long it is valid, such as 12h; default: 7 days; at most 90 days")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
		id, err := job.IDFromText("ID", args[0])
		if err != nil {
			return err
		}
		if err := cli.Duration(cmd.Flags().Changed, "valid", valid, &l.Valid); err != nil {
			return err
		}
		if err := l.CheckGiven(cmd.Flags().Changed); err != nil {
			return err
		}
		l.Name = args[1]
		made, err := s.MakeSignalLink(ctx, s.NS, id, l)
		if err != nil {
			return err
		}
		return c.Emit(made, func(w io.Writer) { fmt.Fprintln(w, c.Address(s, made.Path)) })
	})
	return cmd
}

func jobUnlink(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "unlink ID [NAME]", Short: "Take back the links to signals of a job, or those of one signal", Args: cobra.RangeArgs(1, 2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return err
			}
			out, err := s.DeleteSignalLinks(ctx, s.NS, id, strings.Join(args[1:], ""))
			if err != nil {
				return err
			}
			return c.Emit(out, func(w io.Writer) { fmt.Fprintf(w, "%s of job %d taken back\n", core.Plural(out.Links, "link"), id) })
		}),
	}
}
