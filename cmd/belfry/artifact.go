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

func (c *cli) artifactCmd() *cobra.Command {
	d := document[task.Artifact]{
		c: c, noun: "artifact", many: "artifacts", empty: "belfry program push ./bin --name hello",
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[task.Artifact], error) {
			return s.Artifacts(ctx, f)
		},
		show: func(ctx context.Context, s *conn, ns, digest string) (task.Artifact, error) {
			return s.Artifact(ctx, ns, digest)
		},
		drop:  func(ctx context.Context, s *conn, ns, digest string) error { return s.DeleteArtifact(ctx, ns, digest) },
		owner: func(a *task.Artifact) (namespace, name *string) { return &a.Namespace, &a.SHA256 },
		head:  []string{"SIZE", "UPLOADED", "TASKS"},
		row: func(s *conn, a task.Artifact) []string {
			return []string{core.SizeText(a.Size), uploaded(s, a), clip(strings.Join(a.Tasks, ", "), 60)}
		},
		draw: func(w io.Writer, _ *conn, a task.Artifact) {
			c.pairs(w, "sha256", a.SHA256, "namespace", a.Namespace, "size", core.SizeText(a.Size), "announced", stamp(a.CreatedAt),
				"uploaded", stamp(a.PostedAt), "by", a.PostedBy, "tasks", strings.Join(a.Tasks, ", "))
		},
	}
	return noun("artifact", "Bytes of programs, by their digest", []string{"artifacts"}, d.listVerb(), d.showVerb(), c.artifactConfirm(), d.deleteVerb())
}

func uploaded(s *conn, a task.Artifact) string {
	if a.PostedAt.IsZero() {
		return "no"
	}
	return ago(a.PostedAt, s.now)
}

func (c *cli) artifactConfirm() *cobra.Command {
	return &cobra.Command{
		Use: "confirm SHA256", Short: "Say that the bytes of an artifact were sent, so that its jobs may run", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			a, err := s.ConfirmArtifact(ctx, ns, strings.ToLower(args[0]))
			if err != nil {
				return err
			}
			return c.emit(a, func(w io.Writer) {
				fmt.Fprintf(w, "artifact %s is there, %s\n", a.SHA256[:12], core.SizeText(a.Size))
			})
		}),
	}
}
