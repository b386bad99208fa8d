package sandbox_test

import (
	"crypto/rand"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// What a program tries in order to get out, in every world that promises to
// keep it in.

// promised is the least tier at which the worker's files are safe: a user of
// its own, for which it takes root, or Landlock.
func promised() sandbox.Tier {
	if os.Geteuid() == 0 {
		return sandbox.User
	}
	return sandbox.Confined
}

func TestSecretsCannotBeRead(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		w.attack("read", "/etc/shadow", secret(t), "/proc/1/environ", "/root/.bashrc", "/dev/mem", "/proc/kcore", "/dev/kmsg").holds(t, w, 7)
	})
}

func TestFilesOutsideCannotBeWritten(t *testing.T) {
	alsoInGVisor(t, promised(), func(t *testing.T, w world) {
		w.attack("write", secret(t), "/etc/hostile", "/usr/bin/hostile", hostile, "/proc/self/oom_score_adj.", "/proc/sys/kernel/core_pattern", "/sys/kernel/mm/ksm/run", "/dev/sda", "/dev/vda").holds(t, w, 9)
		w.attack("create-in", "/", "/etc", "/usr", filepath.Dir(hostile), "/dev", "/proc", "/sys/fs/cgroup", "/sys/fs/cgroup/unified").holds(t, w, 8)
	})
}

// Files that every user may read or write on a machine.
func TestOnlyGivenFilesAreVisible(t *testing.T) {
	shared := public(t)
	if err := os.WriteFile(filepath.Join(shared, "file"), []byte("another run's"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		w.attack("read", "/etc/fstab", "/etc/group-", "/sys/class/net", "/var/log/dpkg.log", filepath.Join(shared, "file")).holds(t, w, 5)
		w.attack("list", "/home", "/var", "/sys", "/root", "/run", shared).holds(t, w, 6)
		w.attack("write", "/var/tmp/hostile", "/run/lock/hostile", filepath.Join(shared, "file")).holds(t, w, 3)
	})
}

// Folders that everybody may write to are given to be read.
func TestReadOnlyIsReadOnly(t *testing.T) {
	dir := filepath.Join(public(t), "given")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("of the worker"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{dir: 0o777, file: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		for attack, path := range map[string]string{"write": file, "create-in": dir} {
			a := w.attack(attack, path)
			a.ReadOnly = append(a.ReadOnly, sandbox.Mount{Source: dir})
			a.holds(t, w, 1)
		}
	})
}

// Its mounts are all without setuid, and read-only but for those that are its own.
func TestMounts(t *testing.T) {
	work := filepath.Join(public(t), "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	inEach(t, sandbox.Namespaces, func(t *testing.T, w world) {
		a := w.attack("")
		a.Argv = []string{"/bin/cat", "/proc/self/mountinfo"}
		a.Writable = []sandbox.Mount{{Source: work, Target: "/work"}}
		a.run(t, w)
		var writable []string
		for line := range strings.Lines(a.out.String()) {
			place, options := strings.Fields(line)[4], strings.Split(strings.Fields(line)[5], ",")
			if !slices.Contains(options, "nosuid") || !slices.Contains(options, "nodev") && !strings.HasPrefix(place, "/dev/") && !strings.HasPrefix(place, "/proc/") {
				t.Error(line)
			}
			if slices.Contains(options, "rw") && !strings.HasPrefix(place, "/dev/") && !strings.HasPrefix(place, "/proc/") {
				writable = append(writable, place)
			}
		}
		slices.Sort(writable)
		if !slices.Equal(writable, []string{"/tmp", "/work"}) {
			t.Errorf("%q may be written to\n%s", writable, a.out.String())
		}
	})
}

func TestOtherProcessesCannotBeRead(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		w.attack("memory-of", strconv.Itoa(os.Getpid()), "1").holds(t, w, 16)
	})
}

func TestOtherProcessesCannotBeSeen(t *testing.T) {
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		w.attack("processes").holds(t, w, 1)
	})
}

func TestOtherProcessesCannotBeSignalled(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1) // or one that escapes ends the test
	inEach(t, promised(), func(t *testing.T, w world) {
		w.attack("signal", "1", strconv.Itoa(os.Getpid())).holds(t, w, 2)
	})
}

// The init is the program's parent. Without an own user it can be killed at
// tier none, and the run is over with it.
func TestTheInitDoesNotMindSignals(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		if r := w.attack("kill-init").run(t, w); r.ExitCode != 9 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTheNetworkIsWithheld(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }()
	abstract, err := net.Listen("unix", "@belfry-sandbox-"+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	named := filepath.Join(public(t), "socket")
	pathname, err := net.Listen("unix", named)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pathname.Close() }()
	if err := os.Chmod(named, 0o777); err != nil {
		t.Fatal(err)
	}
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		w.attack("connect", "tcp:"+l.Addr().String(), "unix:"+abstract.Addr().String(), "unix:"+named,
			"tcp:169.254.169.254:80", "udp:169.254.169.254:53", "tcp:[::1]:1").holds(t, w, 5)
	})
}

// With the network, sockets of the machine's daemons are still out of reach.
func TestTheNetworkIsGivenWhereAsked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	abstract, err := net.Listen("unix", "@belfry-sandbox-net-"+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		a := w.attack("connect", "tcp:"+l.Addr().String())
		a.Network = true
		if a.run(t, w); a.out.String() != "ESCAPED: tcp:"+l.Addr().String()+"\n" {
			t.Error(a.out.String())
		}
		b := w.attack("connect", "unix:"+abstract.Addr().String())
		b.Network = true
		b.holds(t, w, 1)
	})
}

