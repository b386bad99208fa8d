package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// listenRetry is the pause after a server that did not answer.
const listenRetry = 5 * time.Second

func hookListen(c *cli.CLI) *cobra.Command {
	var after string
	var peek, once bool
	cmd := &cobra.Command{
		Use: "listen NAME", Aliases: []string{"pull"}, Short: "Print the events of a pulled hook as they come, and acknowledge them", Args: cobra.ExactArgs(1),
		Long: `Print the events of a pulled hook as they come, one a line as JSON, in one order.
What was printed is acknowledged: the next call begins after it. An event may be
printed twice when a call is interrupted; its id is the same.

Events are kept for 3 days. A line on standard error says how many were missed.`,
		Example: `  belfry hook set audit --pull --on 'job.failed,monitor.*'
  belfry hook listen audit | while read -r event; do echo "$event" >> events.jsonl; done
  belfry hook listen audit --once --peek`,
	}
	cmd.Flags().StringVar(&after, "after", "", "begin after this cursor, or with 0 at the oldest event that is kept; default: after what was acknowledged")
	cmd.Flags().BoolVar(&peek, "peek", false, "acknowledge nothing")
	cmd.Flags().BoolVar(&once, "once", false, "end when no event waits")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		wait := job.MaxClaimWait.D()
		if once {
			wait = 0
		}
		for connected := false; ; {
			p, err := s.PullEvents(ctx, ns, args[0], after, wait)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil && connected && core.CodeOf(err) == core.Unavailable:
				fmt.Fprintf(c.Stderr, "%v; trying again\n", err)
				if wire.Pause(ctx, listenRetry) != nil {
					return context.Cause(ctx)
				}
				continue
			case err != nil:
				return err
			}
			connected = true
			if p.Missed > 0 {
				fmt.Fprintf(c.Stderr, "missed %d events, which are no longer kept\n", p.Missed)
			}
			if err := printEvents(c.Stdout, p.Events); err != nil {
				return err
			}
			if !peek && len(p.Events) > 0 {
				if _, err := s.AckEvents(ctx, ns, args[0], p.Next); err != nil {
					return err
				}
			}
			if after = p.Next; once && len(p.Events) == 0 {
				return nil
			}
		}
	})
	return cmd
}

// printEvents writes each event on a line of its own.
func printEvents(w io.Writer, events []hook.Numbered) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, ev := range events {
		if err := e.Encode(ev); err != nil {
			return err
		}
	}
	return nil
}
