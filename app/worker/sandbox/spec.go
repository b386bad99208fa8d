package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// Options of a sandbox.
type Options struct {
	// StateDir is where the runs of this machine are written down while they
	// last, so that a later worker finds what a dead one left. All workers of a
	// machine may share it. Default: belfry-sandbox-<user id> in /run for root, else in the
	// folder for temporary files.
	StateDir string
	// UIDBase is the first of the user and group ids that runs get, two for
	// each of Slots. No other user may have them. Default: 1900000000.
	UIDBase int
	// Slots is how many runs there can be at a time. Default: 256.
	Slots int
	// Cgroup is the control group in which those of the runs are made, as a
	// path in each hierarchy. Default: the worker's own.
	Cgroup string
	// Runsc is gVisor's program, a path or a name in PATH. Default: none, so that
	// to install it does not change what programs run under.
	Runsc string
	// Without are layers that are not used though they may work.
	Without []Layer
}

// Spec is a program to run.
type Spec struct {
	// Argv is the program and its arguments. The program is an absolute path, as
	// the program itself sees it.
	Argv []string
	// Env is its whole environment; only TMPDIR is added, unless it is there.
	Env []string
	// Dir is where it starts. Default: its TMPDIR.
	Dir string
	// Stdin, Stdout and Stderr are as those of [os/exec.Cmd]. An *os.File is handed to the
	// program as it is: it can read and overwrite what else is in it.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Limits Limits
	// Network lets it use the machine's network. Without, there is a loopback
	// of its own at tier namespaces, and below it, by seccomp, no socket at all.
	// Where neither works a run without network is refused.
	Network bool
	// Reach is what it reaches with the network besides public addresses and
	// the name servers of the machine, as [guard.Check] reads it. Where
	// LayerEgress does not work a run with the network is refused.
	Reach []netip.Prefix
	// Unguarded lets it reach all that the machine does: its loopback, its
	// neighbours, and the service of a cloud that gives away its credentials.
	Unguarded bool
	// Until is when the run is killed, unless [Run.KeepUntil] puts that off. The
	// run's init keeps the time, so it also holds for a worker that hangs or is stopped. Default: never.
	Until time.Time
	// Min is the tier below which the run is refused.
	Min Tier
	// Need are layers without which it is refused besides, such as LayerMemory.
	Need []Layer
	// ReadOnly and Writable are all it sees of the machine's files. Programs
	// that are not static need [System] among ReadOnly. From tier confined on it
	// sees nothing else; below, what everybody may read. A writable folder
	// belongs to the program's user while it runs.
	ReadOnly, Writable []Mount
}

// withDefaults is the run that was asked for in full, or what is wrong with it.
func (s Spec) withDefaults() (Spec, error) {
	s.Limits = s.Limits.WithDefaults()
	if len(s.Argv) == 0 || !path.IsAbs(s.Argv[0]) {
		return s, errors.New("sandbox: the program must be an absolute path")
	}
	if s.Dir != "" && !path.IsAbs(s.Dir) {
		return s, fmt.Errorf("sandbox: the directory %s must be an absolute path", s.Dir)
	}
	for _, text := range slices.Concat(s.Argv, s.Env, []string{s.Dir}) {
		if strings.ContainsRune(text, 0) {
			return s, errors.New("sandbox: arguments and environment cannot contain a zero byte")
		}
	}
	var err error
	if s.ReadOnly, err = withTargets(s.ReadOnly); err != nil {
		return s, err
	}
	if s.Writable, err = withTargets(s.Writable); err != nil {
		return s, err
	}
	return s, disjoint(slices.Concat(s.ReadOnly, s.Writable))
}

func withTargets(mounts []Mount) ([]Mount, error) {
	mounts = slices.Clone(mounts)
	for i := range mounts {
		m := &mounts[i]
		if m.Target == "" {
			m.Target = m.Source
		}
		if !path.IsAbs(m.Source) || !path.IsAbs(m.Target) {
			return nil, fmt.Errorf("sandbox: the mount of %q at %q: both must be absolute paths", m.Source, m.Target)
		}
		m.Source, m.Target = path.Clean(m.Source), path.Clean(m.Target)
	}
	return mounts, nil
}

// disjoint refuses a mount inside another: its mount point would have to be
// made in the folder below, which belongs to the machine.
func disjoint(mounts []Mount) error {
	for i, m := range mounts {
		if m.Target == "/" || m.Target == "/tmp" || isolation.Inside(m.Target, "/dev") || isolation.Inside(m.Target, "/proc") {
			return fmt.Errorf("sandbox: nothing can be mounted at %s, which is the program's own; name the folders that it needs", m.Target)
		}
		for _, other := range mounts[:i] {
			if isolation.Inside(m.Target, other.Target) || isolation.Inside(other.Target, m.Target) {
				return fmt.Errorf("sandbox: the mounts at %s and %s are one inside the other", other.Target, m.Target)
			}
		}
	}
	return nil
}

// System are the folders that a dynamically linked program, a shell or a
// script needs, as far as they are there. Of /etc only what is public.
func System() []Mount {
	var mounts []Mount
	for _, p := range []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
		"/etc/nsswitch.conf", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/mime.types", "/etc/services",
	} {
		if _, err := os.Stat(p); err == nil {
			mounts = append(mounts, Mount{Source: p})
		}
	}
	return mounts
}