func TestTheLoopbackIsItsOwn(t *testing.T) {
	inEach(t, sandbox.Namespaces, func(t *testing.T, w world) {
		a := w.attack("loopback")
		if r := a.run(t, w); a.out.String() != "loopback works\n" || r.Applied.Network != "loopback" {
			t.Error(a.out.String(), r.Applied)
		}
	})
}

func TestDangerousCallsAreRefused(t *testing.T) {
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		w.attack("syscalls").holds(t, w, 32)
	})
}

// Shared objects of the machine would outlive the program.
func TestRunsShareNoProcessesOrFiles(t *testing.T) {
	inEach(t, sandbox.Confined, func(t *testing.T, w world) {
		if w.tier == sandbox.Confined {
			w.attack("share").holds(t, w, 1)
			return
		}
		if a := w.attack("share"); a.run(t, w).ExitCode != 0 || a.out.String() != "ESCAPED: has shared memory\n" {
			t.Error("in a namespace of its own it should work:", a.out.String())
		}
	})
}

func TestAProgramCannotGainPrivileges(t *testing.T) {
	if os.Geteuid() == 0 {
		before, err := syscall.Getgroups()
		if err == nil {
			err = syscall.Setgroups([]int{0, 4, 27}) // as a worker that may read logs
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setgroups(before) }()
	}
	alsoInGVisor(t, promised(), func(t *testing.T, w world) {
		w.attack("escalate").holds(t, w, 5)
	})
}

func TestSetuidProgramsGiveNothing(t *testing.T) {
	dir := public(t)
	setuid := filepath.Join(dir, "setuid")
	binary, err := os.ReadFile(hostile)
	if err == nil {
		err = os.WriteFile(setuid, binary, 0o755)
	}
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(setuid, victimUID, victimUID) // of root it would be a danger itself
	}
	if err == nil {
		err = os.Chmod(setuid, os.ModeSetuid|os.ModeSetgid|0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	inEach(t, promised(), func(t *testing.T, w world) {
		a := w.attack("run-setuid", setuid)
		a.ReadOnly = append(a.ReadOnly, sandbox.Mount{Source: setuid})
		a.holds(t, w, 1)
	})
}

// The program's folder is written to by it and read by the worker: what is in it must not lead
// either of them out.
func TestLinksDoNotLeadOut(t *testing.T) {
	alsoInGVisor(t, promised(), func(t *testing.T, w world) {
		token := secret(t)
		before := stat(t, token)
		work := filepath.Join(public(t), "work")
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		a := w.attack("links", token, "/etc/shadow", "/proc/self/root/etc/shadow")
		a.Writable, a.Dir = []sandbox.Mount{{Source: work}}, work
		a.holds(t, w, 9)
		if after := stat(t, token); *after != *before {
			t.Errorf("the token was changed: %+v, before %+v", after, before)
		}
		if link, err := os.Readlink(filepath.Join(work, "link-0")); err != nil || link != token {
			t.Error("the link itself should be there:", link, err)
		}
		if s := stat(t, work); int(s.Uid) != os.Geteuid() || os.Geteuid() == 0 && s.Mode&0o077 != 0 {
			t.Errorf("the folder was not taken back: %o of %d", s.Mode, s.Uid)
		}
	})
}

// A folder that is a link could have been put there by an earlier run.
func TestAWritableFolderIsNoLink(t *testing.T) {
	inEach(t, promised(), func(t *testing.T, w world) {
		dir := public(t)
		elsewhere, work := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "work")
		if err := os.Mkdir(elsewhere, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, work); err != nil {
			t.Fatal(err)
		}
		a := w.attack("echo")
		a.Writable = []sandbox.Mount{{Source: work}}
		before := stat(t, elsewhere)
		r, err := w.open(t).Start(t.Context(), a.Spec)
		if err == nil { // only root gives folders away; for others the mount is what it leads to
			_, _ = r.Wait()
			if os.Geteuid() == 0 {
				t.Error("it was started")
			}
		}
		if after := stat(t, elsewhere); after.Uid != before.Uid || after.Mode != before.Mode {
			t.Error("what the link leads to was given to the program")
		}
		nothingIsLeft(t, w)
	})
}

func TestEnvironmentAndFilesOfTheWorkerAreNotInherited(t *testing.T) {
	must(t, os.Setenv("BELFRY_TOKEN", "of the worker")) // t.Setenv does not go with parallel tests
	defer func() { _ = os.Unsetenv("BELFRY_TOKEN") }()
	// As a library might: without close-on-exec.
	fd, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		w.attack("leaks").holds(t, w, 1)
		a := w.attack("env")
		a.Env = []string{"A=b"}
		a.run(t, w)
		if lines := strings.Fields(a.out.String()); len(lines) != 2 || lines[0] != "A=b" || !strings.HasPrefix(lines[1], "TMPDIR=/") {
			t.Error(a.out.String())
		}
	})
}

func stat(t *testing.T, name string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	s := *info.Sys().(*syscall.Stat_t)
	s.Atim = syscall.Timespec{}
	return &s
}
