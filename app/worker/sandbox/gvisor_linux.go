package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// At tier gvisor the root that is made at tier namespaces is one around the
// program's: it holds runsc, and the program's root in a folder. runsc has the
// rights of its user namespace and no others, so what breaks out of gVisor
// stands where a program stands that breaks out of nothing, but for the filter.
const (
	gvisorRunsc  = "/runsc"
	gvisorInside = "/inside"
	gvisorBundle = "/bundle"
	gvisorState  = "/tmp/state"
	gvisorID     = "run"
)

// gvisorTmp is for what runsc keeps of a run.
const gvisorTmp = 16 << 20

// gvisorProcesses are runsc's own threads and helpers, which count with the
// program's processes.
const gvisorProcesses = 128

// findRunsc is where the operator says that it is.
func (s *Sandbox) findRunsc() (string, error) {
	if s.options.Runsc == "" {
		return "", errors.New("the operator has not pointed to runsc (https://gvisor.dev/docs/user_guide/install)")
	}
	found, err := exec.LookPath(s.options.Runsc)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// trialName asks [Init] what kernel it sees.
const trialName = "belfry-sandbox-trial"

// tryGVisor runs this very program in gVisor, and asks it for its kernel.
func (s *Sandbox) tryGVisor(ctx context.Context, works func(Layer) bool) (err error) {
	if s.runsc, err = s.findRunsc(); err != nil {
		return err
	}
	layers := []Layer{LayerUID, LayerUserNS, LayerNamespaces}
	for _, l := range layers {
		if !works(l) {
			return fmt.Errorf("it needs %s", l)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const inside = "/belfry-trial"
	var out, said bytes.Buffer
	spec := Spec{
		Argv: []string{inside, trialName}, Dir: "/", Stdout: &out, Stderr: &said,
		ReadOnly: append(System(), Mount{Source: self, Target: inside}),
	}
	if spec, err = spec.withDefaults(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	r, _, err := s.start(ctx, spec, plan{tier: GVisor, layers: append(layers, LayerGVisor)}, false)
	if err != nil {
		return err
	}
	result, err := r.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("a program has not ended in %s", trialTime)
	case err != nil:
		return fmt.Errorf("%w: %s", err, said.String())
	case result.ExitCode != 0:
		return fmt.Errorf("exit code %d %s: %s", result.ExitCode, result.Signal, said.String())
	case out.String() == kernel():
		return errors.New("a program still sees the machine's kernel")
	}
	return nil
}

// kernel is what this process sees of it.
func kernel() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Version[:])
}

// gvisorBinds are the mounts of the outer root.
func (b *building) gvisorBinds(binds []bind) []bind {
	for i := range binds {
		binds[i].Target = gvisorInside + binds[i].Target
	}
	return append(binds, bind{Mount: Mount{Source: b.sandbox.runsc, Target: gvisorRunsc}})
}

// gvisorSetup is how the set-up copy becomes runsc.
func (b *building) gvisorSetup() error {
	text, err := json.Marshal(b.bundle())
	if err != nil {
		return err
	}
	s := b.setup
	s.Bundle, s.Inside, s.TmpSize = string(text), gvisorInside, gvisorTmp
	s.UID, s.GID = -1, -1
	s.Argv = append(gvisorArgv(), "--rootless", "--ignore-cgroups", "--overlay2=none", "--network="+gvisorNetwork(s.Network), "run", "-bundle", gvisorBundle, gvisorID)
	s.Env, s.Dir, s.Rlimits = []string{"PATH=/"}, "/", nil
	return nil
}

func gvisorArgv() []string { return []string{gvisorRunsc, "--root=" + gvisorState} }

func gvisorNetwork(network bool) string {
	if network {
		return "host" // sockets of the machine's, which are runsc's and so of the run's control group
	}
	return "none"
}

// furnishGVisor puts into the outer root what is not a mount.
func (b *becoming) furnishGVisor(at func(string) string) error {
	for _, dir := range []string{gvisorBundle, gvisorInside + "/tmp", gvisorInside + "/proc", gvisorInside + "/dev", gvisorInside + "/sys", gvisorInside + "/etc"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(at(filepath.Join(gvisorBundle, "config.json")), []byte(b.Bundle), 0o600)
}

// gvisorSignal has runsc pass a signal on. One that comes before the program
// has started is lost, as gVisor has nobody yet to give it to.
func gvisorSignal(s syscall.Signal) {
	p, err := os.StartProcess(gvisorRunsc, append(gvisorArgv(), "kill", gvisorID, fmt.Sprint(int(s))), &os.ProcAttr{Env: []string{}, Dir: "/"})
	if err == nil {
		_ = p.Release() // the init reaps it
	}
}

// gvisorStatus is how the program ended by how runsc did, which says of a
// signal what shells do. failed: it did not come so far.
func gvisorStatus(s unix.WaitStatus) (status unix.WaitStatus, failed bool) {
	const bySignal = 128
	code := s.ExitStatus()
	switch {
	case code == bySignal:
		return s, true
	case code > bySignal && !strings.HasPrefix(signalName(syscall.Signal(code-bySignal)), "signal "):
		return unix.WaitStatus(code - bySignal), false
	}
	return s, false
}
