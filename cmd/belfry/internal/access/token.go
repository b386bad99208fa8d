// Package access has the commands token, namespace and audit. Each noun has a
// file, and each verb a function. They talk to the server through package cli,
// which also prints tables and JSON, and know no other package of commands.
package access

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// Token is the command token.
func Token(c *cli.CLI) *cobra.Command {
	return cli.Noun("token", "Manage tokens of the API", []string{"tokens"}, tokenCreate(c), tokenList(c), tokenWhoami(c), tokenRevoke(c), tokenJoin(c))
}

func tokenCreate(c *cli.CLI) *cobra.Command {
	var scopes []string
	var forNamespace, expires string
	var save bool
	cmd := &cobra.Command{
		Use: "create NAME --scope SCOPE", Short: "Create a token and show its secret once", Args: cobra.ExactArgs(1),
		Long: `Create a token. Its secret is shown once, on standard output and nothing else
with it, and kept only as a hash.

Scopes: read sees everything but secrets; operate also triggers, enqueues,
pauses, cancels and retries; admin also creates, edits and deletes; worker
claims jobs and settles them.

Without a token for the server, stop it and run this in its folder: it then
works on the SQLite file itself.`,
		Example: `  belfry token create ci --scope operate --expires 90d
  belfry token create build-machine --scope worker > worker.token
  belfry token create me --scope admin --for '*' --save`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			t := access.Token{Name: args[0], Namespace: forNamespace}
			if forNamespace == "" {
				t.Namespace = s.NS
			}
			for _, sc := range scopes {
				t.Scopes = append(t.Scopes, access.Scope(sc))
			}
			if err := cli.Expiry(s.Now, expires, &t.ExpiresAt); err != nil {
				return err
			}
			t, secret, err := s.CreateToken(ctx, t)
			if err != nil {
				return err
			}
			return handOver(c, t, secret, save)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&scopes, "scope", nil, "read, operate, admin, worker; several with commas")
	f.StringVar(&forNamespace, "for", "", "namespace in which it is valid, * for all; default: that of --namespace")
	f.StringVar(&expires, "expires", "", "when it ends: a time, or a span such as 90d; default: never")
	f.BoolVar(&save, "save", false, "write the secret to the token file of this machine instead of showing it")
	return cmd
}

func handOver(c *cli.CLI, t access.Token, secret string, save bool) error {
	if save {
		path, err := app.TokenPath(c.Loaded.Config)
		if err != nil {
			return err
		}
		if err := app.WriteToken(path, secret); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "token %s created, its secret is in %s\n", t.Name, path)
		return nil
	}
	return c.Emit(struct {
		access.Token
		Secret string `json:"secret"`
	}{t, secret}, func(w io.Writer) { showSecret(c, w, secret, "token "+t.Name+" created") })
}

// showSecret writes the secret alone to w, and other text to stderr.
func showSecret(c *cli.CLI, w io.Writer, secret, created string) {
	fmt.Fprintln(w, secret)
	fmt.Fprintf(c.Stderr, "%s; the line above is its secret and is not shown again\n", created)
}

func tokenList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tokens", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			ts, err := s.Tokens(ctx)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[access.Token]{Items: ts}, func(w io.Writer) {
				g := c.Grid("ID", "NAME", "NAMESPACE", "SCOPES", "STATE", "EXPIRES", "LAST USED", "CREATED BY")
				for _, t := range ts {
					g.Row(strconv.FormatInt(t.ID, 10), t.Name, t.Namespace, scopesText(t), string(t.State(s.Now)),
						cli.Ago(t.ExpiresAt, s.Now), cli.Ago(t.LastUsedAt, s.Now), t.CreatedBy)
				}
				g.Write(w)
			})
		}),
	}
}

func tokenWhoami(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Show the token that is used, and what it may do", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			asks, ok := s.Service.(interface {
				Whoami(ctx context.Context) (access.Token, error)
			})
			if !ok {
				return core.Errorf(core.Conflict, "%s is used without a server, and so without a token", s.Where).
					WithHint("name a server with --server")
			}
			t, err := asks.Whoami(ctx)
			if err != nil {
				return err
			}
			return c.Emit(t, func(w io.Writer) {
				c.Pairs(w, "name", t.Name, "namespace", t.Namespace, "scopes", scopesText(t), "labels", setting.Entries(t.Labels, "="), "expires", cli.Ago(t.ExpiresAt, s.Now), "server", s.Where)
			})
		}),
	}
}

func scopesText(t access.Token) string {
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	return strings.Join(scopes, ",")
}

func tokenRevoke(c *cli.CLI) *cobra.Command {
	return revokeVerb(c, "token", "End tokens", "belfry token list", func(ctx context.Context, s *cli.Conn) ([]revocable, error) {
		ts, err := s.Tokens(ctx)
		all := make([]revocable, len(ts))
		for i, t := range ts {
			all[i] = revocable{t.ID, t.Name, t.State(s.Now) == access.TokenRevoked}
		}
		return all, err
	}, func(ctx context.Context, s *cli.Conn, id int64) error { return s.RevokeToken(ctx, id) })
}

// revocable is a token, or a join token.
type revocable struct {
	id      int64
	name    string
	revoked bool
}

// revokeVerb returns the verb that revokes tokens by name; list is the command that lists the names.
func revokeVerb(c *cli.CLI, noun, short, list string, all func(context.Context, *cli.Conn) ([]revocable, error), revoke func(context.Context, *cli.Conn, int64) error) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID|NAME...", Aliases: []string{"delete", "rm"}, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			known, err := all(ctx, s)
			if err != nil {
				return err
			}
			for _, arg := range args {
				id, err := revocableID(known, noun, arg, list)
				if err != nil {
					return err
				}
				if err := revoke(ctx, s, id); err != nil {
					return err
				}
				fmt.Fprintf(c.Stderr, "%s %s revoked\n", noun, arg)
			}
			return nil
		}),
	}
}

// revocableID finds a token by its number, or by a name that only one unrevoked
// token has.
func revocableID(known []revocable, noun, arg, list string) (int64, error) {
	if id, err := strconv.ParseInt(arg, 10, 64); err == nil {
		return id, nil
	}
	var found []int64
	for _, t := range known {
		if t.name == arg && !t.revoked {
			found = append(found, t.id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, core.Errorf(core.NotFound, "no %s %q that could be revoked", noun, arg).WithHint("see: %s", list)
	}
	return 0, core.Errorf(core.Conflict, "several have the name %q", arg).WithHint("give the id, see: %s", list)
}
