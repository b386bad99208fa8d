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

// Devices are the only files of /dev that a program gets.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Clone clones a file or folder, with its submounts, as a detached mount. A
// read-only mount is sealed before any process sees it.
func (m Bind) Clone() (fd int, err error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if m.Writable {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	fd, err = unix.OpenTree(unix.AT_FDCWD, m.Source, flags)
	if err != nil {
		return -1, err
	}
	// Applies to all submounts in one step, which a remount cannot do.
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

// enterRoot builds the program's root, and makes it the root of this process and
// of the init. Afterwards no path of the machine can be reached.
func (b *setupState) enterRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &isolation.Fault{Step: isolation.StepMount, Text: "make the tree private", Err: err}
	}
	trees, err := b.openMounts() // before the new root hides a part of the tree
	if err != nil {
		return err
	}
	root, err := newRoot()
	if err != nil {
		return err
	}
	if err := b.fillRoot(root, trees); err != nil {
		return err
	}
	// The old root is mounted over the new one, and then unmounted.
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
			return &isolation.Fault{Step: isolation.StepMount, Text: "enter the root", Err: err}
		}
	}
	return nil
}

// openMounts returns a descriptor for each mount.
func (b *setupState) openMounts() ([]int, error) {
	trees := make([]int, len(b.Mounts))
	for i, m := range b.Mounts {
		if m.File >= 0 {
			trees[i] = setupRest + b.Cgroups + m.File
			continue
		}
		fd, err := m.Clone()
		if err != nil {
			return nil, &isolation.Fault{Step: isolation.StepMount, Text: m.Source, Err: err}
		}
		trees[i] = fd
	}
	return trees, nil
}

// newRoot mounts an empty tmpfs on an existing folder, and returns its path.
func newRoot() (string, error) {
	var failed error
	for _, place := range []string{"/tmp", "/run", "/usr"} {
		err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m,nr_inodes=4096")
		if err == nil {
			return place, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", place, err))
	}
	return "", &isolation.Fault{Step: isolation.StepMount, Text: "the root", Err: failed}
}

// fillRoot fills the root. Mount points are created while the root contains only
// files of this function, so that no path leads elsewhere.
func (b *setupState) fillRoot(root string, trees []int) error {
	at := func(p string) string { return filepath.Join(root, p) }
	for _, dir := range []string{"tmp", "proc", "dev", "etc"} {
		if err := os.Mkdir(at(dir), 0o755); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Err: err}
		}
	}
	if err := unix.Mount("tmpfs", at("tmp"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, b.tmpOptions()); err != nil {
		return &isolation.Fault{Step: isolation.StepMount, Text: "/tmp", Err: err}
	}
	if b.has(isolation.LayerGVisor) {
		if err := b.fillGVisorRoot(at); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Err: err}
		}
	}
	for i, m := range b.Mounts {
		if err := mountPoint(at(m.Target), trees[i]); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Text: m.Target, Err: err}
		}
	}
	for i, m := range b.Mounts {
		if err := unix.MoveMount(trees[i], "", unix.AT_FDCWD, at(m.Target), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Text: m.Target, Err: err}
		}
	}
	if err := b.mountProc(at); err != nil {
		return &isolation.Fault{Step: isolation.StepMount, Text: "/proc", Err: err}
	}
	return b.writeCommonFiles(func(p string) string { return at(b.Inside + p) })
}

// mountProc mounts /proc with the run's processes. A container that hides parts of its own /proc forbids a fresh one. Most
// programs can do without.
func (b *setupState) mountProc(at func(string) string) error {
	if b.showsNetwork() && !b.has(isolation.LayerLandlock) {
		b.done.Proc = "it would show the connections of the machine, which only Landlock can hide"
		return nil
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if !b.has(isolation.LayerGVisor) { // gVisor maps the users of its processes in /proc
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

// showsNetwork reports whether /proc would show the machine's network: each process has a folder net, its path cannot be
// known in advance, and no mount option hides it.
func (s *Setup) showsNetwork() bool {
	return s.Network && s.has(isolation.LayerNamespaces) && !s.has(isolation.LayerGVisor)
}

// facts are the files of /proc that a program with the machine's network may read. Each is mounted on itself: Landlock
// identifies a file by its inode in memory, which a mount keeps alive.
var facts = []string{"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"}

// factRules allows a program with the machine's network to read facts of /proc. Other files there cannot be opened. Calls
// that open no file still work: lists, and links such as /proc/self/exe and /dev/fd/3.
func (b *setupState) factRules() (rules []Rule) {
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

// hide hides the public files of /proc about the machine and its kernel.
func hide(at func(string) string) error {
	for _, name := range []string{"cmdline", "config.gz", "kallsyms", "keys", "key-users", "sched_debug", "timer_list"} {
		err := unix.Mount(at("dev/null"), at("proc/"+name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

func (b *setupState) tmpOptions() string {
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

// writeCommonFiles writes the few files that most programs read, unless the run mounts
// its own.
func (b *setupState) writeCommonFiles(at func(string) string) error {
	for name, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/dev/shm": "../tmp", // one limit for both
	} {
		if err := os.Symlink(target, at(name)); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Err: err}
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
		if b.isMounted(name) {
			continue
		}
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			return &isolation.Fault{Step: isolation.StepMount, Err: err}
		}
	}
	return nil
}

func (b *setupState) isMounted(name string) bool {
	for _, m := range b.Mounts {
		if isolation.Inside(b.Inside+name, m.Target) {
			return true
		}
	}
	return false
}
