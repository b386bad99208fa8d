package cgroup

import (
	"slices"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

func TestHierarchies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mounts, groups, parent string
		want                   []Tree
	}{
		"version 2 under systemd": {
			mounts: "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
			groups: "0::/system.slice/belfry.service\n",
			want:   []Tree{{2, "/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/belfry.service", nil}},
		},
		"version 1": {
			mounts: "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"37 31 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
			groups: "4:memory:/a\n3:cpu,cpuacct:/b\n1:name=systemd:/c\n",
			want: []Tree{
				{1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a", []string{"memory"}},
				{1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/b", []string{"cpu", "cpuacct"}},
				{1, "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/systemd/c", []string{"name=systemd"}},
			},
		},
		"hybrid, seen from a container": {
			mounts: "35 31 0:32 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n" +
				"41 31 0:38 /docker/1f /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n" +
				"42 31 0:38 / /a\\040b rw - tmpfs tmpfs rw\n",
			groups: "8:pids:/docker/1f/x\n0::/docker/1f\n",
			want: []Tree{
				{1, "/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids/x", []string{"pids"}},
				{2, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified", nil},
			},
		},
		"mounted twice, somewhere else": {
			mounts: "35 24 0:30 / /a\\040b rw - cgroup2 cgroup2 rw\n36 24 0:30 / /c rw - cgroup2 cgroup2 rw\n",
			groups: "0::/\n",
			want:   []Tree{{2, "/a b", "/a b", nil}},
		},
		"a parent that is given": {
			mounts: "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			groups: "0::/elsewhere\n", parent: "/jobs",
			want: []Tree{{2, "/sys/fs/cgroup", "/sys/fs/cgroup/jobs", nil}},
		},
		"none": {mounts: "garbage\n\n1 2 3 - 4\n", groups: "x\n"},
	} {
		got := hierarchies(c.mounts, c.groups, c.parent)
		if !slices.EqualFunc(got, c.want, func(a, b Tree) bool {
			return a.Version == b.Version && a.root == b.root && a.Own == b.Own && slices.Equal(a.controllers, b.controllers)
		}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	l := isolation.Limits{Memory: 1 << 20, PIDs: 7, CPU: 1.5}
	for _, c := range []struct {
		layer   isolation.Layer
		version int
		limits  isolation.Limits
		want    []setting
	}{
		{isolation.LayerMemory, 2, l, []setting{{"memory.oom.group", "1", true}, {"memory.max", "1048576", false}, {"memory.swap.max", "0", true}}},
		{isolation.LayerMemory, 1, l, []setting{{"memory.limit_in_bytes", "1048576", false}, {"memory.memsw.limit_in_bytes", "1048576", true}}},
		{isolation.LayerMemory, 1, isolation.Limits{Memory: -1}, nil},
		{isolation.LayerPIDs, 2, l, []setting{{"pids.max", "7", false}}},
		{isolation.LayerPIDs, 1, l, []setting{{"pids.max", "7", false}}},
		{isolation.LayerCPU, 2, l, []setting{{"cpu.weight", "50", true}, {"cpu.max", "150000 100000", false}}},
		{isolation.LayerCPU, 1, l, []setting{{"cpu.shares", "512", true}, {"cpu.cfs_period_us", "100000", false}, {"cpu.cfs_quota_us", "150000", false}}},
		{isolation.LayerCPU, 2, isolation.Limits{}, []setting{{"cpu.weight", "50", true}}},
		{isolation.LayerKill, 2, l, nil},
	} {
		if got := settings(c.layer, c.version, c.limits); !slices.Equal(got, c.want) {
			t.Errorf("%s of version %d: %+v", c.layer, c.version, got)
		}
	}
}
