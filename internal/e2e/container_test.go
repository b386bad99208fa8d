//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/job"
)

// ofContainer makes a process the first one of a pid namespace, as a container does.
func ofContainer() *syscall.SysProcAttr {
	attr := endWithUs()
	attr.Cloneflags = syscall.CLONE_NEWPID
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, ContainerID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, ContainerID: gid, Size: 1}}
	}
	return attr
}

// The first process of a container gets the orphans of all others, and has to reap them: a worker whose commands leave some
// behind would run out of process ids.
func TestOrphansInAContainerAreReaped(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	p := s.launchServeWith(ofContainer(), "--allow-commands")
	n := s.up(p)
	n.shellTask("leave", `(sleep 600 & setsid true & true &); exit 0`)
	for range 5 {
		n.becomes(n.enqueue("leave").ID, patience, job.Succeeded)
	}
	// What a job leaves in its process group is killed with it, and what left the group has ended.
	eventually(t, patience, "orphans are reaped", func() (bool, string) {
		dead := defunct(t, p.cmd.Process.Pid)
		return len(dead) == 0, strings.Join(dead, "\n")
	})
	p.signal(syscall.SIGTERM)
	if code := p.ended(patience); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// A container ends as its server does.
func TestAContainerEndsAsItsServerDoes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	p := s.launchServeWith(ofContainer(), "--listen", "nowhere")
	if code := p.ended(patience); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	p = s.launchServeWith(ofContainer())
	s.up(p)
	p.signal(syscall.SIGINT)
	if code := p.ended(patience); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// defunct returns the children of a process that have ended and wait to be reaped.
func defunct(t *testing.T, parent int) (dead []string) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(children)) {
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			dead = append(dead, string(stat))
		}
	}
	return dead
}
