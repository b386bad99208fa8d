package kill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/raw"
)

// FirstUID is the least user id for runs: lower ids belong to people and daemons.
const FirstUID = 65536

// User kills all processes of a run's user at once, so that none can escape by
// forking. other is the second user id of the run. User needs root, and runs in a
// thread that drops all rights and then ends.
//
// kill(-1) signals every process that the caller may signal. For root that is the
// whole machine, and also for a process with root's real id and any effective id.
// So the thread first becomes a user who has only this right, and verifies that.
// The user's processes cannot signal this thread: that would need its real or
// saved id, and these are other.
func User(uid, other int) error {
	if uid < FirstUID || other < FirstUID {
		return fmt.Errorf("sandbox: user %d is not a run's", uid)
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The first thread cannot end, and its ids count as those of the process.
			// While it is locked here, another goroutine gets another thread.
			result <- User(uid, other)
			runtime.UnlockOSThread()
			return
		}
		err := setUser(uid, other)
		if err == nil {
			err = ignoreNoProcess(unix.Kill(-1, unix.SIGKILL))
		}
		result <- err
	}()
	return <-result
}

// setUser sets the effective id of this thread to uid, the real and saved ids to
// other, and drops all capabilities. It verifies the result.
func setUser(uid, other int) error {
	group := uintptr(other)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, have [2]unix.CapUserData
	for _, e := range []syscall.Errno{
		raw.Call(unix.SYS_SETGROUPS, 0, 0, 0),
		raw.Call(unix.SYS_SETRESGID, group, group, group),
		raw.Call(unix.SYS_SETRESUID, uintptr(other), uintptr(uid), uintptr(other)),
		raw.Call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0),
	} {
		if e != 0 {
			return fmt.Errorf("sandbox: become user %d: %w", uid, e)
		}
	}
	real, effective, saved := unix.Getresuid()
	err := unix.Capget(&header, &have[0])
	if err != nil || have != none || real != other || effective != uid || saved != other {
		return fmt.Errorf("sandbox: become user %d: it is %d, %d, %d with %v: %w", uid, real, effective, saved, have, err)
	}
	return nil
}

// ignoreNobody: there was no process to kill.
func ignoreNoProcess(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// Descendants kills all descendants of this process, which must be the reaper of
// orphans. It first stops them, until no new ones appear: otherwise the others
// could fork while they are killed one by one.
func Descendants() {
	stopped := map[int]bool{}
	for more := true; more; {
		more = false
		for _, pid := range descendants() {
			if !stopped[pid] {
				stopped[pid], more = true, true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// descendants returns the descendants of this process, including ended ones: a
// program whose first thread has ended looks ended, but may live on.
func descendants() (found []int) {
	entries, _ := os.ReadDir("/proc")
	children := map[int][]int{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if parent := parentOf(pid); parent != 0 {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	todo := []int{os.Getpid()}
	for len(todo) > 0 {
		next := children[todo[0]]
		todo = append(todo[1:], next...)
		found = append(found, next...)
	}
	return found
}

// parentOf reads /proc/pid/stat: "pid (name) state parent ...", where a name
// may contain anything. 0 when the process is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
