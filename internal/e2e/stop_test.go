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

// pidOf waits for a command to write down its process, and reads it.
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
		flags := []string{"--allow-commands", "--grace", "3s", "--queues", "default=2"}
		n := s.serve(flags...)
		pid := filepath.Join(s.dir, "pid")
		n.shellTask("short", "sleep 1.5")
		n.shellTask("long", "echo $$ > "+pid+"; exec sleep 300", func(t *task.Task) { t.Timeout = core.Duration(10 * time.Minute) })
		short, long := n.enqueue("short").ID, n.enqueue("long").ID
		n.becomes(short, patience, job.Running)
		running := pidOf(t, pid)
		waiting := n.enqueue("short").ID // no slot is free

		asked := time.Now()
		n.signal(syscall.SIGTERM)
		n.logs(patience, "msg=stopping grace=3s")
		readyWithin(t, n.url, patience, 503) // while the API still answers
		if code := n.ended(patience); code != 0 {
			t.Errorf("ended with %d", code)
		}
		if took := time.Since(asked); took < 2*time.Second || took > 10*time.Second {
			t.Errorf("stopping with a grace of 3s took %s", took)
		}
		if alive(running) {
			t.Error("the command outlives the node")
		}

		n = s.serve(flags...)
		if as := n.attempts(short); !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeOK}) {
			t.Errorf("the short job: %v", outcomes(as))
		}
		j := n.becomes(long, patience, job.Running)
		if as := n.attempts(long); j.Failures != 0 || !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeHandedBack}) {
			t.Errorf("the long job has %d failures and attempts %+v", j.Failures, as)
		}
		n.becomes(waiting, patience, job.Succeeded)
		if as := n.attempts(waiting); len(as) != 1 {
			t.Errorf("the waiting job: %v", outcomes(as))
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
			n := s.serve("--allow-commands", "--session-ttl", "1s")
			pid := filepath.Join(s.dir, "pid")
			n.shellTask("long", "echo $$ > "+pid+"; exec sleep 300", func(t *task.Task) { soon("long", t) })
			id := n.enqueue("long").ID
			running := pidOf(t, pid)
			n.signal(syscall.SIGTERM)
			n.logs(patience, "msg=stopping grace=30s")
			asked := time.Now()
			eventually(t, patience, "a signal that is no echo of the first forces the end", func() (bool, string) {
				_ = n.cmd.Process.Signal(second) // it may have ended just now
				return !n.running(), "it runs"
			})
			if code := n.ended(patience); code == 0 {
				t.Error("a forced end exits with 0")
			}
			if took := time.Since(asked); took > 3*time.Second {
				t.Errorf("a forced end took %s", took)
			}
			eventually(t, 5*time.Second, "the command is gone", func() (bool, string) { return !alive(running), "it lives" })

			// What it held is not lost: it comes back after the session's end.
			if err := os.Remove(pid); err != nil {
				t.Fatal(err)
			}
			n = s.serve("--allow-commands", "--session-ttl", "1s")
			pidOf(t, pid)
			if as := n.attempts(id); !slices.Equal(outcomes(as), []job.Outcome{job.OutcomeLost}) {
				t.Errorf("attempts: %v", outcomes(as))
			}
		})
	}
}
