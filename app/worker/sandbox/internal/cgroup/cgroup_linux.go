package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// supervisorGroup is the group into which the worker moves itself, because
// version 2 forbids processes in a group with limited children.
const supervisorGroup = "belfry-supervisor"

// Groups holds the trees in which groups for runs can be created.
type Groups struct {
	By  map[isolation.Layer]Tree   // tree of each working layer of Layers
	Why map[isolation.Layer]string // why the other layers do not work
}

// Layers are the layers that control groups implement.
var Layers = []isolation.Layer{isolation.LayerMemory, isolation.LayerPIDs, isolation.LayerCPU, isolation.LayerKill, isolation.LayerEgress}

// controllers are the kernel's controllers of the layers.
var controllers = map[isolation.Layer]string{isolation.LayerMemory: "memory", isolation.LayerPIDs: "pids", isolation.LayerCPU: "cpu"}

// Find chooses the tree for each layer, and prepares trees of version 2.
func Find(trees []Tree) *Groups {
	c := &Groups{By: map[isolation.Layer]Tree{}, Why: map[isolation.Layer]string{}}
	for layer, controller := range controllers {
		c.Why[layer] = "no tree of control groups with controller " + controller
		for _, h := range trees {
			if !h.has(controller) {
				continue
			}
			if h, c.Why[layer] = h.Ready(controller); c.Why[layer] == "" {
				c.By[layer] = h
			}
		}
	}
	c.Why[isolation.LayerKill] = "neither a tree of version 2 with cgroup.kill nor a freezer"
	c.Why[isolation.LayerEgress] = "no tree of control groups of version 2"
	use := func(l isolation.Layer, h Tree) { c.By[l], c.Why[l] = h, "" }
	for _, h := range trees {
		switch {
		case h.Version == 2: // version 2 can kill a group; the freezer of version 1 can only stop it
			h.Own = outOfSupervisor(h.Own)
			use(isolation.LayerKill, h)
			use(isolation.LayerEgress, h)
		case slices.Contains(h.controllers, "freezer") && c.By[isolation.LayerKill].Version != 2:
			use(isolation.LayerKill, h)
		}
	}
	return c
}

func outOfSupervisor(dir string) string {
	if filepath.Base(dir) == supervisorGroup {
		return filepath.Dir(dir)
	}
	return dir
}

// Ready prepares a tree, so that children of its own group can be limited.
func (h Tree) Ready(controller string) (Tree, string) {
	if h.Version == 1 {
		return h, ""
	}
	h.Own = outOfSupervisor(h.Own)
	control := filepath.Join(h.Own, "cgroup.subtree_control")
	if slices.Contains(words(control), controller) {
		return h, ""
	}
	if h.populated() {
		if err := h.moveOut(); err != nil {
			return h, undelegated(err)
		}
	}
	if h.populated() {
		return h, "other processes share the worker's control group: give it one of its own (systemd: Delegate=yes)"
	}
	if err := os.WriteFile(control, []byte("+"+controller), 0); err != nil {
		return h, undelegated(err)
	}
	return h, ""
}

func undelegated(err error) string {
	return fmt.Sprintf("the worker's control group is not delegated to it (systemd: Delegate=yes): %v", err)
}

// populated reports whether a group below the top has processes. The kernel
// accepts that for some controllers, but then no process can join a child group.
func (h Tree) populated() bool {
	_, err := os.Stat(filepath.Join(h.Own, "cgroup.type"))
	return err == nil && len(words(filepath.Join(h.Own, "cgroup.procs"))) > 0
}

