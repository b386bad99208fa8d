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

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
)

// gvisorTmp is the room for files of runsc about a run, in bytes.
const gvisorTmp = 16 << 20

// gvisorProcesses are runsc's own threads and helpers, which count with the
// program's processes.
const gvisorProcesses = 128

// findRunsc returns the path of runsc, as configured by the operator.
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

// tryGVisor runs this program in gVisor, and checks which kernel it sees.
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
		Argv: []string{inside, child.TrialName}, Dir: "/", Stdout: &out, Stderr: &said,
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
	case out.String() == child.Kernel():
		return errors.New("a program still sees the machine's kernel")
	}
	return nil
}

// gvisorBinds returns the mounts of the outer root.
func (b *setup) gvisorBinds(binds []child.Bind) []child.Bind {
	for i := range binds {
		binds[i].Target = child.GVisorInside + binds[i].Target
	}
	return append(binds, child.Bind{Mount: Mount{Source: b.sandbox.runsc, Target: child.GVisorRunsc}})
}

// gvisorSetup sets the command with which the set-up copy becomes runsc.
func (b *setup) gvisorSetup() error {
	text, err := json.Marshal(b.bundle())
	if err != nil {
		return err
	}
	s := b.setup
	s.Bundle, s.Inside, s.TmpSize = string(text), child.GVisorInside, gvisorTmp
	s.UID, s.GID = -1, -1
	s.Argv = append(child.GVisorArgv(), "--rootless", "--ignore-cgroups", "--overlay2=none", "--network="+gvisorNetwork(s.Network), "run", "-bundle", child.GVisorBundle, child.GVisorID)
	s.Env, s.Dir, s.Rlimits = []string{"PATH=/"}, "/", nil
	return nil
}

func gvisorNetwork(network bool) string {
	if network {
		return "host" // sockets of the machine, which belong to runsc and so to the run's control group
	}
	return "none"
}
