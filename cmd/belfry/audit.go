package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

func (c *cli) auditCmd() *cobra.Command {
	var noun, name, actor, since, until string
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed what, the newest first", Args: cobra.NoArgs,
		Long: "Show who changed what, the newest first. What it was before and after is in -o json and -o yaml.",
	}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&noun, "noun", "", "only changes of a task, schedule, queue, job, token, …")
	cmd.Flags().StringVar(&name, "name", "", "only changes of what has this name")
	cmd.Flags().StringVar(&actor, "actor", "", "only changes by this one, such as token:deploy")
	cmd.Flags().StringVar(&since, "since", "", "at or after this time, or this long ago, such as 1h")
	cmd.Flags().StringVar(&until, "until", "", "before this time, or this long ago")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		f := access.AuditFilter{Namespace: s.namespace, Noun: noun, Name: name, Actor: actor}
		if err := errors.Join(before(s.now, "--since", since, &f.Since), before(s.now, "--until", until, &f.Until)); err != nil {
			return err
		}
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[access.Audit], error) {
			f.Paging = pg
			return s.Audit(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			g := c.grid("WHEN", "WHO", "DID", "TO", "NOTE")
			for _, a := range p.Items {
				g.row(stamp(a.At), a.Actor, a.Action, a.Noun+" "+s.label(a.Namespace, a.Name), clip(a.Note, 60))
			}
			g.write(w)
		})
	})
	return cmd
}
