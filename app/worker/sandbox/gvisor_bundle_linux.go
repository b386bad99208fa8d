package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// The parts of the container's configuration that are not empty
// (github.com/opencontainers/runtime-spec).
type (
	ociBundle struct {
		Version  string     `json:"ociVersion"`
		Process  ociProcess `json:"process"`
		Root     ociRoot    `json:"root"`
		Hostname string     `json:"hostname"`
		Mounts   []ociMount `json:"mounts"`
		Linux    ociLinux   `json:"linux"`
	}
	ociProcess struct {
		User            ociUser     `json:"user"`
		Args            []string    `json:"args"`
		Env             []string    `json:"env"`
		Cwd             string      `json:"cwd"`
		NoNewPrivileges bool        `json:"noNewPrivileges"`
		Rlimits         []ociRlimit `json:"rlimits,omitempty"`
	}
	ociUser struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	}
	ociRlimit struct {
		Type string `json:"type"`
		Soft uint64 `json:"soft"`
		Hard uint64 `json:"hard"`
	}
	ociRoot struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	}
	ociMount struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options,omitempty"`
	}
	ociLinux struct {
		Namespaces []ociNamespace `json:"namespaces"`
	}
	ociNamespace struct {
		Type string `json:"type"`
	}
)

// bundle returns the container configuration of the run for runsc. Files to read are in the root.
func (b *setup) bundle() ociBundle {
	s := b.setup
	c := ociBundle{
		Version: "1.0.2", Hostname: child.HostName,
		Process: ociProcess{
			User: ociUser{child.InsideUID, child.InsideUID}, Args: s.Argv, Env: s.Env, Cwd: s.Dir, NoNewPrivileges: true, Rlimits: gvisorRlimits(s.Rlimits),
		},
		Root: ociRoot{child.GVisorInside, true},
		Mounts: []ociMount{
			{"/proc", "proc", "proc", nil},
			{"/tmp", "tmpfs", "tmpfs", []string{"mode=1777", fmt.Sprintf("size=%d", s.TmpSize)}},
		},
	}
	for _, m := range b.spec.ReadOnly {
		if isolation.Inside(m.Target, "/tmp") { // hidden by the mount at /tmp
			c.Mounts = append(c.Mounts, ociMount{m.Target, "bind", child.GVisorInside + m.Target, []string{"ro"}})
		}
	}
	for _, m := range b.spec.Writable {
		c.Mounts = append(c.Mounts, ociMount{m.Target, "bind", child.GVisorInside + m.Target, []string{"rw"}})
	}
	spaces := []string{"pid", "mount", "ipc", "uts"}
	if !s.Network {
		spaces = append(spaces, "network")
	}
	for _, name := range spaces {
		c.Linux.Namespaces = append(c.Linux.Namespaces, ociNamespace{name})
	}
	return c
}

// gvisorRlimits returns the limits that gVisor enforces for each process.
func gvisorRlimits(limits []child.Rlimit) (all []ociRlimit) {
	names := map[int]string{
		unix.RLIMIT_CORE: "RLIMIT_CORE", unix.RLIMIT_NOFILE: "RLIMIT_NOFILE", unix.RLIMIT_FSIZE: "RLIMIT_FSIZE", unix.RLIMIT_CPU: "RLIMIT_CPU",
		unix.RLIMIT_DATA: "RLIMIT_DATA", unix.RLIMIT_NPROC: "RLIMIT_NPROC",
	}
	for _, l := range limits {
		all = append(all, ociRlimit{names[l.Resource], l.Soft, l.Hard})
	}
	return all
}
