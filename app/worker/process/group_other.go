//go:build !unix

package process

import (
	"context"
	"os"
	"os/exec"

	"github.com/belfry-run/belfry/worker"
)

// runGroup has no groups here: it kills the program alone, without a grace,
// because there is no signal that asks it to stop.
func runGroup(ctx context.Context, _ *worker.Run, cmd *exec.Cmd, _ string) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	return cmd.Wait()
}

func signalOf(*os.ProcessState) string { return "" }
