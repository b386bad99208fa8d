package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// supervisorGroup is where the worker itself goes when version 2 asks that a
// group with limited children has no processes.
const supervisorGroup = "belfry-supervisor"

// cgroups is where groups for runs can be made.
type cgroups struct {
	by  map[Layer]hierarchy // those of groupLayers
	why map[Layer]string    // why not
}

// groupLayers are those that a control group holds.
var groupLayers = []Layer{LayerMemory, LayerPIDs, LayerCPU, LayerKill, LayerEgress}

// controllers are what the layers are called by the kernel.
var controllers = map[Layer]string{LayerMemory: "memory", LayerPIDs: "pids", LayerCPU: "cpu"}

// findCgroups chooses the tree for each layer and makes version 2 ready.
func findCgroups(trees []hierarchy) *cgroups {
	c := &cgroups{by: map[Layer]hierarchy{}, why: map[Layer]string{}}
	for layer, controller := range controllers {
		c.why[layer] = "no tree of control groups with controller " + controller
		for _, h := range trees {
			if !h.has(controller) {
				continue
			}
			if h, c.why[layer] = h.ready(controller); c.why[layer] == "" {
				c.by[layer] = h
			}
		}
	}
	c.why[LayerKill] = "neither a tree of version 2 with cgroup.kill nor a freezer"
	c.why[LayerEgress] = "no tree of control groups of version 2"
	use := func(l Layer, h hierarchy) { c.by[l], c.why[l] = h, "" }
	for _, h := range trees {
		switch {
		case h.version == 2: // the kernel kills such a group by itself; a freezer only holds one still for us
			h.own = outOfSupervisor(h.own)
			use(LayerKill, h)
			use(LayerEgress, h)
		case slices.Contains(h.controllers, "freezer") && c.by[LayerKill].version != 2:
			use(LayerKill, h)
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

// ready sees to it that children of a tree's own group can be limited.
func (h hierarchy) ready(controller string) (hierarchy, string) {
	if h.version == 1 {
		return h, ""
	}
	h.own = outOfSupervisor(h.own)
	control := filepath.Join(h.own, "cgroup.subtree_control")
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

// populated tells of a group that has processes though it is not the top: to
// some controllers the kernel does not mind, but then no process can join a
// group beneath.
func (h hierarchy) populated() bool {
	_, err := os.Stat(filepath.Join(h.own, "cgroup.type"))
	return err == nil && len(words(filepath.Join(h.own, "cgroup.procs"))) > 0
}

// moveOut moves the worker into a child of its group.
func (h hierarchy) moveOut() error {
	dir := filepath.Join(h.own, supervisorGroup)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// group are the control groups of one run: one folder in each tree.
type group struct {
	dirs  []string
	by    map[Layer]string // the folder of each layer
	trees map[Layer]hierarchy
}

// paths are the folders that a run's groups will have.
func (c *cgroups) paths(name string, use func(Layer) bool) *group {
	g := &group{by: map[Layer]string{}, trees: map[Layer]hierarchy{}}
	for layer, h := range c.by {
		if !use(layer) {
			continue
		}
		dir := filepath.Join(h.own, name)
		g.by[layer], g.trees[layer] = dir, h
		if !slices.Contains(g.dirs, dir) {
			g.dirs = append(g.dirs, dir)
		}
	}
	slices.Sort(g.dirs)
	return g
}

// create makes the folders and sets the limits.
func (g *group) create(l Limits) error {
	for _, dir := range g.dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for layer, dir := range g.by {
		for _, s := range settings(layer, g.trees[layer].version, l) {
			err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
			if err != nil && !s.optional {
				return err
			}
		}
	}
	return nil
}

// setting is a value that a group is given. Optional ones are missing in some
// kernels, and change how the limit feels but not that it holds.
type setting struct {
	file, value string
	optional    bool
}

// cpuPeriod is the time in which a run may use its share: short enough that a
// program is not seen to stand still.
const cpuPeriod = 100 * time.Millisecond

// settings are those of a layer. A program gets half of the usual weight, so that
// the worker's heartbeat comes first.
func settings(layer Layer, version int, l Limits) (s []setting) {
	put := func(file, value string, optional bool) { s = append(s, setting{file, value, optional}) }
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	quota := number(int64(l.CPU * float64(cpuPeriod.Microseconds())))
	period := number(cpuPeriod.Microseconds())
	switch {
	case layer == LayerMemory && version == 2:
		put("memory.oom.group", "1", true) // half a program is of no use
		if l.Memory > 0 {
			put("memory.max", number(l.Memory), false)
			put("memory.swap.max", "0", true)
		}
	case layer == LayerMemory && l.Memory > 0:
		put("memory.limit_in_bytes", number(l.Memory), false)
		put("memory.memsw.limit_in_bytes", number(l.Memory), true)
	case layer == LayerPIDs && l.PIDs > 0:
		put("pids.max", number(l.PIDs), false)
	case layer == LayerCPU && version == 2:
		put("cpu.weight", "50", true)
		if l.CPU > 0 {
			put("cpu.max", quota+" "+period, false)
		}
	case layer == LayerCPU:
		put("cpu.shares", "512", true)
		if l.CPU > 0 {
			put("cpu.cfs_period_us", period, false)
			put("cpu.cfs_quota_us", quota, false)
		}
	}
	return s
}

// limits say what the groups hold.
func (g *group) limits(l Limits) (held []Limit) {
	for _, limit := range []struct {
		layer Layer
		value float64
	}{{LayerMemory, float64(l.Memory)}, {LayerPIDs, float64(l.PIDs)}, {LayerCPU, l.CPU}} {
		if h, has := g.trees[limit.layer]; has && limit.value > 0 {
			held = append(held, Limit{string(limit.layer), limit.value, fmt.Sprintf("cgroup v%d", h.version)})
		}
	}
	return held
}

// lists are the groups' process lists, to be joined by whoever holds them.
func (g *group) lists() (files []*os.File, err error) {
	for _, dir := range g.dirs {
		f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
