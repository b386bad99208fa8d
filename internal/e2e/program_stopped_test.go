//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/job"
)

// A worker is stopped with SIGSTOP while it runs a program, like a worker that hangs. It can kill nothing then. The sandbox
// kills the program at the end of the session, so no process of it runs beside the attempt of another worker.
func TestAProgramOfAStoppedWorkerEndsBeforeItsSuccessor(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	p := newPusher(t, s, "--session-ttl", "10s")
	first := p.works(p.machine(), "first")
	p.push("await", "await-once")
	id := p.enqueue("await").ID
	eventually(t, 2*patience, "the program awaits a signal", func() (bool, string) { return strings.Contains(p.log(id), "awaits"), p.log(id) })
	first.signal(syscall.SIGSTOP)
	p.nothingRuns() // without help of the worker
	p.works(p.machine(), "second")
	eventually(t, 3*patience, "the second attempt ends well", func() (bool, string) {
		p.wake("await-once")
		j := must[job.Job](t)(p.api.Job(t.Context(), "default", id))
		return j.State.Final(), string(j.State)
	})
	first.signal(syscall.SIGCONT)
	first.logs(patience, "session could not be renewed in time, stopping its jobs|session was given up by the server")
	as := p.attempts(id)
	if got := fmt.Sprint(outcomes(as)); got != "[lost ok]" || as[0].Worker != "first" || as[1].Worker != "second" {
		t.Errorf("attempts: got %+v, want the first lost and the second succeeded", as)
	}
	p.nothingRuns()
}
