package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/kill"
)

// Sandbox starts programs on this machine.
type Sandbox struct {
	options Options
	report  Report
	groups  *cgroup.Groups
	runsc   string // path of runsc
}

// Open removes leftovers of dead workers, and finds out which isolation works
// here. [Init] must have been called.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	s, err := swept(o)
	if err != nil {
		return nil, err
	}
	s.report = s.detect(ctx).Without(s.options.Without)
	return s, ctx.Err()
}

// Sweep removes leftovers of dead workers like [Open], without a detection.
func Sweep(o Options) error {
	_, err := swept(o)
	return err
}

func swept(o Options) (*Sandbox, error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("sandbox: clear away what an earlier worker left: %w", err)
	}
	return s, nil
}

// Detect reports which isolation works on this machine.
func Detect(ctx context.Context, o Options) (Report, error) {
	s, err := Open(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return s.report, nil
}

func open(o Options) (*Sandbox, error) {
	if o.StateDir == "" {
		o.StateDir = filepath.Join(os.TempDir(), fmt.Sprintf("belfry-sandbox-%d", os.Geteuid()))
		if os.Geteuid() == 0 {
			o.StateDir = "/run/belfry-sandbox-0"
		}
	}
	if o.UIDBase == 0 {
		o.UIDBase = 1_900_000_000
	}
	if o.UIDBase < kill.FirstUID {
		return nil, fmt.Errorf("sandbox: the user ids of runs must start at %d or above", kill.FirstUID)
	}
	if o.Slots == 0 {
		o.Slots = 256
	}
	if os.Geteuid() == 0 && slices.Contains(o.Without, LayerUID) {
		// In a user namespace of root, a program would own root's files.
		o.Without = append(slices.Clone(o.Without), LayerUserNS, LayerNamespaces)
	}
	if err := openState(o.StateDir); err != nil {
		return nil, err
	}
	trees, err := cgroup.ReadTrees(o.Cgroup)
	if err != nil {
		return nil, err
	}
	return &Sandbox{options: o, groups: cgroup.Find(trees)}, nil
}

// Report returns the report of the detection at Open.
func (s *Sandbox) Report() Report { return s.report }

// Start starts a program. It returns a [*Refusal] if this machine cannot meet the
// requirements, and a [*Fault] if the setup failed. When the context ends, the
// run is killed.
func (s *Sandbox) Start(ctx context.Context, spec Spec) (*Run, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := choose(s.report, spec)
	if err != nil {
		return nil, err
	}
	for left := setups; ; left-- {
		r, _, err := s.start(ctx, spec, p, false)
		if left == 1 || !replaced(err) {
			return r, err
		}
	}
}

// setups is how often a program is set up whose files are replaced meanwhile.
const setups = 5

// replaced reports whether a file may have been replaced between its opening and its mount, as an upgrade of the machine does
// with /etc/ld.so.cache. The kernel does not mount a file that has no name any longer.
func replaced(err error) bool {
	fault := (*Fault)(nil)
	return errors.As(err, &fault) && fault.Step == isolation.StepMount && errors.Is(fault.Err, unix.ENOENT)
}

// start starts a run or a trial, and cleans up after one that did not start.
func (s *Sandbox) start(ctx context.Context, spec Spec, p plan, trial bool) (*Run, child.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, child.Message{}, err
	}
	t, err := s.takeSlot()
	if err != nil {
		return nil, child.Message{}, err
	}
	b := &setup{sandbox: s, spec: spec, plan: p, slot: t}
	said, err := b.build(ctx, trial)
	if b.run == nil { // no goroutine of the run will clean up
		_ = t.clear()
		_ = t.free()
	}
	if err != nil {
		return nil, said, err
	}
	return b.run, said, nil
}
