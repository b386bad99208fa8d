package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// Devices are all of /dev that a program gets.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Clone takes a file or folder, with what is mounted in it, as a mount that is
// not anywhere yet. A read-only one is sealed before any process sees it.
func (m Bind) Clone() (fd int, err error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if m.Writable {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	fd, err = unix.OpenTree(unix.AT_FDCWD, m.Source, flags)
	if err != nil {
		return -1, err
	}
	// In one step for all that is mounted below, which remounting cannot do.
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !m.Writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if !m.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// enterRoot builds the program's root and makes it this process's, and the
// init's with it. Afterwards nothing of the machine's tree can be reached.
func (b *becoming) enterRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &isolation.Fault{Step: "mount", Text: "make the tree private", Err: err}
	}
	trees, err := b.openMounts() // before a place of the tree is covered by the root
	if err != nil {
		return err
	}
	root, err := newRoot()
	if err != nil {
		return err
	}
	if err := b.furnish(root, trees); err != nil {
		return err
	}
	// The old root lands on top of the new one, and is taken off.
	for _, step := range []func() error{
		func() error { return unix.Chdir(root) },
		func() error { return unix.PivotRoot(".", ".") },
		func() error { return unix.Unmount(".", unix.MNT_DETACH) },
		func() error { return unix.Chdir("/") },
		func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
		},
	} {
		if err := step(); err != nil {
			return &isolation.Fault{Step: "mount", Text: "enter the root", Err: err}
		}
	}
	return nil
}

// openMounts is a descriptor for each mount.
func (b *becoming) openMounts() ([]int, error) {
	trees := make([]int, len(b.Mounts))
	for i, m := range b.Mounts {
		if m.File >= 0 {
			trees[i] = setupRest + b.Cgroups + m.File
			continue
		}
		fd, err := m.Clone()
		if err != nil {
			return nil, &isolation.Fault{Step: "mount", Text: m.Source, Err: err}
		}
		trees[i] = fd
	}
	return trees, nil
}

// newRoot is an empty tmpfs, mounted on whatever folder there is.
func newRoot() (string, error) {
	var failed error
	for _, place := range []string{"/tmp", "/run", "/usr"} {
		err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m,nr_inodes=4096")
		if err == nil {
			return place, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", place, err))
	}
	return "", &isolation.Fault{Step: "mount", Text: "the root", Err: failed}
}

// furnish puts everything into the root. Mount points are made while the root
// holds nothing but what this makes, so no path leads elsewhere.
func (b *becoming) furnish(root string, trees []int) error {
	at := func(p string) string { return filepath.Join(root, p) }
	for _, dir := range []string{"tmp", "proc", "dev", "etc"} {
		if err := os.Mkdir(at(dir), 0o755); err != nil {
			return &isolation.Fault{Step: "mount", Err: err}
		}
	}
	if err := unix.Mount("tmpfs", at("tmp"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, b.tmpOptions()); err != nil {
		return &isolation.Fault{Step: "mount", Text: "/tmp", Err: err}
	}
	if b.has(isolation.LayerGVisor) {
		if err := b.furnishGVisor(at); err != nil {
			return &isolation.Fault{Step: "mount", Err: err}
		}
	}
	for i, m := range b.Mounts {
		if err := mountPoint(at(m.Target), trees[i]); err != nil {
			return &isolation.Fault{Step: "mount", Text: m.Target, Err: err}
		}
	}
	for i, m := range b.Mounts {
		if err := unix.MoveMount(trees[i], "", unix.AT_FDCWD, at(m.Target), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return &isolation.Fault{Step: "mount", Text: m.Target, Err: err}
		}
	}
	if err := b.mountProc(at); err != nil {
		return &isolation.Fault{Step: "mount", Text: "/proc", Err: err}
	}
	return b.decorate(func(p string) string { return at(b.Inside + p) })
}

// mountProc mounts the table of the run's processes. Inside a container that hides parts of its own /proc a fresh one is
// forbidden. Most programs can do without.
func (b *becoming) mountProc(at func(string) string) error {
	if b.showsNetwork() && !b.has(isolation.LayerLandlock) {
		b.done.Proc = "it would show the connections of the machine, which only Landlock can hide"
		return nil
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if !b.has(isolation.LayerGVisor) { // which maps users for its processes there
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("proc", at("proc"), "proc", flags, "hidepid=2"); err != nil {
		b.done.Proc = err.Error()
		return nil
	}
	if err := hide(at); err != nil || !b.showsNetwork() {
		return err
	}
	for _, name := range facts {
		err := unix.Mount(at("proc/"+name), at("proc/"+name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// showsNetwork reports that a /proc would have the machine's network in it: each process has a folder net there, for
// ever new numbers, and no mount option leaves it out.
func (s *Setup) showsNetwork() bool {
	return s.Network && s.has(isolation.LayerNamespaces) && !s.has(isolation.LayerGVisor)
}

// facts are the files of /proc that a program with the machine's network may read. Each is mounted on itself: Landlock knows
// a file by its place in memory, where the kernel keeps what is mounted.
var facts = []string{"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"}

// factRules let a program with the machine's network read facts of /proc. The rest of its files cannot be opened. Calls that
// open nothing still work: lists, and links such as /proc/self/exe and /dev/fd/3.
func (b *becoming) factRules() (rules []Rule) {
	if !b.showsNetwork() || b.done.Proc != "" {
		return nil
	}
	for _, name := range facts {
		if path := "/proc/" + name; unix.Access(path, unix.F_OK) == nil {
			rules = append(rules, Rule{path, AccessRead})
		}
	}
	return rules
}

// hide covers what /proc tells everybody about the machine and its kernel.
func hide(at func(string) string) error {
	for _, name := range []string{"cmdline", "config.gz", "kallsyms", "keys", "key-users", "sched_debug", "timer_list"} {
		err := unix.Mount(at("dev/null"), at("proc/"+name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

func (b *becoming) tmpOptions() string {
	if b.TmpSize == 0 {
		return "mode=1777,size=0"
	}
	return fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", b.TmpSize, scratch.Entries(b.TmpSize))
}

func mountPoint(name string, tree int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(tree, &stat); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(name, 0o755)
	}
	return os.WriteFile(name, nil, 0o644)
}

// decorate writes the few files that most programs look for, unless they were
// given.
func (b *becoming) decorate(at func(string) string) error {
	for name, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/dev/shm": "../tmp", // one limit for both
	} {
		if err := os.Symlink(target, at(name)); err != nil {
			return &isolation.Fault{Step: "mount", Err: err}
		}
	}
	uid, gid := InsideUID, InsideUID
	if b.UID >= 0 {
		uid, gid = b.UID, b.GID
	}
	for name, text := range map[string]string{
		"/etc/passwd": fmt.Sprintf("belfry:x:%d:%d::/tmp:/bin/sh\n", uid, gid),
		"/etc/group":  fmt.Sprintf("belfry:x:%d:\n", gid),
		"/etc/hosts":  "127.0.0.1 localhost belfry\n::1 localhost\n",
	} {
		if b.given(name) {
			continue
		}
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			return &isolation.Fault{Step: "mount", Err: err}
		}
	}
	return nil
}

func (b *becoming) given(name string) bool {
	for _, m := range b.Mounts {
		if isolation.Inside(b.Inside+name, m.Target) {
			return true
		}
	}
	return false
}
