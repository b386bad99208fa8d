package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) secretCmd() *cobra.Command {
	d := document[task.KeptSecret]{
		c: c, noun: "secret", many: "secrets", empty: "belfry secret set db-password @FILE",
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[task.KeptSecret], error) {
			return s.KeptSecrets(ctx, f)
		},
		drop:  func(ctx context.Context, s *conn, ns, name string) error { return s.DeleteSecret(ctx, ns, name) },
		owner: func(k *task.KeptSecret) (namespace, name *string) { return &k.Namespace, &k.Name },
		head:  []string{"UPDATED", "BY", "TASKS"},
		row: func(s *conn, k task.KeptSecret) []string {
			return []string{ago(k.UpdatedAt, s.now), k.UpdatedBy, clip(strings.Join(k.Tasks, ", "), 60)}
		},
	}
	return noun("secret", "Values that programs get and nobody sees", []string{"secrets"}, c.secretSet(), d.listVerb(), d.deleteVerb(), c.secretRotate())
}

func (c *cli) secretSet() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME @FILE|-", Short: "Keep a secret, or replace its value", Args: cobra.ExactArgs(2),
		Long: `Keep a value under a name. Tasks of kind program name it, and their programs get
it as an environment variable. It is sealed with the key of seal_key_file, and no
command shows it.

The value comes from a file, or with - from standard input: on a command line it
would stand in the list of processes and in the shell's history.`,
		Example: `  belfry secret set db-password @password.txt
  pass show db | belfry secret set db-password -
  belfry program push ./report --secret DB_PASSWORD=db-password`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			if args[1] != "-" && !strings.HasPrefix(args[1], "@") {
				return core.InvalidField("VALUE", "", "is not taken from the command line, where others can see it", "write @FILE, or - and give it on standard input")
			}
			value, err := c.secret("VALUE", args[1])
			if err != nil {
				return err
			}
			k, err := s.SetSecret(ctx, ns, args[0], value)
			if err != nil {
				return err
			}
			return c.emit(k, func(w io.Writer) { fmt.Fprintf(w, "secret %s set\n", k.Name) })
		}),
	}
}

func (c *cli) secretRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Change the key that secrets are sealed with", Args: cobra.NoArgs,
		Long: `Seal all secrets anew. Where the key is Belfry's own, belfry.key beside the SQLite
file, it makes another and forgets the old one. Where seal_key_file names a file,
put the new key on its first line and keep the old one below, on every node; after
this command the old line may go.`,
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
			out, err := s.RotateSecrets(ctx)
			if err != nil {
				return err
			}
			return c.emit(out, func(w io.Writer) { fmt.Fprintf(w, "%d secrets are sealed with key %s now\n", out.Sealed, out.Key) })
		}),
	}
}
