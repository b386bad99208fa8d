package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/egress"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/internal/monotime"
)

// setup is a run that is being set up.
type setup struct {
	sandbox *Sandbox
	spec    Spec
	plan    plan
	slot    *slot

	setup  *child.Setup
	groups *cgroup.Group
	limits []Limit
	pass   []*os.File // files that are passed to the set-up copy
	bound  bool       // the kernel limits the folder for temporary files
	run    *Run       // set once there is a process
}

// build does everything up to the program's first instruction.
func (b *setup) build(ctx context.Context, trial bool) (child.Message, error) {
	defer func() { closeAll(b.pass) }()
	if err := b.describe(trial); err != nil {
		return child.Message{}, err
	}
	if err := b.slot.write(); err != nil {
		return child.Message{}, err
	}
	if err := b.make(); err != nil {
		return child.Message{}, err
	}
	if err := b.openFiles(); err != nil {
		return child.Message{}, err
	}
	return b.launch(ctx)
}

func (b *setup) hasUID() bool    { return b.plan.has(LayerUID) }
func (b *setup) hasNS() bool     { return b.plan.has(LayerNamespaces) }
func (b *setup) hasGVisor() bool { return b.plan.has(LayerGVisor) }

// uid returns the program's user id on the machine.
func (b *setup) uid() int {
	if b.hasUID() {
		return b.slot.base + 1
	}
	return os.Geteuid()
}

// describe fills the record of the run and the setup for the copy.
func (b *setup) describe(trial bool) error {
	if b.hasGVisor() && b.spec.Limits.PIDs > 0 {
		b.spec.Limits.PIDs += gvisorProcesses
	}
	name := "belfry-run-" + b.slot.ID
	b.groups = b.sandbox.groups.Paths(name, b.plan.has)
	b.slot.Groups = b.groups.Dirs
	b.setup = &child.Setup{
		Argv: b.spec.Argv, Env: b.spec.Env, Dir: b.spec.Dir,
		Layers: b.plan.layers, UID: -1, GID: -1, KillUID: -1,
		Network: b.spec.Network, Cgroups: len(b.groups.Dirs), Name: name,
		TmpSize: max(b.spec.Limits.Tmp, 0), Trial: trial,
	}
	if end, _ := b.spec.until(); !end.IsZero() {
		b.setup.Until = monotime.At(end)
	}
	b.setTmpVariables()
	b.describeUser()
	if b.spec.Network {
		b.spec.ReadOnly = append(slices.Clip(b.spec.ReadOnly), egress.Resolve(b.spec.ReadOnly)...)
	}
	b.setup.Rules = b.rules(b.tmp())
	b.setup.Rlimits, b.limits = rlimits(b.spec.Limits, b.plan)
	b.limits = append(b.limits, b.groups.Limits(b.spec.Limits)...)
	if b.hasGVisor() {
		return b.gvisorSetup()
	}
	return nil
}

// describeUser sets the user of the program, and the files that belong to it during the run.
func (b *setup) describeUser() {
	if !b.hasUID() {
		return
	}
	b.slot.Users = true
	for _, m := range b.spec.Writable {
		b.slot.Lent = append(b.slot.Lent, m.Source)
	}
	b.setup.UID, b.setup.GID = b.uid(), b.uid()
	if !b.hasNS() {
		b.setup.KillUID = b.uid()
	}
	if b.plan.has(LayerUserNS) {
		b.setup.UID, b.setup.GID = child.InsideUID, child.InsideUID
	}
}

// rules returns the Landlock rules. With a root of its own, the paths are those of the
// targets, and the whole root may be read, except /proc with the machine's network: see factRules of package child.
func (b *setup) rules(tmp string) []child.Rule {
	rules := []child.Rule{{Path: tmp, Access: child.AccessWrite}}
	path := func(m Mount) string { return m.Source }
	if b.hasNS() {
		rules = append(rules, child.Rule{Path: "/", Access: child.AccessRead})
		if b.spec.Network {
			rules = []child.Rule{{Path: tmp, Access: child.AccessWrite}, {Path: "/", Access: child.AccessList}, {Path: "/etc", Access: child.AccessRead}}
		}
		path = func(m Mount) string { return m.Target }
	}
	for _, m := range b.spec.ReadOnly {
		rules = append(rules, child.Rule{Path: path(m), Access: child.AccessRead})
	}
	for _, m := range b.spec.Writable {
		rules = append(rules, child.Rule{Path: path(m), Access: child.AccessWrite})
	}
	for _, d := range child.Devices {
		rules = append(rules, child.Rule{Path: d, Access: child.AccessDevice})
	}
	return rules
}

// make creates the resources in the record.
func (b *setup) make() error {
	if err := b.groups.Create(b.spec.Limits); err != nil {
		return &Fault{Step: "make the control group", Err: err}
	}
	if dir, guarded := b.groups.By[LayerEgress]; guarded {
		if err := egress.New(b.spec.Reach).Attach(dir); err != nil {
			return &Fault{Step: "guard the network", Err: err}
		}
	}
	if b.slot.Dir != "" {
		if err := b.makeTmp(); err != nil {
			return &Fault{Step: "make the folder for temporary files", Err: err}
		}
	}
	b.limitTmp()
	for _, path := range b.slot.Lent {
		if err := grantMount(path, b.uid()); err != nil {
			return &Fault{Step: "give the program " + path, Err: err}
		}
	}
	return nil
}

