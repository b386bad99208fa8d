package child

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/raw"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/seccomp"
)

// runSetup turns this copy of the worker into the program, or reports why it cannot.
func runSetup() {
	runtime.LockOSThread() // the isolation applies to this thread, which becomes the program
	closeOnExec()
	// Raising needs no privilege: if memory is short, the kernel kills the program
	// first. A process that is not dumpable may not write here.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	faults := json.NewEncoder(os.NewFile(setupFaults, "faults"))
	s := &Setup{}
	if err := json.NewDecoder(os.NewFile(setupConfig, "config")).Decode(s); err != nil {
		os.Exit(1) // the worker is gone
	}
	b := &setupState{Setup: s}
	err := b.execute()
	if fault := (*isolation.Fault)(nil); errors.As(err, &fault) {
		w := &wireFault{Step: fault.Step, Text: fault.Text}
		if !errors.As(fault.Err, &w.Errno) && fault.Err != nil {
			w.Text += " " + fault.Err.Error()
		}
		_ = faults.Encode(Message{Fault: w})
		os.Exit(1)
	}
	_ = faults.Encode(Message{Applied: &b.done, Broken: tryOut(s)})
	os.Exit(0)
}

// HostName is the host name of programs with namespaces.
const HostName = "belfry"

// setupState is a setup in progress.
type setupState struct {
	*Setup
	done Done

	ruleset      int // Landlock's, -1: none
	filter       *unix.SockFprog
	argv, envv   []*byte
	dir, zero    *byte
	announcement []byte
}

// execute returns only with a fault or, in a trial, once the setup is complete.
func (b *setupState) execute() error {
	if err := b.prepare(); err != nil {
		return err
	}
	return b.dropRightsAndExec()
}

// prepare does all steps that need memory, files and capabilities.
func (b *setupState) prepare() (err error) {
	unix.Umask(0o22)
	if b.has(isolation.LayerNamespaces) {
		if err := b.enterRoot(); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(HostName)); err != nil {
			return &isolation.Fault{Step: "sethostname", Err: err}
		}
		if !b.Network {
			if err := loopbackUp(); err != nil {
				return &isolation.Fault{Step: "loopback", Err: err}
			}
		}
	}
	b.ruleset = -1
	if b.has(isolation.LayerLandlock) {
		if b.ruleset, b.done.Landlock, err = newRuleset(append(b.Rules, b.factRules()...), b.has(isolation.LayerScope), !b.Network && !b.has(isolation.LayerNamespaces)); err != nil {
			return err
		}
	}
	if b.has(isolation.LayerSeccomp) {
		b.filter = seccomp.New(b.Network, b.has(isolation.LayerNamespaces), b.has(isolation.LayerScope))
	}
	return b.prepareStrings()
}

// prepareStrings prepares the strings for system calls at which no memory can be
// allocated.
func (b *setupState) prepareStrings() (err error) {
	if b.argv, err = syscall.SlicePtrFromStrings(b.Argv); err != nil {
		return &isolation.Fault{Step: isolation.StepExec, Err: err}
	}
	if b.envv, err = syscall.SlicePtrFromStrings(b.Env); err != nil {
		return &isolation.Fault{Step: isolation.StepExec, Err: err}
	}
	if b.dir, err = syscall.BytePtrFromString(b.Dir); err != nil {
		return &isolation.Fault{Step: isolation.StepDir, Err: err}
	}
	b.zero, _ = syscall.BytePtrFromString("0")
	b.done.Layers = b.Layers
	b.announcement, err = json.Marshal(Message{Applied: &b.done})
	return err
}

// dropRightsAndExec drops all rights, step by step, and starts the program.
//
// It makes raw calls only. Once it has joined the control group, another thread
// could exceed the limit; and seccomp applies to this thread alone. The order
// matters. Groups and user ids need the capabilities that the next steps drop.
// Landlock and seccomp need no_new_privs. Seccomp is last.
func (b *setupState) dropRightsAndExec() error {
	for i := range b.Cgroups {
		// The worker opened the list, so the write has the worker's rights.
		if e := raw.Call(unix.SYS_WRITE, uintptr(setupRest+i), uintptr(unsafe.Pointer(b.zero)), 1); e != 0 {
			return &isolation.Fault{Step: "join the control group", Err: e}
		}
	}
	if err := b.setRlimits(); err != nil {
		return err
	}
	if !b.has(isolation.LayerGVisor) { // runsc needs the rights of its user namespace
		if err := b.dropPrivileges(); err != nil {
			return err
		}
	}
	if e := raw.Call(unix.SYS_CHDIR, uintptr(unsafe.Pointer(b.dir)), 0, 0); e != 0 {
		return &isolation.Fault{Step: isolation.StepDir, Text: b.Dir, Err: e}
	}
	if err := b.restrictThread(); err != nil {
		return err
	}
	if b.Trial {
		return nil
	}
	raw.Call(unix.SYS_WRITE, setupFaults, uintptr(unsafe.Pointer(unsafe.SliceData(b.announcement))), uintptr(len(b.announcement)))
	e := raw.Call(unix.SYS_EXECVE, uintptr(unsafe.Pointer(b.argv[0])), uintptr(unsafe.Pointer(unsafe.SliceData(b.argv))), uintptr(unsafe.Pointer(unsafe.SliceData(b.envv))))
	return &isolation.Fault{Step: isolation.StepExec, Text: b.Argv[0], Err: e}
}

func (b *setupState) setRlimits() error {
	for _, l := range b.Rlimits {
		limit := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
		if e := raw.Call(unix.SYS_PRLIMIT64, 0, uintptr(l.Resource), uintptr(unsafe.Pointer(&limit))); e != 0 {
			return &isolation.Fault{Step: isolation.StepRlimit, Text: RlimitName(l.Resource), Err: e}
		}
	}
	return nil
}

// restrictThread leaves the thread with the rights of the program alone.
func (b *setupState) restrictThread() error {
	if e := raw.Call6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); e != 0 {
		return &isolation.Fault{Step: "no_new_privs", Err: e}
	}
	// Set again, because a change of user clears it.
	if e := raw.Call6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); e != 0 {
		return &isolation.Fault{Step: "pdeathsig", Err: e}
	}
	if b.ruleset >= 0 {
		if e := raw.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(b.ruleset), 0, 0); e != 0 {
			return &isolation.Fault{Step: "landlock", Err: e}
		}
	}
	if b.filter != nil {
		if e := raw.Call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(b.filter))); e != 0 {
			return &isolation.Fault{Step: "seccomp", Err: e}
		}
	}
	return nil
}

// loopbackUp makes 127.0.0.1 work in a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
