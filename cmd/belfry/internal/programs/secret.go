package programs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Secret is the command secret.
func Secret(c *cli.CLI) *cobra.Command {
	d := cli.Document[task.KeptSecret]{
		CLI: c, Noun: "secret", Many: "secrets", Empty: "belfry secret set db-password @FILE",
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[task.KeptSecret], error) {
			return s.KeptSecrets(ctx, f)
		},
		Drop:  func(ctx context.Context, s *cli.Conn, ns, name string) error { return s.DeleteSecret(ctx, ns, name) },
		Owner: func(k *task.KeptSecret) (namespace, name *string) { return &k.Namespace, &k.Name },
		Head:  []string{"UPDATED", "BY", "TASKS"},
		Row: func(s *cli.Conn, k task.KeptSecret) []string {
			return []string{cli.Ago(k.UpdatedAt, s.Now), k.UpdatedBy, cli.Clip(strings.Join(k.Tasks, ", "), 60)}
		},
	}
	return cli.Noun("secret", "Manage secrets of programs; no command shows their values", []string{"secrets"}, secretSet(c), d.ListVerb(), d.DeleteVerb(), secretRotate(c))
}

func secretSet(c *cli.CLI) *cobra.Command {
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
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			if args[1] != "-" && !strings.HasPrefix(args[1], "@") {
				return core.InvalidField("VALUE", "", "is not taken from the command line, where others can see it", "write @FILE, or - and give it on standard input")
			}
			value, err := c.Secret("VALUE", args[1])
			if err != nil {
				return err
			}
			k, err := s.SetSecret(ctx, ns, args[0], value)
			if err != nil {
				return err
			}
			return c.Emit(k, func(w io.Writer) { fmt.Fprintf(w, "secret %s set\n", k.Name) })
		}),
	}
}

func secretRotate(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Change the key that secrets are sealed with", Args: cobra.NoArgs,
		Long: `Seal all secrets anew. Where the key is Belfry's own, belfry.key beside the SQLite
file, it makes another and forgets the old one. Where seal_key_file names a file,
put the new key on its first line and keep the old one below, on every node; after
this command the old line may go.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			out, err := s.RotateSecrets(ctx)
			if err != nil {
				return err
			}
			return c.Emit(out, func(w io.Writer) {
				fmt.Fprintf(w, "sealed %s with key %s\n", core.Plural(out.Sealed, "secret"), out.Key)
			})
		}),
	}
}
