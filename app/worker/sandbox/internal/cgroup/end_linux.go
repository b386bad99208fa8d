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

// counts are what the kernel counted of a run's groups.
type counts struct {
	Oom, PidsRefused, MemoryPeak int64
	User, System                 time.Duration
}

// Count must come before remove.
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

// processorTime is that of all processes which a group had, also of those that were not waited for. Every group of version 2
// counts it, and of version 1 those of the controller cpuacct.
func processorTime(dir string) (user, system time.Duration) {
	stat := filepath.Join(dir, "cpu.stat")
	user = time.Duration(keyed(stat, "user_usec")) * time.Microsecond
	system = time.Duration(keyed(stat, "system_usec")) * time.Microsecond
	if user+system > 0 {
		return user, system
	}
	return time.Duration(number(filepath.Join(dir, "cpuacct.usage_user"))), time.Duration(number(filepath.Join(dir, "cpuacct.usage_sys")))
}

// keyed reads the number behind a name from a file of such lines.
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

// Kill uses what the kind of group has: the kernel's own kill; a freezer,
// in which nothing can fork while it is killed; or neither.
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

// killMember holds the process before it looks whether it still is one of the
// group: meanwhile its number can have come to mean another.
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

// Remove removes the folders. The kernel lets go of a group a moment
// after its last process, so this tries until patience ends. A folder that was never
// made is looked for first: of that a tree that is read-only says that it is
// read-only, and not that it is missing.
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
