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

// listenRetry is the pause after a failed call of the server.
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
		l := listener{events: s, out: c.Stdout, notes: c.Stderr, peek: peek, once: once, retry: listenRetry}
		return l.listen(ctx, ns, args[0], after)
	})
	return cmd
}

// pulledEvents are the events of pulled hooks.
type pulledEvents interface {
	PullEvents(ctx context.Context, namespace, name, after string, wait time.Duration) (hook.Pulled, error)
	AckEvents(ctx context.Context, namespace, name, cursor string) (hook.Standing, error)
}

// listener prints events, and notes about the connection.
type listener struct {
	events     pulledEvents
	out, notes io.Writer
	peek, once bool
	retry      time.Duration
}

func (l listener) listen(ctx context.Context, ns, name, after string) error {
	var wait time.Duration // the first call does not wait, so that its answer tells at once that the server is there
	for connected := false; ; connected = true {
		var p hook.Pulled
		if err := l.again(ctx, connected, func() (err error) {
			p, err = l.events.PullEvents(ctx, ns, name, after, wait)
			return err
		}); err != nil {
			return err
		}
		if p.Missed > 0 {
			fmt.Fprintf(l.notes, "missed %s: no longer kept\n", core.Plural(int(p.Missed), "event"))
		}
		if err := printEvents(l.out, p.Events); err != nil {
			return err
		}
		if !l.peek && (len(p.Events) > 0 || p.Missed > 0) {
			if err := l.again(ctx, true, func() error {
				_, err := l.events.AckEvents(ctx, ns, name, p.Next)
				return err
			}); err != nil {
				return err
			}
		}
		if after = p.Next; l.once && len(p.Events) == 0 {
			return nil
		}
		if !l.once {
			wait = job.MaxClaimWait.D()
		}
	}
}

// again repeats do until the server answers. It does not repeat if the server has never answered.
func (l listener) again(ctx context.Context, connected bool, do func() error) error {
	for {
		err := do()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil || !connected || core.CodeOf(err) != core.Unavailable:
			return err
		}
		fmt.Fprintf(l.notes, "%v; trying again\n", err)
		if wire.Pause(ctx, l.retry) != nil {
			return context.Cause(ctx)
		}
	}
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
