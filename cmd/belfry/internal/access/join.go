package access

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func tokenJoin(c *cli.CLI) *cobra.Command {
	return cli.Noun("join", "Join tokens, with which machines get tokens for their workers", nil, joinCreate(c), joinList(c), joinRevoke(c))
}

func joinCreate(c *cli.CLI) *cobra.Command {
	var t access.JoinToken
	var forNamespace, expires string
	var labels []string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a join token and show its secret once", Args: cobra.ExactArgs(1),
		Long: `Create a join token. A machine that has its secret exchanges it once for a token
of its own with the scope worker, which it keeps: belfry worker --join @FILE.

The secret is shown once, on standard output and nothing else with it, and kept
only as a hash. What a machine got by it stays good when the join token expires,
is used up or revoked: belfry token revoke ends it.`,
		Example: `  belfry token join create builders --uses 10 --expires 1h --label pool=build > join.token
  belfry worker --server https://belfry.example.com --join @join.token`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) (err error) {
			t.Name, t.Namespace = args[0], s.NS
			if t.Uses == 0 { // which would mean the default
				return core.InvalidField("--uses", "0", "lets no machine join", fmt.Sprintf("1 to %d", job.MaxJoinUses))
			}
			cli.Set(forNamespace != "", forNamespace, &t.Namespace)
			if cmd.Flags().Changed("label") {
				if t.Labels, err = cli.NameValues("--label", labels, "="); err != nil {
					return err
				}
			}
			if err := cli.Expiry(s.Now, expires, &t.ExpiresAt); err != nil {
				return err
			}
			made, secret, err := s.CreateJoinToken(ctx, t)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				access.JoinToken
				Secret string `json:"secret"`
			}{made, secret}, func(w io.Writer) {
				showSecret(c, w, secret, fmt.Sprintf("join token %s created, for %s until %s", made.Name, core.Plural(made.Uses, "machine"), cli.Stamp(made.ExpiresAt)))
			})
		}),
	}
	f := cmd.Flags()
	f.IntVar(&t.Uses, "uses", 1, "how many machines may join with it")
	f.StringVar(&expires, "expires", "", "until when machines may join: a time, or a span such as 1h; at most 30d; default: 1h")
	f.StringArrayVar(&labels, "label", nil, "NAME=VALUE: label that the workers get, before their own; may be repeated")
	f.StringVar(&forNamespace, "for", "", "namespace whose jobs the workers run, * for all; default: that of --namespace")
	return cmd
}

func joinList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List join tokens", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			ts, err := s.JoinTokens(ctx)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[access.JoinToken]{Items: ts}, func(w io.Writer) {
				g := c.Grid("ID", "NAME", "NAMESPACE", "STATE", "USED", "EXPIRES", "LABELS", "LAST USED", "CREATED BY")
				for _, t := range ts {
					g.Row(strconv.FormatInt(t.ID, 10), t.Name, t.Namespace, string(t.State(s.Now)), fmt.Sprintf("%d/%d", t.Used, t.Uses),
						cli.Ago(t.ExpiresAt, s.Now), cli.Labels(t.Labels), cli.Ago(t.LastUsedAt, s.Now), t.CreatedBy)
				}
				g.Write(w)
			})
		}),
	}
}

func joinRevoke(c *cli.CLI) *cobra.Command {
	return revokeVerb(c, "join token", "Revoke join tokens: no worker can join with them", "belfry token join list", func(ctx context.Context, s *cli.Conn) ([]revocable, error) {
		ts, err := s.JoinTokens(ctx)
		all := make([]revocable, len(ts))
		for i, t := range ts {
			all[i] = revocable{t.ID, t.Name, t.State(s.Now) == access.TokenRevoked}
		}
		return all, err
	}, func(ctx context.Context, s *cli.Conn, id int64) error { return s.RevokeJoinToken(ctx, id) })
}
