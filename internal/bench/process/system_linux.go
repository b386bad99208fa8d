//go:build linux

package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the kernel's unit of CPU time, the same on every Linux that Go supports.
const tick = 10 * time.Millisecond

// endWithUs makes the kernel kill a child when the thread that started it ends; see [Launch]. A process group of its own
// shields the child from a Ctrl-C at the terminal.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// OwnCPU returns the CPU time of this process so far.
func OwnCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// TreeCPU returns the CPU time so far of a process and its children, including ended ones.
func TreeCPU(pid int) (time.Duration, error) {
	own, _, err := processCPU(pid)
	if err != nil {
		return 0, err
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, entry := range all {
		other, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A child that ends during the reading counts in the next reading, with its parent.
		if cpu, parent, err := processCPU(other); err == nil && parent == pid {
			own += cpu
		}
	}
	return own, nil
}

// processCPU is the CPU time of one process and of its children that ended.
func processCPU(pid int) (cpu time.Duration, parent int, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may have any characters
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("process %d has only %d fields", pid, len(fields))
	}
	if parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return 0, 0, err
	}
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		cpu += time.Duration(n) * tick
	}
	return cpu, parent, nil
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (int64, error) {
	kib, err := procField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:")
	return kib << 10, err
}

// WrittenBytes returns the number of bytes that this process has passed to the kernel to write.
func WrittenBytes() (int64, error) { return procField("/proc/self/io", "wchar:") }

func procField(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("no %s in %s", name, file)
}

// Machine describes the machine.
func Machine() string {
	facts := []string{fmt.Sprintf("%d CPUs", runtime.NumCPU())}
	if cpu, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(cpu)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				facts = append(facts, strings.TrimSpace(value))
				break
			}
		}
	}
	if kib, err := procField("/proc/meminfo", "MemTotal:"); err == nil {
		facts = append(facts, fmt.Sprintf("%d GiB RAM", (kib+1<<19)>>20))
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		facts = append(facts, "Linux "+strings.TrimSpace(string(kernel)))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		facts = append(facts, "load before the run "+strings.Join(strings.Fields(string(load))[:3], " "))
	}
	return strings.Join(append(facts, runtime.Version()), ", ")
}

// FileSystem returns the name of the file system of dir.
func FileSystem(dir string) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "an unknown file system"
	}
	names := map[int64]string{0xEF53: "ext4", 0x01021994: "tmpfs", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x794C7630: "overlayfs", 0x2FC12FC1: "zfs"}
	if name, ok := names[int64(fs.Type)]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", fs.Type)
}

// FreeBytes returns the free space of a folder.
func FreeBytes(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("ask how much is free in %s: %w", dir, err)
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}
