package process

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// A temporary shortage of the machine is not a fault of the job.
func TestAMachineThatCannotStartACommandHandsItsJobBack(t *testing.T) {
	t.Parallel()
	r := &worker.Run{Job: &job.Job{ID: 7}, Lease: 9}
	for _, lack := range []error{syscall.EMFILE, syscall.EAGAIN, syscall.ENOMEM} {
		f := startFailed(r, &exec.Cmd{Path: "/bin/true", Args: []string{"true"}}, fmt.Errorf("fork/exec /bin/true: %w", lack))
		if f.Outcome != job.OutcomeHandedBack || f.Ref != r.Ref() {
			t.Errorf("%v: %+v", lack, f)
		}
	}
}
