// Command vm runs a program in a virtual machine with another kernel, and with
// this machine's files to be read. It is how the sandbox's tests see a machine
// that has control groups of version 2 alone: see run.sh.
//
// It is two programs: outside it packs itself and the kernel's modules into an
// initial file system, and starts qemu; inside it is the first process.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	run := outside
	if os.Getpid() == 1 {
		run = inside
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

// modules reach this machine's files, in an order in which each has what it needs.
var modules = []string{"virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "netfs", "fscache", "9pnet", "9pnet_virtio", "9p"}

// ended stands before the exit code on the machine's console.
const ended = "vm: the program ended with "

func outside() error {
	kernel := flag.String("kernel", "", "folder of an unpacked kernel package")
	flag.Parse()
	root, err := os.CreateTemp("", "vm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(root.Name()) }()
	if err := errors.Join(pack(root, *kernel), root.Close()); err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(*kernel, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("there is not one kernel in %s: %v %w", *kernel, images, err)
	}
	cmd := exec.Command("qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "2048", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-kernel", images[0], "-initrd", root.Name(), "-append", "console=ttyS0 quiet panic=-1 -- "+strings.Join(flag.Args(), " "),
		"-virtfs", "local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap")
	cmd.Stderr = os.Stderr
	console, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	code := 1
	for lines := bufio.NewScanner(console); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), "\r")
		if _, text, is := strings.Cut(line, ended); is {
			code, err = strconv.Atoi(text)
			continue
		}
		fmt.Println(line)
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the program ended with %d", code)
	}
	return nil
}

// pack writes the initial file system: this program, and the modules.
func pack(to io.Writer, kernel string) error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	entry(w, "init", unix.S_IFREG|0o755, self)
	for _, m := range modules {
		text, err := module(kernel, m)
		if err != nil {
			return err
		}
		entry(w, m+".ko", unix.S_IFREG|0o644, text)
	}
	for _, dir := range []string{"dev", "root"} {
		entry(w, dir, unix.S_IFDIR|0o755, nil)
	}
	entry(w, "TRAILER!!!", 0, nil)
	return w.Flush()
}

func module(kernel, name string) (text []byte, err error) {
	err = filepath.WalkDir(filepath.Join(kernel, "lib/modules"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name+".ko" {
			return err
		}
		text, err = os.ReadFile(path)
		return err
	})
	if err == nil && text == nil {
		err = fmt.Errorf("%s has no module %s", kernel, name)
	}
	return text, err
}

// entry is one of a cpio archive, in the form that the kernel reads.
func entry(w *bufio.Writer, name string, mode uint32, content []byte) {
	links := 1
	fmt.Fprintf(w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", 0, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0, name)
	const header = 110
	pad := func(n int) { _, _ = w.Write(make([]byte, (4-n%4)%4)) }
	pad(header + len(name) + 1)
	_, _ = w.Write(content)
	pad(len(content))
}

// inside starts the program that the arguments name, and switches the machine
// off when it has ended.
func inside() error {
	code := 1
	err := furnish()
	if err == nil {
		cmd := exec.Command(os.Args[1], os.Args[2:]...)
		cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp"}
		cmd.Dir = "/tmp"
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err = cmd.Run(); cmd.ProcessState != nil {
			code = cmd.ProcessState.ExitCode()
		}
	}
	fmt.Printf("vm: %v\n%s%d\n", err, ended, code)
	return unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

// furnish makes this machine's files the root, and puts what changes over them.
func furnish() error {
	for _, m := range modules {
		text, err := os.ReadFile("/" + m + ".ko")
		if err == nil {
			err = unix.InitModule(text, "")
		}
		if err != nil {
			return fmt.Errorf("module %s: %w", m, err)
		}
	}
	const root = "/root"
	type mount struct{ source, at, kind, options string }
	mounts := []mount{{"machine", "", "9p", "trans=virtio,version=9p2000.L,cache=loose,msize=262144"}}
	for _, kind := range []string{"proc", "sysfs", "devtmpfs"} {
		mounts = append(mounts, mount{kind, map[string]string{"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev"}[kind], kind, ""})
	}
	for _, dir := range []string{"/tmp", "/run", "/var/tmp", "/mnt"} {
		mounts = append(mounts, mount{"tmpfs", dir, "tmpfs", "mode=1777"})
	}
	mounts = append(mounts, mount{"cgroup2", "/sys/fs/cgroup", "cgroup2", ""})
	for _, m := range mounts {
		var flags uintptr
		if m.kind == "9p" {
			flags = unix.MS_RDONLY
		}
		if err := unix.Mount(m.source, root+m.at, m.kind, flags, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	// A program that was built outside stands in its folder for temporary files, which is now empty.
	program, err := os.ReadFile(root + os.Args[1])
	if err != nil {
		return err
	}
	if err := os.WriteFile(root+"/run/program", program, 0o755); err != nil {
		return err
	}
	os.Args[1] = "/run/program"
	if err := errors.Join(unix.Chdir(root), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), unix.Chdir("/")); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return err
	}
	release, err := os.ReadFile("/proc/version")
	fmt.Printf("vm: %s\n", bytes.TrimSpace(release))
	return err
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return errors.Join(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo), unix.Close(fd))
}
