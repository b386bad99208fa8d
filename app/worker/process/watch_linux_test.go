package process_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// three is a command of three processes: one that left its group, one that dropped its mark, and itself. Each writes down
// its number.
const three = "setsid sh -c 'echo $$ >>FILE; exec sleep 600' & env -i /bin/sh -c 'echo $$ >>FILE; exec sleep 600' & echo $$ >>FILE; exec sleep 600"

// remote is a worker that runs it, in a process of its own.
func remote(t *testing.T, ttl string) (cmd *exec.Cmd, numbers []int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "numbers")
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_WORKER_TTL="+ttl, "TEST_WORKER_SCRIPT="+strings.ReplaceAll(three, "FILE", file))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, pid := range numbers {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	eventually(t, "all of the command runs", func() bool {
		text, _ := os.ReadFile(file)
		numbers = pids(string(text))
		return len(numbers) == 3
	})
	eventually(t, "the watch knows the group of the command", func() bool { return knowsGroup(watchOf(cmd.Process.Pid)) })
	return cmd, numbers
}

// knowsGroup reports whether a watch was told of the group of a command, which it holds by a descriptor.
func knowsGroup(watch int) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", watch))
	return slices.ContainsFunc(all, func(name string) bool { to, _ := os.Readlink(name); return strings.Contains(to, "pidfd") })
}

// watchOf is the watch beside a worker, or 0.
func watchOf(worker int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		stat, _ := os.ReadFile(name)
		line, _ := os.ReadFile(filepath.Dir(name) + "/cmdline")
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 1 && string(fields[1]) == strconv.Itoa(worker) && strings.HasPrefix(string(line), "belfry-command-watch") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return pid
		}
	}
	return 0
}

func wantAllGone(t *testing.T, numbers []int) {
	t.Helper()
	for _, pid := range numbers {
		eventually(t, "process "+strconv.Itoa(pid)+" ends", func() bool { return !alive(pid) })
	}
}

// A worker that is stopped (SIGSTOP) kills nothing itself.
func TestACommandOfAStoppedWorkerEndsWithItsSession(t *testing.T) {
	t.Parallel()
	cmd, numbers := remote(t, "15s")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wantAllGone(t, numbers)
}

func TestAllOfACommandEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	cmd, numbers := remote(t, "1h")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantAllGone(t, numbers)
}

func TestAWatchThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	cmd, numbers := remote(t, "15s")
	first := watchOf(cmd.Process.Pid)
	if first == 0 || syscall.Kill(first, syscall.SIGKILL) != nil {
		t.Fatal("the worker has no watch")
	}
	eventually(t, "there is another watch", func() bool { now := watchOf(cmd.Process.Pid); return now != 0 && now != first })
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wantAllGone(t, numbers)
}