// openFiles opens the process lists of the control groups, then the mounts.
func (b *setup) openFiles() (err error) {
	if b.pass, err = b.groups.Lists(); err != nil {
		return &Fault{Step: "open the control group", Err: err}
	}
	if !b.hasNS() {
		return nil
	}
	var binds []child.Bind
	for _, m := range b.spec.ReadOnly {
		binds = append(binds, child.Bind{Mount: m})
	}
	for _, m := range b.spec.Writable {
		binds = append(binds, child.Bind{Mount: m, Writable: true})
	}
	if b.hasGVisor() {
		binds = b.gvisorBinds(binds)
	}
	for _, d := range child.Devices {
		binds = append(binds, child.Bind{Mount: Mount{Source: d, Target: d}, Writable: true, Device: true})
	}
	for i := range binds {
		if err := b.openMount(&binds[i]); err != nil {
			return err
		}
	}
	b.setup.Mounts = binds
	return nil
}

// openMount clones a mount with the worker's rights, if it has them: the
// program's user and the root of the run may have no access to the source.
func (b *setup) openMount(m *child.Bind) error {
	fd, err := m.Clone()
	switch {
	case errors.Is(err, unix.EPERM):
		m.File = -1 // the worker is not root; the copy is, in its own namespace
		return nil
	case err != nil:
		return &Fault{Step: isolation.StepMount, Text: m.Source, Err: err}
	}
	m.File = len(b.pass) - b.setup.Cgroups
	b.pass = append(b.pass, os.NewFile(uintptr(fd), m.Source))
	return nil
}

// launch starts the init, sends it the setup, and waits until the program
// runs or has failed to start.
func (b *setup) launch(ctx context.Context) (child.Message, error) {
	b.setup.Files = len(b.pass)
	config, err := json.Marshal(b.setup)
	if err != nil {
		return child.Message{}, err
	}
	ends, err := newPipes()
	if err != nil {
		return child.Message{}, err
	}
	defer ends.closeTheirs()
	cmd := b.command()
	in := holdInput(cmd)
	cmd.ExtraFiles = append(ends.theirs(), b.pass...)
	if b.slot.ids != nil && !b.hasNS() {
		// When the worker is gone, the init kills by user id, so no other run may get that id before.
		cmd.ExtraFiles = append(cmd.ExtraFiles, b.slot.ids)
	}
	r := &Run{cmd: cmd, slot: b.slot, groups: b.groups, control: ends.control, report: ends.report, done: make(chan struct{})}
	r.result.Applied = b.applied()
	if !b.bound && b.spec.Limits.Tmp > 0 {
		r.watched, r.most = b.slot.Dir, b.spec.Limits.Tmp
	}
	if err := r.begin(ctx); err != nil {
		in.drop()
		ends.closeOurs()
		return child.Message{}, &Fault{Step: "start the init", Err: err}
	}
	b.run = r
	ends.closeTheirs() // otherwise the end of a pipe is not noticed
	_, err = r.control.Write(append(config, '\n'))
	// Not after the setup: that may take longer than a lease on a busy machine, and the lease is renewed meanwhile.
	go r.followUntil(b.spec)
	said, err := readSetupMessages(ends.faults, child.IgnoreBroken(err))
	_ = ends.faults.Close()
	if err == nil && said.Applied == nil {
		err = &Fault{Step: "set up", Text: "the copy of the worker ended early; perhaps the limits are too low for it"}
	}
	if err != nil || b.setup.Trial {
		in.drop() // the end of the command waits for it
		r.Kill()
		<-r.done
		if err != nil && r.result.Expired {
			err = &Fault{Step: "set up", Text: "its time passed before it was ready"}
		}
		return said, errors.Join(ctx.Err(), b.withReason(err))
	}
	in.pass()
	r.recordApplied(said.Applied)
	return said, nil
}

// withReason adds the reason to the kernel's error for a program that it cannot start.
func (b *setup) withReason(err error) error {
	fault := (*Fault)(nil)
	if !errors.As(err, &fault) || fault.Step != StepExec {
		return err
	}
	if unfit := (*Unfit)(nil); errors.As(b.spec.Preflight(), &unfit) {
		fault.Text += ": " + unfit.Reason
	}
	return err
}

// readSetupMessages reads the message of the set-up copy, until the copy becomes the program or ends.
func readSetupMessages(faults *os.File, err error) (child.Message, error) {
	var all child.Message
	decoder := json.NewDecoder(faults)
	for err == nil {
		var m child.Message
		if decoder.Decode(&m) != nil {
			break
		}
		if m.Fault != nil {
			return all, m.Fault.Fault()
		}
		all = m
	}
	return all, err
}

// applied returns the part of the isolation that the worker applies.
func (b *setup) applied() Applied {
	gid := os.Getegid()
	if b.hasUID() {
		gid = b.uid()
	}
	return Applied{
		Tier: b.plan.tier, UID: b.uid(), GID: gid, Network: b.plan.network(b.spec.Network),
		Limits: b.limits, Missing: b.plan.missing,
	}
}
