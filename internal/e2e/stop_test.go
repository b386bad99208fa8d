//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// pidOf waits until a command has written its process id, and reads it.
func pidOf(t testing.TB, file string) (pid int) {
	t.Helper()
	eventually(t, patience, "the command has begun", func() (bool, string) {
		text, err := os.ReadFile(file)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil && pid > 0, fmt.Sprint(err)
	})
	return pid
}

func TestSIGTERMFinishesOrHandsBackAndBurnsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		flags := []string{"--allow-commands", "--grace", "15s", "--queues", "default=2"}
		n := s.serve(flags...)
		pid := filepath.Join(s.dir, "pid")
		gate := filepath.Join(s.dir, "gate")
		n.shellTask("short", "while [ ! -e "+gate+" ]; do sleep 0.05; done", func(t *task.Task) { t.Timeout = core.Duration(10 * time.Minute) })
		n.shellTask("long", "echo $$ > "+pid+"; exec sleep 300", func(t *task.Task) { t.Timeout = core.Duration(10 * time.Minute) })
		short, long := n.enqueue("short").ID, n.enqueue("long").ID
		n.becomes(short, patience, job.Running)
		running := pidOf(t, pid)
		waiting := n.enqueue("short").ID // no slot is free

		asked := time.Now()
		n.signal(syscall.SIGTERM)
		n.logs(patience, "msg=stopping grace=15s")
		readyWithin(t, n.url, patience, 503) // the API still answers
		s.write("gate", "")                  // a job that ends within the grace, on a busy machine too
		if code := n.ended(patience); code != 0 {
			t.Errorf("exit code of the node: got %d", code)
		}
		if took := time.Since(asked); took < 14*time.Second {
			t.Errorf("time of a stop with a grace of 15s: got %s", took)
		}
		if alive(running) {
			t.Error("the command outlives the node")
		}

		n = s.serve(flags...)
		if as := n.attempts(short); !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeOK}) {
			t.Errorf("attempts of the short job: got %v", outcomes(as))
		}
		j := n.becomes(long, patience, job.Running)
		if as := n.attempts(long); j.Failures != 0 || !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeHandedBack}) {
			t.Errorf("long job: got %d failures and attempts %+v", j.Failures, as)
		}
		n.becomes(waiting, patience, job.Succeeded)
		if as := n.attempts(waiting); len(as) != 1 {
			t.Errorf("attempts of the waiting job: got %v", outcomes(as))
		}
		s.run("job", "cancel", strconv.FormatInt(long, 10))
		n.becomes(long, patience, job.Canceled)
	})
}

func TestASecondSignalForces(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "sqlite:belfry.db")
			n := s.serve("--allow-commands", "--session-ttl", s.ttl(), "--grace", "1h")
			pid := filepath.Join(s.dir, "pid")
			n.shellTask("long", "echo $$ > "+pid+"; exec sleep 300", func(t *task.Task) { soon("long", t) })
			id := n.enqueue("long").ID
			running := pidOf(t, pid)
			n.signal(syscall.SIGTERM)
			n.logs(patience, "msg=stopping grace=1h")
			eventually(t, patience, "a signal that is no echo of the first forces the end", func() (bool, string) {
				_ = n.cmd.Process.Signal(second) // the node may have ended already
				return !n.running(), "it runs"
			})
			if code := n.ended(patience); code == 0 {
				t.Error("exit code of a forced end: got 0, want another")
			}
			eventually(t, patience, "the command is gone", func() (bool, string) { return !alive(running), "it lives" })

			// The jobs of the node are not lost: the next node, which holds the file now, retries them.
			if err := os.Remove(pid); err != nil {
				t.Fatal(err)
			}
			n = s.serve("--allow-commands", "--session-ttl", s.ttl())
			pidOf(t, pid)
			if as := n.attempts(id); !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeLost}) {
				t.Errorf("attempts: %v", outcomes(as))
			}
		})
	}
}
