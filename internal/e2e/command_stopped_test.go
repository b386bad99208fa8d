//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A node is stopped with SIGSTOP while it runs a command, like a node that hangs. Its watch process ends the command with the
// session, so no process of the first attempt runs beside the next. The second attempt looks up the first one's process id.
func TestACommandOfAStoppedNodeEndsBeforeItsSuccessor(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.New(t))
	stopped := s.serve("--allow-commands", "--session-ttl", "10s")
	first, beside := filepath.Join(s.dir, "first"), filepath.Join(s.dir, "beside")
	stopped.shellTask("nap", fmt.Sprintf(`
		if [ "$BELFRY_ATTEMPT" -gt 1 ]; then
			readlink /proc/$(cat %s)/exe >%s
			exit 0
		fi
		echo $$ >%[1]s
		exec sleep 600`, first, beside), func(t *task.Task) { soon("nap", t) })
	id := stopped.enqueue("nap").ID
	eventually(t, patience, "the command runs", func() (bool, string) { text, _ := os.ReadFile(first); return len(text) > 0, "" })
	stopped.signal(syscall.SIGSTOP)
	other := s.serve("--allow-commands")
	other.becomes(id, 3*patience, job.Succeeded)
	if text, err := os.ReadFile(beside); err != nil || len(text) > 0 {
		t.Errorf("process of the first attempt beside the second: got %q (%v), want none", text, err)
	}
	stopped.signal(syscall.SIGCONT)
	if got := fmt.Sprint(outcomes(other.attempts(id))); got != "[lost ok]" {
		t.Errorf("attempts: got %s", got)
	}
}
