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

// runSetup turns this copy of the worker into the program, or says why not.
func runSetup() {
	runtime.LockOSThread() // what follows holds for this thread, which becomes the program
	closeOnExec()
	// Raised only, which needs no privilege: when memory is short the program
	// goes first. A process that is not dumpable may not write here.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	faults := json.NewEncoder(os.NewFile(setupFaults, "faults"))
	s := &Setup{}
	if err := json.NewDecoder(os.NewFile(setupConfig, "config")).Decode(s); err != nil {
		os.Exit(1) // the worker is gone
	}
	b := &becoming{Setup: s}
	err := b.become()
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

// HostName is what programs with namespaces see.
const HostName = "belfry"

// becoming is a setup on its way.
type becoming struct {
	*Setup
	done Done

	ruleset      int // Landlock's, -1: none
	filter       *unix.SockFprog
	argv, envv   []*byte
	dir, zero    *byte
	announcement []byte
}

// become returns with a fault, or, of a trial, when everything is set up.
func (b *becoming) become() error {
	if err := b.prepare(); err != nil {
		return err
	}
	return b.seal()
}

// prepare does what takes memory, files and capabilities.
func (b *becoming) prepare() (err error) {
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
	return b.words()
}

// words are the strings that the kernel gets after memory can no longer be
// asked for.
func (b *becoming) words() (err error) {
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

// seal takes everything away, step by step, and starts the program.
//
// It makes raw calls only. From the moment it has joined the control group, a
// thread more could be one too many; and seccomp holds for this thread alone.
// The order matters. Groups and user ids need the capabilities which the next
// steps take. Landlock and seccomp need no_new_privs. Seccomp is last.
func (b *becoming) seal() error {
	for i := range b.Cgroups {
		// Written to a list opened by the worker, so the worker's rights count.
		if e := raw.Call(unix.SYS_WRITE, uintptr(setupRest+i), uintptr(unsafe.Pointer(b.zero)), 1); e != 0 {
			return &isolation.Fault{Step: "join the control group", Err: e}
		}
	}
	if err := b.limit(); err != nil {
		return err
	}
	if !b.has(isolation.LayerGVisor) { // runsc needs what its user namespace gives
		if err := b.dropPrivileges(); err != nil {
			return err
		}
	}
	if e := raw.Call(unix.SYS_CHDIR, uintptr(unsafe.Pointer(b.dir)), 0, 0); e != 0 {
		return &isolation.Fault{Step: isolation.StepDir, Text: b.Dir, Err: e}
	}
	if err := b.lock(); err != nil {
		return err
	}
	if b.Trial {
		return nil
	}
	raw.Call(unix.SYS_WRITE, setupFaults, uintptr(unsafe.Pointer(unsafe.SliceData(b.announcement))), uintptr(len(b.announcement)))
	e := raw.Call(unix.SYS_EXECVE, uintptr(unsafe.Pointer(b.argv[0])), uintptr(unsafe.Pointer(unsafe.SliceData(b.argv))), uintptr(unsafe.Pointer(unsafe.SliceData(b.envv))))
	return &isolation.Fault{Step: isolation.StepExec, Text: b.Argv[0], Err: e}
}

func (b *becoming) limit() error {
	for _, l := range b.Rlimits {
		limit := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
		if e := raw.Call(unix.SYS_PRLIMIT64, 0, uintptr(l.Resource), uintptr(unsafe.Pointer(&limit))); e != 0 {
			return &isolation.Fault{Step: "setrlimit", Text: RlimitName(l.Resource), Err: e}
		}
	}
	return nil
}

// lock ends with a thread that can do only what its program may.
func (b *becoming) lock() error {
	if e := raw.Call6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); e != 0 {
		return &isolation.Fault{Step: "no_new_privs", Err: e}
	}
	// Again, because a change of user takes it back.
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
