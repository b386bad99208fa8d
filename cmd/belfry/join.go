package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
)

func (c *cli) tokenJoin() *cobra.Command {
	return noun("join", "Join tokens, with which machines get tokens for their workers", nil, c.joinCreate(), c.joinList(), c.joinRevoke())
}

func (c *cli) joinCreate() *cobra.Command {
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
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) (err error) {
			t.Name, t.Namespace = args[0], s.namespace
			if t.Uses == 0 { // which would mean the default
				return core.InvalidField("--uses", "0", "lets no machine join", fmt.Sprintf("1 to %d", job.MaxJoinUses))
			}
			set(forNamespace != "", forNamespace, &t.Namespace)
			if cmd.Flags().Changed("label") {
				if t.Labels, err = table("--label", labels, "="); err != nil {
					return err
				}
			}
			if err := expiry(s.now, expires, &t.ExpiresAt); err != nil {
				return err
			}
			made, secret, err := s.CreateJoinToken(ctx, t)
			if err != nil {
				return err
			}
			return c.emit(struct {
				access.JoinToken
				Secret string `json:"secret"`
			}{made, secret}, func(w io.Writer) {
				c.showSecret(w, secret, fmt.Sprintf("join token %s created, for %d machines until %s", made.Name, made.Uses, stamp(made.ExpiresAt)))
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

func (c *cli) joinList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List join tokens", Args: cobra.NoArgs,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			ts, err := s.JoinTokens(ctx)
			if err != nil {
				return err
			}
			return c.emit(core.Page[access.JoinToken]{Items: ts}, func(w io.Writer) {
				g := c.grid("ID", "NAME", "NAMESPACE", "STATE", "USED", "EXPIRES", "LABELS", "LAST USED", "CREATED BY")
				for _, t := range ts {
					g.row(strconv.FormatInt(t.ID, 10), t.Name, t.Namespace, string(t.State(s.now)), fmt.Sprintf("%d/%d", t.Used, t.Uses),
						ago(t.ExpiresAt, s.now), labelsText(t.Labels), ago(t.LastUsedAt, s.now), t.CreatedBy)
				}
				g.write(w)
			})
		}),
	}
}

func (c *cli) joinRevoke() *cobra.Command {
	return c.revokeVerb("join token", "Revoke join tokens: no worker can join with them", "belfry token join list", func(ctx context.Context, s *conn) ([]revocable, error) {
		ts, err := s.JoinTokens(ctx)
		all := make([]revocable, len(ts))
		for i, t := range ts {
			all[i] = revocable{t.ID, t.Name, t.State(s.now) == access.TokenRevoked}
		}
		return all, err
	}, func(ctx context.Context, s *conn, id int64) error { return s.RevokeJoinToken(ctx, id) })
}

// joinedPath is where the token is kept that this machine got from a server. It
// is sent to no other.
func joinedPath(l *config.Loaded) (string, error) {
	dir, err := l.StateFolder(false)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(l.ServerURL()))
	return filepath.Join(dir, "joined-"+hex.EncodeToString(sum[:8])+".token"), nil
}

// workerToken is the token of a worker: one that was given, the one that this
// machine got when it joined, or one that it gets now for its join token.
func (c *cli) workerToken(ctx context.Context, l *config.Loaded, join string) (string, error) {
	if l.Token != "" || l.Given("token_file") {
		return c.clientToken(l)
	}
	path, err := joinedPath(l)
	if err != nil {
		if join == "" {
			return c.clientToken(l)
		}
		return "", err
	}
	if kept, err := app.ReadToken(path); kept != "" || err != nil {
		return kept, err
	}
	join = cmp.Or(join, c.env["BELFRY_JOIN"])
	if join == "" {
		return c.clientToken(l)
	}
	secret, err := c.secret("--join", join)
	if err != nil {
		return "", err
	}
	client, err := client.New(l.ServerURL(), "", c.workerClient(l))
	if err != nil {
		return "", err
	}
	// What is asked for once must have a place. Programs pass through the folder.
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return "", core.InvalidField("state_dir", filepath.Dir(path), "cannot be made: "+err.Error(), "")
	}
	t, own, err := client.Join(ctx, strings.TrimSpace(string(secret)), l.NodeName())
	if err != nil {
		return "", err
	}
	if err := app.WriteToken(path, own); err != nil {
		return "", err
	}
	c.logger(l.Config).Info("joined", "server", l.ServerURL(), "token", t.Name, "namespace", t.Namespace, "file", path)
	return own, nil
}
