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
	"github.com/belfry-run/belfry/internal/monotime"
)

// building is a run on its way.
type building struct {
	sandbox *Sandbox
	spec    Spec
	plan    plan
	slot    *slot

	setup  *child.Setup
	groups *cgroup.Group
	limits []Limit
	pass   []*os.File // to the set-up copy
	bound  bool       // the kernel bounds the folder for temporary files
	run    *Run       // once there is a process
}

// build does everything up to the program's first instruction.
func (b *building) build(ctx context.Context, trial bool) (child.Message, error) {
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

func (b *building) hasUID() bool    { return b.plan.has(LayerUID) }
func (b *building) hasNS() bool     { return b.plan.has(LayerNamespaces) }
func (b *building) hasGVisor() bool { return b.plan.has(LayerGVisor) }

// uid is the program's user on the machine.
func (b *building) uid() int {
	if b.hasUID() {
		return b.slot.base + 1
	}
	return os.Geteuid()
}

// describe says what will be made, and how the copy is to set itself up.
func (b *building) describe(trial bool) error {
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
	if !b.spec.Until.IsZero() {
		b.setup.Until = monotime.At(b.spec.Until)
	}
	b.tellTmp()
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

// describeUser says whom the program becomes, and what is its meanwhile.
func (b *building) describeUser() {
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

// rules are Landlock's. Inside a root of its own the paths are those of the
// targets, and all of that root may be read, but for /proc where the network is the machine's: see factRules of package child.
func (b *building) rules(tmp string) []child.Rule {
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

// make makes what the record says.
func (b *building) make() error {
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
		if err := lend(path, b.uid()); err != nil {
			return &Fault{Step: "give the program " + path, Err: err}
		}
	}
	return nil
}

// openFiles are the lists of the control groups, then the mounts.
func (b *building) openFiles() (err error) {
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

// openMount clones with the worker's rights where it has any: the program's
// user need not reach the source, nor does the run's root.
func (b *building) openMount(m *child.Bind) error {
	fd, err := m.Clone()
	switch {
	case errors.Is(err, unix.EPERM):
		m.File = -1 // not root: the copy is, in its own namespace
		return nil
	case err != nil:
		return &Fault{Step: "mount", Text: m.Source, Err: err}
	}
	m.File = len(b.pass) - b.setup.Cgroups
	b.pass = append(b.pass, os.NewFile(uintptr(fd), m.Source))
	return nil
}

// launch starts the init, tells it everything, and waits until the program
// runs or cannot.
func (b *building) launch(ctx context.Context) (child.Message, error) {
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
	cmd.ExtraFiles = append(ends.theirs(), b.pass...)
	if b.slot.ids != nil && !b.hasNS() {
		// It kills by user id when the worker is gone, so until then no other run may have that.
		cmd.ExtraFiles = append(cmd.ExtraFiles, b.slot.ids)
	}
	r := &Run{cmd: cmd, slot: b.slot, groups: b.groups, control: ends.control, report: ends.report, done: make(chan struct{})}
	r.result.Applied = b.applied()
	if !b.bound && b.spec.Limits.Tmp > 0 {
		r.watched, r.most = b.slot.Dir, b.spec.Limits.Tmp
	}
	if err := r.begin(ctx); err != nil {
		ends.closeOurs()
		return child.Message{}, &Fault{Step: "start the init", Err: err}
	}
	b.run = r
	ends.closeTheirs() // or their ends would not be seen
	_, err = r.control.Write(append(config, '\n'))
	said, err := heed(ends.faults, child.IgnoreBroken(err))
	_ = ends.faults.Close()
	if err == nil && said.Applied == nil {
		err = &Fault{Step: "set up", Text: "the copy of the worker ended early; perhaps the limits are too low for it"}
	}
	if err != nil || b.setup.Trial {
		r.Kill()
		<-r.done
		return said, errors.Join(ctx.Err(), b.explained(err))
	}
	r.tell(said.Applied)
	return said, nil
}

// explained says in words what the kernel says of a program that it cannot start.
func (b *building) explained(err error) error {
	fault := (*Fault)(nil)
	if !errors.As(err, &fault) || fault.Step != StepExec {
		return err
	}
	if unfit := (*Unfit)(nil); errors.As(b.spec.Preflight(), &unfit) {
		fault.Text += ": " + unfit.Reason
	}
	return err
}

// heed reads what the set-up copy says until it is a program or has ended.
func heed(faults *os.File, err error) (child.Message, error) {
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

// applied is what will have been applied, as far as the worker does it.
func (b *building) applied() Applied {
	gid := os.Getegid()
	if b.hasUID() {
		gid = b.uid()
	}
	return Applied{
		Tier: b.plan.tier, UID: b.uid(), GID: gid, Network: b.plan.network(b.spec.Network),
		Limits: b.limits, Missing: b.plan.missing,
	}
}
