package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fillGVisorRoot creates the files of the outer root that are not mounts.
func (b *setupState) fillGVisorRoot(at func(string) string) error {
	for _, dir := range []string{GVisorBundle, GVisorInside + "/tmp", GVisorInside + "/proc", GVisorInside + "/dev", GVisorInside + "/sys", GVisorInside + "/etc"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(at(filepath.Join(GVisorBundle, "config.json")), []byte(b.Bundle), 0o600)
}

// At tier gvisor, the root of tier namespaces is the outer root: it holds runsc,
// and the program's root in a folder. runsc has only the rights of its user
// namespace. So a program that breaks out of gVisor is isolated as at tier
// namespaces, except for the seccomp filter.
const (
	GVisorRunsc  = "/runsc"
	GVisorInside = "/inside"
	GVisorBundle = "/bundle"
	gvisorState  = "/tmp/state"
	GVisorID     = "run"
)

// TrialName is the name under which [Init] reports the kernel that it sees.
const TrialName = "belfry-sandbox-trial"

// Kernel returns the version of the kernel that this process sees.
func Kernel() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Version[:])
}

func GVisorArgv() []string { return []string{GVisorRunsc, "--root=" + gvisorState} }

// gvisorSignal starts a runsc that forwards a signal, and returns its pid. This runsc
// fails before the start of the program, because gVisor has no process for the signal.
func gvisorSignal(s syscall.Signal) (pid int, err error) {
	p, err := os.StartProcess(GVisorRunsc, append(GVisorArgv(), "kill", GVisorID, fmt.Sprint(int(s))), &os.ProcAttr{Env: []string{}, Dir: "/"})
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	return pid, p.Release() // the init reaps it
}

// gvisorStatus returns the status of the program from that of runsc, which
// reports a signal like a shell. failed: the program did not start.
func gvisorStatus(s unix.WaitStatus) (status unix.WaitStatus, failed bool) {
	const bySignal = 128
	code := s.ExitStatus()
	switch {
	case code == bySignal:
		return s, true
	case code > bySignal && !strings.HasPrefix(SignalName(syscall.Signal(code-bySignal)), "signal "):
		return unix.WaitStatus(code - bySignal), false
	}
	return s, false
}
