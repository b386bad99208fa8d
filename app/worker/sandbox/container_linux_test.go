package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// dockerCaps are what root has in a container by default.
var dockerCaps = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// told is what a worker in a container says.
type told struct {
	Report  sandbox.Report
	Applied sandbox.Applied
	Refused string
	Out     string
}

// A container's runtime makes the tree of control groups read-only, and forbids
// mounts and namespaces. What is left is used, and what is missing is told.
func TestRootInAContainer(t *testing.T) {
	needsRoot(t)
	for as, c := range map[string]struct {
		uid    int
		memory string
	}{
		"root":                   {0, "rlimit"},
		"nobody, as pods should": {65534, "rlimit"},
	} {
		t.Run(as, func(t *testing.T) {
			dir := public(t)
			must(t, os.Chown(dir, c.uid, c.uid))
			options, err := json.Marshal(sandbox.Options{StateDir: filepath.Join(dir, "state"), UIDBase: 1_930_000_000})
			must(t, err)
			cmd := exec.Command(hostile, "container", string(options))
			if c.uid != 0 {
				cmd.Args = append(cmd.Args, "nobody")
			}
			cmd.Env = append(os.Environ(), guarded+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
			text, err := cmd.CombinedOutput()
			var said told
			if err != nil || json.Unmarshal(text, &said) != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if said.Report.Tier != sandbox.Confined || said.Applied.Tier != sandbox.Confined || said.Applied.Network != "none" {
				t.Errorf("%+v", said)
			}
			why := map[sandbox.Layer]string{}
			for _, f := range said.Applied.Missing {
				why[f.Layer] = f.Detail
			}
			for layer, reason := range map[sandbox.Layer]string{
				sandbox.LayerNamespaces: "operation not permitted", sandbox.LayerMemory: "read-only file system", sandbox.LayerPIDs: "read-only file system",
				sandbox.LayerCPU: "read-only file system", sandbox.LayerKill: "read-only file system",
			} {
				if c.uid != 0 && reason == "read-only file system" && strings.Contains(why[layer], "permission denied") {
					continue // said first of somebody who could not write anyway
				}
				if !strings.Contains(why[layer], reason) {
					t.Errorf("%s: %q", layer, why[layer])
				}
			}
			for _, l := range said.Applied.Limits {
				if l.Name == "memory" && l.By != c.memory {
					t.Errorf("%+v", l)
				}
			}
			if !strings.Contains(said.Refused, "needs isolation namespaces and this machine has confined") {
				t.Error(said.Refused)
			}
			if strings.Contains(said.Out, "ESCAPED") || strings.Count(said.Out, "held:") < 32 {
				t.Error(said.Out)
			}
		})
	}
}

// beContainer makes a container of this process, as far as it matters here.
func beContainer(args []string) {
	runtime.LockOSThread()
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	check(err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " - cgroup") {
			check(unix.Mount("", strings.Fields(line)[4], "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		}
	}
	check(sandbox.Contain(dockerCaps...))
	if len(args) > 1 {
		check(syscall.Setgroups(nil))
		check(syscall.Setgid(65534))
		check(syscall.Setuid(65534))
		check(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	}
	check(syscall.Exec(hostileSelf(), []string{"worker", "contained", args[0]}, os.Environ()))
}

func hostileSelf() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return self
}

// beContained is the worker in it.
func beContained(args []string) {
	var o sandbox.Options
	err := json.Unmarshal([]byte(args[0]), &o)
	s, opened := sandbox.Open(context.Background(), o)
	if err != nil || opened != nil {
		panic(opened)
	}
	hostile = hostileSelf()
	said := told{Report: s.Report()}
	var out bytes.Buffer
	spec := world{}.attack("syscalls").Spec
	spec.Min = sandbox.Namespaces
	if _, err := s.Start(context.Background(), spec); err != nil {
		said.Refused = err.Error()
	}
	spec.Min, spec.Stdout, spec.Stderr = sandbox.Confined, &out, &out
	r, err := s.Start(context.Background(), spec)
	if err != nil {
		panic(err)
	}
	result, err := r.Wait()
	if err != nil {
		panic(err)
	}
	said.Applied, said.Out = result.Applied, out.String()
	_ = json.NewEncoder(os.Stdout).Encode(said)
	os.Exit(0)
}