// moveOut moves the worker into a child of its group.
func (h Tree) moveOut() error {
	dir := filepath.Join(h.Own, supervisorGroup)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// Group are the control groups of one run: one folder in each tree.
type Group struct {
	Dirs  []string
	By    map[isolation.Layer]string // the folder of each layer
	trees map[isolation.Layer]Tree
}

// Paths returns the folders of a run's future groups.
func (c *Groups) Paths(name string, use func(isolation.Layer) bool) *Group {
	g := &Group{By: map[isolation.Layer]string{}, trees: map[isolation.Layer]Tree{}}
	for layer, h := range c.By {
		if !use(layer) {
			continue
		}
		dir := filepath.Join(h.Own, name)
		g.By[layer], g.trees[layer] = dir, h
		if !slices.Contains(g.Dirs, dir) {
			g.Dirs = append(g.Dirs, dir)
		}
	}
	slices.Sort(g.Dirs)
	return g
}

// Create creates the folders and sets the limits.
func (g *Group) Create(l isolation.Limits) error {
	for _, dir := range g.Dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for layer, dir := range g.By {
		for _, s := range settings(layer, g.trees[layer].Version, l) {
			err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
			if err != nil && !s.optional && !s.heldByOuter(err) {
				return err
			}
		}
	}
	return nil
}

// setting is a value of a group. Optional ones are missing in some kernels; the
// limit is enforced without them.
type setting struct {
	file, value string
	optional    bool
}

// heldByOuter reports that version 1 refused a share of the processors because a group around that of the run has less, such as
// that of the worker's container. The run has no more than that group then. Version 2 takes any share.
func (s setting) heldByOuter(err error) bool {
	return s.file == quotaFile && errors.Is(err, syscall.EINVAL)
}

const quotaFile = "cpu.cfs_quota_us"

// cpuPeriod is the period of the CPU limit: short enough that a throttled program
// does not seem to hang.
const cpuPeriod = 100 * time.Millisecond

// settings returns the settings of a layer. A program gets half of the usual CPU
// weight, so that the worker's heartbeat has priority.
func settings(layer isolation.Layer, version int, l isolation.Limits) (s []setting) {
	put := func(file, value string, optional bool) { s = append(s, setting{file, value, optional}) }
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	quota := number(int64(l.CPU * float64(cpuPeriod.Microseconds())))
	period := number(cpuPeriod.Microseconds())
	switch {
	case layer == isolation.LayerMemory && version == 2:
		put("memory.oom.group", "1", true) // kill all processes of a program together
		if l.Memory > 0 {
			put("memory.max", number(l.Memory), false)
			put("memory.swap.max", "0", true)
		}
	case layer == isolation.LayerMemory && l.Memory > 0:
		put("memory.limit_in_bytes", number(l.Memory), false)
		put("memory.memsw.limit_in_bytes", number(l.Memory), true)
	case layer == isolation.LayerPIDs && l.PIDs > 0:
		put("pids.max", number(l.PIDs), false)
	case layer == isolation.LayerCPU && version == 2:
		put("cpu.weight", "50", true)
		if l.CPU > 0 {
			put("cpu.max", quota+" "+period, false)
		}
	case layer == isolation.LayerCPU:
		put("cpu.shares", "512", true)
		if l.CPU > 0 {
			put("cpu.cfs_period_us", period, false)
			put(quotaFile, quota, false)
		}
	}
	return s
}

// Limits returns the limits that the groups enforce.
func (g *Group) Limits(l isolation.Limits) (held []isolation.Limit) {
	for _, limit := range []struct {
		layer isolation.Layer
		value float64
	}{{isolation.LayerMemory, float64(l.Memory)}, {isolation.LayerPIDs, float64(l.PIDs)}, {isolation.LayerCPU, l.CPU}} {
		if h, has := g.trees[limit.layer]; has && limit.value > 0 {
			held = append(held, isolation.Limit{Name: string(limit.layer), Value: limit.value, By: fmt.Sprintf("cgroup v%d", h.Version)})
		}
	}
	return held
}

// Lists opens the process lists of the groups. A process joins by writing to them.
func (g *Group) Lists() (files []*os.File, err error) {
	for _, dir := range g.Dirs {
		f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
