package monitors

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// Subscriber is the command subscriber.
func Subscriber(c *cli.CLI) *cobra.Command {
	return cli.Noun("subscriber", "Manage subscribers of status pages", []string{"subscribers"}, subscriberList(c), subscriberCount(c), subscriberRemove(c))
}

func subscriberList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list PAGE", Aliases: []string{"ls"}, Short: "List the subscribers of a status page with their addresses, the newest first", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[public.Subscriber], error) {
			return s.Subscribers(ctx, view.SubscriberFilter{Paging: pg, Namespace: ns, StatusPage: args[0]})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no subscribers")
				return
			}
			g := c.Grid("ID", "KIND", "STATE", "SINCE", "CONFIRMED", "ADDRESS")
			for _, a := range p.Items {
				g.Row(strconv.FormatInt(a.ID, 10), string(a.Kind), string(a.State), cli.Stamp(a.CreatedAt), cli.Stamp(a.ConfirmedAt), cli.Clip(a.Address, 80))
			}
			g.Write(w)
		})
	})
	return cmd
}

func subscriberCount(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "count PAGE", Short: "Count the subscribers of a status page", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			n, err := s.CountSubscribers(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(n, func(w io.Writer) {
				c.Pairs(w, "mail", strconv.Itoa(n.Mail), "webhook", strconv.Itoa(n.Webhook), "pending", strconv.Itoa(n.Pending))
			})
		}),
	}
}

func subscriberRemove(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "remove PAGE ID", Aliases: []string{"rm", "delete"}, Short: "Remove a subscriber of a status page", Args: cobra.ExactArgs(2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			id, err := job.IDFromText("ID", args[1])
			if err != nil {
				return core.InvalidField("ID", args[1], "is not the number of a subscriber", "see: belfry subscriber list "+args[0])
			}
			if err := s.RemoveSubscriber(ctx, ns, args[0], id); err != nil {
				return err
			}
			fmt.Fprintf(c.Stderr, "subscriber %d of %s is removed\n", id, args[0])
			return nil
		}),
	}
}
