//go:build !unix

package process

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// runGroup has no groups here: it kills the program alone, without a grace,
// because there is no signal that asks it to stop.
func runGroup(ctx context.Context, cmd *exec.Cmd, _ <-chan struct{}, _ time.Duration, _ string) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	return cmd.Wait()
}

func signalOf(*os.ProcessState) string { return "" }
