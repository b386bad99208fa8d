//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
)

// awayTTL is long enough for the result of a program to reach the worker's disk
// before the worker stops itself.
const awayTTL = 20 * time.Second

// The server is away for longer than a session and its grace, while remote workers
// run programs. The workers stop their programs in time, as they must. A program that
// ended meanwhile keeps its result, and the attempt of another is lost once.
func TestAServerThatWasAwayTakesNothingFromWorkersThatLived(t *testing.T) {
	t.Parallel() // this test waits for most of a minute
	flags := []string{"--session-ttl", awayTTL.String()}
	t.Run("killed", func(t *testing.T) {
		onEach(t, func(t *testing.T, s *site) {
			flags := append(flags, "--listen", freePort(t))
			p := newPusher(t, s, flags...)
			p.outlivesAbsence(p.kill, func() {
				p.node = s.serve(append(flags, "--roles", "api,engine", "--artifacts", filepath.Join(s.dir, "artifacts"))...)
			})
		})
	})
	t.Run("frozen", func(t *testing.T) {
		onEach(t, func(t *testing.T, s *site) {
			p := newPusher(t, s, flags...)
			p.outlivesAbsence(func() { p.signal(syscall.SIGSTOP) }, func() { p.signal(syscall.SIGCONT) })
		})
	})
	// The engine still runs and sees no renewals, since no worker reaches the server.
	t.Run("the API killed, beside an engine", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, pgtest.New(t))
		flags := append(flags, "--listen", freePort(t), "--roles", "api")
		p := newPusher(t, s, flags...)
		engine := s.launchServe("--roles", "engine", "--session-ttl", awayTTL.String(), "--artifacts", filepath.Join(s.dir, "artifacts"))
		engine.says(engine.stdout, patience, `^  roles +engine$`)
		p.outlivesAbsence(p.kill, func() {
			engine.logs(patience, `no node serves the API, so workers elsewhere cannot renew`)
			p.node = s.serve(append(flags, "--artifacts", filepath.Join(s.dir, "artifacts"))...)
		})
	})
}

func (p *pusher) outlivesAbsence(leave, back func()) {
	t := p.t
	t.Helper()
	machines := []*site{p.machine(), p.machine()}
	var workers []*process
	for i, far := range machines {
		workers = append(workers, p.works(far, "far-"+strconv.Itoa(i+1), "--queues", "default=2"))
	}
	var quick, slow []int64
	for i := range 2 {
		for name, list := range map[string]*[]int64{"quick": &quick, "slow": &slow} {
			name := name + strconv.Itoa(i)
			p.push(name, "await-"+name)
			*list = append(*list, p.enqueue(name).ID)
		}
	}
	for _, id := range slices.Concat(quick, slow) {
		eventually(t, 2*patience, "the program awaits a signal", func() (bool, string) { return strings.Contains(p.log(id), "awaits"), p.log(id) })
	}
	leave()
	left := time.Now()
	p.wake("await-quick")
	kept := map[int64]bool{}
	for _, id := range quick {
		eventually(t, patience, "the end of the program is kept", func() (bool, string) {
			for i, far := range machines {
				switch note := noteOf(far, id); {
				case bytes.Contains(note, []byte(`"outcome":"ok"`)):
					kept[id] = true
					return true, ""
				case note != nil && strings.Contains(workers[i].stderr.String(), "stopping its jobs"):
					return true, "" // the machine was too slow: the worker stopped the program before
				}
			}
			return false, "no worker has noted it"
		})
	}
	for _, w := range workers {
		w.logs(2*patience, "session could not be renewed in time, stopping its jobs")
	}
	p.nothingRuns()
	eventually(t, 2*patience, "every session is overdue", func() (bool, string) {
		return time.Since(left) > awayTTL+job.LostGrace+time.Second, ""
	})
	back()

	for _, id := range quick {
		if !kept[id] {
			continue
		}
		p.becomes(id, 2*patience, job.Succeeded)
		if got := fmt.Sprint(outcomes(p.attempts(id))); got != "[ok]" {
			t.Errorf("attempts of the job that ended meanwhile: got %s", got)
		}
	}
	for i, id := range slow {
		eventually(t, 3*patience, "the job that was stopped ends in another attempt", func() (bool, string) {
			p.wake("await-slow" + strconv.Itoa(i))
			j := must[job.Job](t)(p.api.Job(t.Context(), "default", id))
			return j.State.Final(), string(j.State)
		})
		if got := fmt.Sprint(outcomes(p.attempts(id))); got != "[lost ok]" {
			t.Errorf("attempts of the job that was stopped: got %s", got)
		}
	}
	p.nothingRuns()
}

// wake signals the programs that have a handler for the signal. Between its exec and
// the start of its runtime, a program would die of the signal.
func (p *pusher) wake(what string) {
	for _, line := range p.processes() {
		if !strings.Contains(line, what) {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(line, "/proc/"), "/")
		if pid, err := strconv.Atoi(file); err == nil && catches(pid, syscall.SIGUSR1) {
			_ = syscall.Kill(pid, syscall.SIGUSR1) // the process may have ended
		}
	}
}

// catches reports that a process has a handler for a signal.
func catches(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "\nSigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	caught, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && caught&(1<<(sig-1)) != 0
}

// noteOf returns the record of a job on the worker's disk.
func noteOf(far *site, job int64) []byte {
	for _, env := range far.env {
		if state, is := strings.CutPrefix(env, "BELFRY_STATE_DIR="); is {
			files, _ := filepath.Glob(filepath.Join(state, "spool", "*", fmt.Sprintf("%d-*.json", job)))
			for _, file := range files {
				if note, err := os.ReadFile(file); err == nil {
					return note
				}
			}
		}
	}
	return nil
}
