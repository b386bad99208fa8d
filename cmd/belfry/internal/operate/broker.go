package operate

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
)

// Broker is the command broker.
func Broker(c *cli.CLI) *cobra.Command {
	cmd := cli.Noun("broker", "Check and set up brokers for remote workers: SQS, NATS JetStream", []string{"brokers"},
		brokerVerb(c, "setup", "Make what is missing at the brokers of the configuration", app.Brokers.Setup),
		brokerVerb(c, "check", "See whether the brokers of the configuration are as Belfry needs them", app.Brokers.Verify))
	cmd.Long = `Work on the brokers that the configuration names, by queue, from this machine and
with its credentials. Nothing is asked of the server.`
	cmd.Example = `  belfry broker setup --brokers render=sqs://eu-central-1/render
  belfry serve --brokers render=sqs://eu-central-1/render
  belfry worker --server https://belfry.example.com --brokers render=sqs://eu-central-1/render --only-queues render`
	return cmd
}

func brokerVerb(c *cli.CLI, use, short string, do func(app.Brokers, context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: c.Local(func(cmd *cobra.Command, l *config.Loaded) error {
			queues := slices.Sorted(maps.Keys(l.Brokers))
			if len(queues) == 0 {
				return core.InvalidField("brokers", "", "names no broker", "such as --brokers render=sqs://eu-central-1/render")
			}
			brokers, err := app.OpenBrokers(cmd.Context(), l.Config, queues, c.Logger(l.Config))
			if err != nil {
				return err
			}
			defer func() { _ = brokers.Close() }()
			if err := do(brokers, cmd.Context()); err != nil {
				return err
			}
			return c.Emit(map[string]any{"queues": queues}, func(w io.Writer) {
				for _, queue := range queues {
					fmt.Fprintf(w, "The broker of queue %s is ready.\n", queue)
				}
			})
		}),
	}
	c.ConfigFlags(cmd.Flags(), "broker")
	return cmd
}
