package access

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
)

// Audit is the command audit.
func Audit(c *cli.CLI) *cobra.Command {
	var noun, name, actor, since, until string
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed what, the newest first", Args: cobra.NoArgs,
		Long: "Show who changed what, the newest first. What it was before and after is in -o json and -o yaml.",
	}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&noun, "noun", "", "only changes of a task, schedule, queue, job, token, …")
	cmd.Flags().StringVar(&name, "name", "", "only changes of what has this name")
	cmd.Flags().StringVar(&actor, "actor", "", "only changes by this one, such as token:deploy")
	cmd.Flags().StringVar(&since, "since", "", "at or after this time, or this long ago, such as 1h")
	cmd.Flags().StringVar(&until, "until", "", "before this time, or this long ago")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		f := access.AuditFilter{Namespace: s.NS, Noun: noun, Name: name, Actor: actor}
		if err := errors.Join(cli.Before(s.Now, "--since", since, &f.Since), cli.Before(s.Now, "--until", until, &f.Until)); err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[access.Audit], error) {
			f.Paging = pg
			return s.Audit(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			g := c.Grid("WHEN", "WHO", "DID", "TO", "NOTE")
			for _, a := range p.Items {
				g.Row(cli.Stamp(a.At), a.Actor, a.Action, a.Noun+" "+s.Label(a.Namespace, a.Name), cli.Clip(a.Note, 60))
			}
			g.Write(w)
		})
	})
	return cmd
}
