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
	// StateDir is the folder that records the present runs of this machine, so that
	// a later worker finds the leftovers of a dead one. All workers of a machine may
	// share it. Default: belfry-sandbox-<user id> in /run for root, else in the
	// folder for temporary files.
	StateDir string
	// UIDBase is the first of the user and group ids of runs, two for each of Slots.
	// No other user may have them. Default: 1900000000.
	UIDBase int
	// Slots is the maximum number of concurrent runs. Default: 256.
	Slots int
	// Cgroup is the parent of the control groups of runs, as a path in each
	// hierarchy. Default: the worker's own.
	Cgroup string
	// Runsc is gVisor's program, a path or a name in PATH. Default: none, so that
	// its installation alone does not change the isolation of programs.
	Runsc string
	// Without are layers that are not used although they may work.
	Without []Layer
}

// Spec is a program to run.
type Spec struct {
	// Argv is the program and its arguments. The program is an absolute path in the
	// root of the program.
	Argv []string
	// Env is the whole environment; TMPDIR is added if it is missing.
	Env []string
	// Dir is the working directory. Default: TMPDIR.
	Dir string
	// Stdin, Stdout and Stderr are as in [os/exec.Cmd]. The program gets an *os.File
	// itself: it can read and overwrite the rest of the file.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Limits Limits
	// Network gives the program the machine's network. Without it, the program has
	// a loopback of its own at tier namespaces, and below, by seccomp, no sockets.
	// If neither works, a run without network is refused.
	Network bool
	// Reach are the addresses that the program may reach in addition to public ones
	// and the name servers of the machine, in the sense of [guard.Check]. If
	// LayerEgress does not work, a run with the network is refused.
	Reach []netip.Prefix
	// Unguarded lets the program reach all addresses that the machine reaches:
	// loopback, neighbours, and a cloud's metadata service with credentials.
	Unguarded bool
	// Until returns the time at which the run is killed, and a channel that is closed when
	// that time has moved: then it is called again, from before the program is set up until the run ends.
	// The init of the run enforces the time, also if the worker hangs or is stopped. Default, and a zero time: never.
	Until func() (end time.Time, moved <-chan struct{}) `json:"-"`
	// Min is the tier below which the run is refused.
	Min Tier
	// Need are further layers that the run requires, such as LayerMemory.
	Need []Layer
	// ReadOnly and Writable are the files of the machine for the program. Programs
	// that are not static need [System] in ReadOnly. From tier confined on, the
	// program sees no other files; below, all that are readable for everyone. A
	// writable folder belongs to the program's user during the run.
	ReadOnly, Writable []Mount
}

// until returns the time at which the run is killed, or zero, and a channel that is closed when that time has moved.
func (s Spec) until() (end time.Time, moved <-chan struct{}) {
	if s.Until == nil {
		return time.Time{}, nil
	}
	return s.Until()
}

// withDefaults returns the spec with defaults, or its fault.
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

// disjoint refuses a mount inside another: its mount point would be created in
// the outer folder, which belongs to the machine.
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

// System returns the existing folders that a dynamically linked program, a shell
// or a script needs, and the public files of /etc.
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
