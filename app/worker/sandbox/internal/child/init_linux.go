package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/kill"
)

// Init must be the first thing that main does. In the copies of the worker
// that set up a run it never returns; otherwise it does nothing.
func Init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case InitName:
		if err := runInit(); err != nil {
			fmt.Fprintln(os.Stderr, "belfry: the run's init:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case setupName:
		runSetup()
	}
	if len(os.Args) == 2 && os.Args[1] == TrialName {
		fmt.Print(Kernel())
		os.Exit(0)
	}
}

// reaper is the init of a run: parent of the program, and of all that the
// program leaves behind.
type reaper struct {
	setup *Setup

	mu    sync.Mutex
	child int // 0 when it has ended: its number may belong to another process
	// passing are the runscs that pass a signal on to gVisor, by their pids.
	passing map[int]syscall.Signal
	deadline
}

func runInit() error {
	// The kernel's promise to kill the program when its parent dies is made to
	// the thread that starts it.
	runtime.LockOSThread()
	// Ignoring them would be inherited by the program; caught ones are not.
	signal.Notify(make(chan os.Signal, 1))
	closeOnExec()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)

	control := bufio.NewReader(os.NewFile(initControl, "control"))
	line, err := control.ReadBytes('\n')
	if err != nil {
		return nil // the worker has given up or is gone
	}
	r := &reaper{setup: &Setup{}, passing: map[int]syscall.Signal{}}
	if err := json.Unmarshal(line, r.setup); err != nil {
		return err
	}
	if !r.setup.has(isolation.LayerNamespaces) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if err := r.start(line); err != nil {
		return err
	}
	if r.setup.Until != 0 {
		r.keepUntil(r.setup.Until)
	}
	go r.obey(control)
	end := r.reap()
	end.Expired = r.hasExpired()
	return json.NewEncoder(os.NewFile(initReport, "report")).Encode(end)
}

// start starts the set-up copy, which becomes the program, and lets go of what
// only that one needs.
func (r *reaper) start(config []byte) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr, in, os.NewFile(initFaults, "faults")}
	for i := range r.setup.Files {
		files = append(files, os.NewFile(uintptr(initRest+i), "file"))
	}
	p, err := os.StartProcess("/proc/self/exe", []string{setupName}, &os.ProcAttr{
		Env:   []string{},
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	r.child = p.Pid
	_ = p.Release()
	for _, f := range files {
		_ = f.Close()
	}
	_, err = out.Write(config)
	return errors.Join(IgnoreBroken(err), out.Close())
}

// ignoreBroken: a copy that dies before it has read says so by itself.
func IgnoreBroken(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// obey passes the worker's signals on and heeds its deadlines, until the worker is gone.
func (r *reaper) obey(control *bufio.Reader) {
	for {
		b, err := control.ReadByte()
		switch {
		case err == nil && b == controlUntil:
			r.keepUntil(readUntil(control))
		case err == nil && syscall.Signal(b) != syscall.SIGKILL:
			r.signal(syscall.Signal(b))
		default:
			r.killAll()
		}
		if err != nil {
			return
		}
	}
}

// signal reaches the program and what is still in its group.
func (r *reaper) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.child == 0:
	case r.setup.has(isolation.LayerGVisor):
		if pid, err := gvisorSignal(s); err == nil {
			r.passing[pid] = s
		}
	default:
		_ = unix.Kill(-r.child, s)
	}
}

// passAgain is how long a signal waits that runsc could not pass on. Without
// another try, a program that is asked to end while it starts would never
// hear of it, and lose its grace.
const passAgain = 200 * time.Millisecond

// passed takes the end of a process that may have passed a signal on.
func (r *reaper) passed(pid int, status unix.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, was := r.passing[pid]
	delete(r.passing, pid)
	if was && status.ExitStatus() != 0 {
		time.AfterFunc(passAgain, func() { r.signal(s) })
	}
}

// reap waits for the program, ends with it all that it left, and returns when
// nothing is left.
func (r *reaper) reap() Ending {
	var end Ending
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := unix.Wait4(-1, &status, unix.WALL, &usage)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return end // no child is left
		case pid == r.child:
			r.mu.Lock()
			r.child = 0
			r.mu.Unlock()
			end = Ending{Status: status, User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()), MaxRSS: int64(usage.Maxrss) << 10}
			if r.setup.has(isolation.LayerGVisor) && status.Exited() {
				end.Status, end.Failed = gvisorStatus(status)
			}
		default:
			r.passed(pid, status)
		}
		if r.child == 0 {
			r.killAll() // again after each: a dead one's children are ours now
		}
	}
}

// killAll kills everything but this process.
func (r *reaper) killAll() {
	switch {
	case r.setup.has(isolation.LayerNamespaces):
		// Only as the first of a namespace: elsewhere that would be the machine.
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	case r.setup.KillUID > 0 && kill.User(r.setup.KillUID, r.setup.KillUID-1) == nil:
	default:
		kill.Descendants()
	}
}

// closeOnExec keeps the descriptors of this process from the next program.
func closeOnExec() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := 3; fd < 1024; fd++ { // Linux before 5.11
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
}

func SignalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(s))
}

// Numbers of a run's users, in its own user namespace.
const (
	InsideRoot = 0
	InsideUID  = 1000
)
