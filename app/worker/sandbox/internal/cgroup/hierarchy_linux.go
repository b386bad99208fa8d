package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a mounted tree of control groups. Version 2 has
// one for all controllers, version 1 one for each; a hybrid machine has both.
type Tree struct {
	Version     int
	root        string   // mount point of its top
	Own         string   // folder of this process's group
	controllers []string // of version 1: controllers of the mount
}

// hierarchies reads two tables of /proc/self: the mount points of trees, and
// the group of this process in each. parent, if set, replaces that group.
func hierarchies(mountinfo, cgroup, parent string) (found []Tree) {
	groups := ownGroups(cgroup)
	for line := range strings.Lines(mountinfo) {
		// 32 31 0:29 /root /mount/point options [optional...] - type source superoptions
		before, after, ok := strings.Cut(line, " - ")
		at, about := strings.Fields(before), strings.Fields(after)
		if !ok || len(at) < 5 || len(about) < 3 {
			continue
		}
		h := Tree{root: unescape(at[4])}
		var group string
		switch about[0] {
		case "cgroup2":
			h.Version, group = 2, groups[""]
		case "cgroup":
			h.Version = 1
			for _, option := range strings.Split(about[2], ",") {
				if path, is := groups[option]; is {
					h.controllers, group = append(h.controllers, option), path
				}
			}
		}
		if h.Version == 0 || h.Version == 1 && len(h.controllers) == 0 {
			continue
		}
		if parent != "" {
			group = parent
		}
		h.Own = filepath.Join(h.root, below(group, unescape(at[3])))
		if !slices.ContainsFunc(found, func(o Tree) bool {
			return o.Version == h.Version && slices.Equal(o.controllers, h.controllers)
		}) {
			found = append(found, h)
		}
	}
	return found
}

// ownGroups reads lines like 4:memory:/a, 1:name=systemd:/ and 0::/b into
// the path of each controller; the name for version 2 is empty.
func ownGroups(cgroup string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for _, name := range strings.Split(fields[1], ",") {
			groups[name] = fields[2]
		}
	}
	return groups
}

// below returns a group's path relative to the mounted group: in a container, the
// mount shows only a part of the tree.
func below(group, mounted string) string {
	if rest, ok := strings.CutPrefix(group, strings.TrimSuffix(mounted, "/")+"/"); ok {
		return rest
	}
	if group == mounted {
		return ""
	}
	return group
}

var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescape(field string) string { return octal.Replace(field) }

// ReadTrees returns the trees of this process.
func ReadTrees(parent string) ([]Tree, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	cgroup, err := os.ReadFile("/proc/self/cgroup")
	return hierarchies(string(mountinfo), string(cgroup), parent), err
}

// has reports whether a tree has a controller.
func (h Tree) has(controller string) bool {
	if h.Version == 1 {
		return slices.Contains(h.controllers, controller)
	}
	return slices.Contains(words(filepath.Join(h.Own, "cgroup.controllers")), controller)
}

// words returns the words of a file, or none if it cannot be read.
func words(file string) []string {
	text, _ := os.ReadFile(file)
	return strings.Fields(string(text))
}
