//go:build !unix

package notify

import (
	"context"
	"os/exec"
)

// runGroup kills the program alone: this platform has no process groups.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	return cmd.Wait()
}
