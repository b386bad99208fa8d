package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// counts are the kernel's counters of a run's groups.
type counts struct {
	Oom, PidsRefused, MemoryPeak int64
	User, System                 time.Duration
}

// Count reads the counters. It must be called before Remove.
func (g *Group) Count() (c counts) {
	if dir, has := g.By[isolation.LayerMemory]; has {
		if g.trees[isolation.LayerMemory].Version == 2 {
			c.Oom = keyed(filepath.Join(dir, "memory.events"), "oom_kill")
			c.MemoryPeak = number(filepath.Join(dir, "memory.peak"))
		} else {
			c.Oom = keyed(filepath.Join(dir, "memory.oom_control"), "oom_kill")
			c.MemoryPeak = number(filepath.Join(dir, "memory.max_usage_in_bytes"))
		}
	}
	if dir, has := g.By[isolation.LayerPIDs]; has {
		c.PidsRefused = keyed(filepath.Join(dir, "pids.events"), "max")
	}
	for _, dir := range g.Dirs {
		if c.User, c.System = processorTime(dir); c.User+c.System > 0 {
			break
		}
	}
	return c
}

// processorTime returns the CPU time of all processes of a group, also of processes that were not waited for. All groups of
// version 2 count it, and in version 1 those of the controller cpuacct.
func processorTime(dir string) (user, system time.Duration) {
	stat := filepath.Join(dir, "cpu.stat")
	user = time.Duration(keyed(stat, "user_usec")) * time.Microsecond
	system = time.Duration(keyed(stat, "system_usec")) * time.Microsecond
	if user+system > 0 {
		return user, system
	}
	return time.Duration(number(filepath.Join(dir, "cpuacct.usage_user"))), time.Duration(number(filepath.Join(dir, "cpuacct.usage_sys")))
}

// keyed reads the number after a key, from a file with one key in each line.
func keyed(file, name string) int64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

func number(file string) int64 {
	text, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// KillAll kills every process of the groups.
func KillAll(dirs []string) {
	for _, dir := range dirs {
		Kill(dir)
	}
}

// Kill kills the processes of a group, with cgroup.kill of version 2, or in a
// freezer, where no process can fork meanwhile, or without either.
func Kill(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	state := filepath.Join(dir, "freezer.state")
	_ = os.WriteFile(state, []byte("FROZEN"), 0)
	for _, pid := range members(dir) {
		killMember(dir, pid)
	}
	_ = os.WriteFile(state, []byte("THAWED"), 0)
}

// killMember opens a pidfd before it checks that the process still is in the
// group, because its number may have been reused.
func killMember(dir string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	in, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err == nil && strings.Contains(string(in), "/"+filepath.Base(dir)+"\n") {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func members(dir string) (pids []int) {
	for _, word := range words(filepath.Join(dir, "cgroup.procs")) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 { // 0: of another pid namespace
			pids = append(pids, pid)
		}
	}
	return pids
}

// Remove removes the folders. The kernel releases a group shortly after the end
// of its last process, so Remove tries until patience ends. It first checks
// that a folder exists: in a read-only tree, the error for a missing folder would
// be that the tree is read-only.
func Remove(dirs []string, patience time.Duration) error {
	var failed error
	deadline := time.Now().Add(patience)
	for _, dir := range dirs {
		for {
			_, err := os.Lstat(dir)
			if err == nil {
				err = os.Remove(dir)
			}
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				failed = errors.Join(failed, err)
				break
			}
			Kill(dir)
			time.Sleep(time.Millisecond)
		}
	}
	return failed
}
