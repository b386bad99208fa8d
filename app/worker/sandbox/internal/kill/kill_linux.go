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

// FirstUID is the least number that runs may get: below are people and daemons.
const FirstUID = 65536

// User kills every process of a run's user in one go, so that none can
// fork itself away. other is the second of the run's numbers. It takes root,
// and runs in a thread that gives everything up and then ends.
//
// kill(-1) reaches whatever the caller may signal. For root that is the whole
// machine; and also for a process with root's real id, whatever its effective one
// is. So the thread first becomes a user that has no right but this one, and
// looks whether it did. The user's processes cannot fight back: a signal to
// this thread takes its real or its saved id, and these are other's.
func User(uid, other int) error {
	if uid < FirstUID || other < FirstUID {
		return fmt.Errorf("sandbox: user %d is not a run's", uid)
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The first thread cannot end, and the process is judged by it. While it
			// is held here, another goroutine gets another thread.
			result <- User(uid, other)
			runtime.UnlockOSThread()
			return
		}
		err := become(uid, other)
		if err == nil {
			err = ignoreNobody(unix.Kill(-1, unix.SIGKILL))
		}
		result <- err
	}()
	return <-result
}

// become leaves this thread with the effective id uid, the other two other,
// and no capability. It is an error if any of that is not so.
func become(uid, other int) error {
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
func ignoreNobody(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// Descendants kills all that came from this process, which must be the
// one that orphans go to. They are stopped first, until no more turn up:
// killed one by one, the rest would multiply meanwhile.
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

// descendants are the processes that come from this one, also those which have
// ended: a program whose first thread is gone looks like that and lives on.
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
