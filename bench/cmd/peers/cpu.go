//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/bench/load"
)

// tick is the unit of CPU times in /proc, the same on every Linux.
const tick = time.Second / 100

// treeCPU returns the CPU time of a process and all its descendants, including ended
// ones that were waited for.
func treeCPU(root int) (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	parent, used := map[int]int{}, map[int]time.Duration{}
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended meanwhile
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			continue
		}
		parent[pid], used[pid] = parseStat(raw)
	}
	if _, ok := parent[root]; !ok {
		return 0, fmt.Errorf("process %d has ended", root)
	}
	var sum time.Duration
	for pid := range parent {
		for at := pid; at > 0; at = parent[at] {
			if at == root {
				sum += used[pid]
				break
			}
		}
	}
	return sum, nil
}

// parseStat reads a line of proc(5): the parent, and the times of the process
// and of its children.
func parseStat(raw []byte) (parent int, used time.Duration) {
	_, rest, ok := bytes.Cut(raw[bytes.LastIndexByte(raw, ')')+1:], []byte(" ")) // the name may have any characters, and ends here
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 15 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.Atoi(f)
		used += time.Duration(n) * tick
	}
	return parent, used
}

// clientCPU returns the CPU time of the process with the caller and the worker.
func clientCPU(d load.Driver) (time.Duration, error) {
	if r, ok := d.(*load.Remote); ok {
		return treeCPU(r.PID())
	}
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
