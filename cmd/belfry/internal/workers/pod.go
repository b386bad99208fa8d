package workers

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/worker/pod"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
)

const defaultPodDir = "/belfry"

func workerInit(c *cli.CLI) *cobra.Command {
	var dir, wait string
	cmd := &cobra.Command{
		Use: "init", Short: "Claim one uploaded program and prepare it for belfry worker main", Args: cobra.NoArgs,
		Long: `Claim one uploaded program and prepare it for belfry worker main.

This is the first of two containers of a pod that share a volume. It holds the
worker's token, claims exactly one job, fetches and verifies its program, and
leaves in --dir what the other one needs: the program, and a file with the job
and a token for this attempt alone, which only its own user can read. Both must
run as the same user.

It exits with 0 when a job is prepared, and with 8 when there was none.`,
		Example: `  belfry worker init --server https://belfry.example.com --token-file /run/secrets/worker --dir /belfry --wait 5m
  belfry worker main --dir /belfry`,
		RunE: c.Local(func(cmd *cobra.Command, l *config.Loaded) error {
			patience := core.Duration(30 * time.Second)
			err := cli.Duration(cmd.Flags().Changed, "wait", wait, &patience)
			if err == nil {
				err = cli.NotNegative("--wait", patience.D(), "0 looks once")
			}
			if err != nil {
				return err
			}
			w, err := workers(cmd.Context(), c, l, "")
			if err != nil {
				return err
			}
			found, err := w.ClaimForPod(cmd.Context(), dir, patience.D())
			if err == nil && !found {
				fmt.Fprintln(c.Stderr, "there was nothing to do")
				return cli.ExitStatus(cli.ExitNothing)
			}
			return err
		}),
	}
	c.ConfigFlags(cmd.Flags(), "worker")
	podDir(cmd, &dir)
	cmd.Flags().StringVar(&wait, "wait", "30s", "how long to wait for a job; 0 looks once")
	return cmd
}

func workerMain(c *cli.CLI) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "main", Short: "Run the program that belfry worker init prepared", Args: cobra.NoArgs,
		Long: `Run the program that belfry worker init prepared, and report what came of it.

This is the second of two containers of a pod. It needs no token: the one for
this attempt is in --dir, and is removed from there before the program starts.
It runs the program in the strongest sandbox that works in the pod, renews the
lease, and clears --dir at the end.

It exits with 0 once the result is reported, also when the program failed: what
follows is the server's to decide, and the pod is not to be started again.`,
		Example: `  belfry worker main --dir /belfry`,
		RunE: c.Local(func(cmd *cobra.Command, l *config.Loaded) error {
			w := app.Workers{Config: l.Config, Version: c.Version, Logger: c.Logger(l.Config)}
			return w.RunForPod(cmd.Context(), dir, func(h pod.Handover) (job.Leaser, error) {
				return client.NewAttemptClient(h.Server, h.Session, h.Leased, workerClient(c, l))
			})
		}),
	}
	c.ConfigFlags(cmd.Flags(), "worker")
	podDir(cmd, &dir)
	return cmd
}

func podDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", defaultPodDir, "folder that both containers share")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if info, err := os.Stat(*dir); err != nil || !info.IsDir() {
			return core.InvalidField("--dir", *dir, "is not a folder", "mount the volume that both containers share there")
		}
		return nil
	}
}
