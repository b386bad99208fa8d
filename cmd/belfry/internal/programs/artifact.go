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

// Artifact is the command artifact.
func Artifact(c *cli.CLI) *cobra.Command {
	d := cli.Document[task.Artifact]{
		CLI: c, Noun: "artifact", Many: "artifacts", Empty: "belfry program push ./bin --name hello",
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[task.Artifact], error) {
			return s.Artifacts(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, digest string) (task.Artifact, error) {
			return s.Artifact(ctx, ns, digest)
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, digest string) error {
			return s.DeleteArtifact(ctx, ns, digest)
		},
		Owner: func(a *task.Artifact) (namespace, name *string) { return &a.Namespace, &a.SHA256 },
		Head:  []string{"SIZE", "UPLOADED", "TASKS"},
		Row: func(s *cli.Conn, a task.Artifact) []string {
			return []string{core.SizeText(a.Size), uploaded(s, a), cli.Clip(strings.Join(a.Tasks, ", "), 60)}
		},
		Draw: func(w io.Writer, _ *cli.Conn, a task.Artifact) {
			c.Pairs(w, "sha256", a.SHA256, "namespace", a.Namespace, "size", core.SizeText(a.Size), "announced", cli.Stamp(a.CreatedAt),
				"uploaded", cli.Stamp(a.PostedAt), "by", a.PostedBy, "tasks", strings.Join(a.Tasks, ", "))
		},
	}
	return cli.Noun("artifact", "List, show and delete artifacts: the bytes of programs, by digest", []string{"artifacts"}, d.ListVerb(), d.ShowVerb(), artifactConfirm(c), d.DeleteVerb())
}

func uploaded(s *cli.Conn, a task.Artifact) string {
	if a.PostedAt.IsZero() {
		return "no"
	}
	return cli.Ago(a.PostedAt, s.Now)
}

func artifactConfirm(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "confirm SHA256", Short: "Say that the bytes of an artifact were sent, so that its jobs may run", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			a, err := s.ConfirmArtifact(ctx, ns, strings.ToLower(args[0]))
			if err != nil {
				return err
			}
			return c.Emit(a, func(w io.Writer) {
				fmt.Fprintf(w, "artifact %s is there, %s\n", a.SHA256[:12], core.SizeText(a.Size))
			})
		}),
	}
}
