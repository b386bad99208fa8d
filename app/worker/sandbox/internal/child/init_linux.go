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

// Init must be called first in main. In the copies of the worker that set up a
// run it never returns; otherwise it does nothing.
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

// reaper is the init of a run: the parent of the program, and of all processes
// that the program orphans.
type reaper struct {
	setup *Setup

	mu    sync.Mutex
	child int // 0 after its end: its number may belong to another process
	// passing are the processes of runsc that forward a signal to gVisor, by pid.
	forwarders map[int]syscall.Signal
	deadline
}

func runInit() error {
	// The kernel kills the program when the thread that started it ends.
	runtime.LockOSThread()
	// Signals are caught, not ignored: the program would inherit ignored ones.
	signal.Notify(make(chan os.Signal, 1))
	closeOnExec()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)

	control := bufio.NewReader(os.NewFile(initControl, "control"))
	line, err := control.ReadBytes('\n')
	if err != nil {
		return nil // the worker has canceled the run or is gone
	}
	r := &reaper{setup: &Setup{}, forwarders: map[int]syscall.Signal{}}
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
		r.setDeadline(r.setup.Until)
	}
	go r.readControl(control)
	end := r.reap()
	end.Expired = r.hasExpired()
	return json.NewEncoder(os.NewFile(initReport, "report")).Encode(end)
}

// start starts the set-up copy, which becomes the program, and closes the files
// that only the copy needs.
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

// IgnoreBroken ignores a broken pipe: a copy that dies before it has read reports that itself.
func IgnoreBroken(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// readControl forwards signals of the worker and sets its deadlines, until the worker is gone.
func (r *reaper) readControl(control *bufio.Reader) {
	for {
		b, err := control.ReadByte()
		switch {
		case err == nil && b == controlUntil:
			r.setDeadline(readUntil(control))
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

// signal signals the program and its process group.
func (r *reaper) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.child == 0:
	case r.setup.has(isolation.LayerGVisor):
		if pid, err := gvisorSignal(s); err == nil {
			r.forwarders[pid] = s
		}
	default:
		_ = unix.Kill(-r.child, s)
	}
}

// forwardRetry is the pause before runsc tries again to forward a signal. Without
// another try, a program that is asked to end during its start would not get the
// signal, and lose its grace.
const forwardRetry = 200 * time.Millisecond

// forwarderEnded handles the end of a process that may have forwarded a signal.
func (r *reaper) forwarderEnded(pid int, status unix.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, was := r.forwarders[pid]
	delete(r.forwarders, pid)
	if was && status.ExitStatus() != 0 {
		time.AfterFunc(forwardRetry, func() { r.signal(s) })
	}
}

// reap waits for the program, kills all processes that it left, and returns when
// none is left.
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
			r.forwarderEnded(pid, status)
		}
		if r.child == 0 {
			r.killAll() // repeated after each end, because orphans become children of the init
		}
	}
}

// killAll kills everything but this process.
func (r *reaper) killAll() {
	switch {
	case r.setup.has(isolation.LayerNamespaces):
		// Only as pid 1 of a namespace: otherwise this would kill all processes of the machine.
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	case r.setup.KillUID > 0 && kill.User(r.setup.KillUID, r.setup.KillUID-1) == nil:
	default:
		kill.Descendants()
	}
}

// closeOnExec marks the descriptors of this process, so that the program does not inherit them.
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

// User ids of a run in its own user namespace.
const (
	InsideRoot = 0
	InsideUID  = 1000
)
