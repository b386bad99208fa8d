package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// furnishGVisor puts into the outer root what is not a mount.
func (b *becoming) furnishGVisor(at func(string) string) error {
	for _, dir := range []string{GVisorBundle, GVisorInside + "/tmp", GVisorInside + "/proc", GVisorInside + "/dev", GVisorInside + "/sys", GVisorInside + "/etc"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(at(filepath.Join(GVisorBundle, "config.json")), []byte(b.Bundle), 0o600)
}

// At tier gvisor the root that is made at tier namespaces is one around the
// program's: it holds runsc, and the program's root in a folder. runsc has the
// rights of its user namespace and no others, so what breaks out of gVisor
// stands where a program stands that breaks out of nothing, but for the filter.
const (
	GVisorRunsc  = "/runsc"
	GVisorInside = "/inside"
	GVisorBundle = "/bundle"
	gvisorState  = "/tmp/state"
	GVisorID     = "run"
)

// TrialName asks [Init] which kernel it sees.
const TrialName = "belfry-sandbox-trial"

// Kernel is what this process sees of it.
func Kernel() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Version[:])
}

func GVisorArgv() []string { return []string{GVisorRunsc, "--root=" + gvisorState} }

// gvisorSignal starts a runsc that passes a signal on, and returns its pid. It
// fails while the program has not started, as gVisor has no process yet to give it to.
func gvisorSignal(s syscall.Signal) (pid int, err error) {
	p, err := os.StartProcess(GVisorRunsc, append(GVisorArgv(), "kill", GVisorID, fmt.Sprint(int(s))), &os.ProcAttr{Env: []string{}, Dir: "/"})
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	return pid, p.Release() // the init reaps it
}

// gvisorStatus is how the program ended by how runsc did, which says of a
// signal what shells do. failed: it did not come so far.
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
