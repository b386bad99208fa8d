//go:build !unix

package process

import (
	"context"
	"os"
	"os/exec"

	"github.com/belfry-run/belfry/worker"
)

// runGroup kills the program alone, without a grace: this platform has neither
// process groups nor a signal that asks a program to stop.
func runGroup(ctx context.Context, _ *worker.Run, cmd *exec.Cmd, _ string) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	return cmd.Wait()
}

func signalOf(*os.ProcessState) string { return "" }
