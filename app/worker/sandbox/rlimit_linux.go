package sandbox

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

func rlimitName(resource int) string {
	switch resource {
	case unix.RLIMIT_CORE:
		return "core"
	case unix.RLIMIT_NOFILE:
		return "open files"
	case unix.RLIMIT_FSIZE:
		return "file size"
	case unix.RLIMIT_CPU:
		return "cpu time"
	case unix.RLIMIT_NPROC:
		return "pids"
	case unix.RLIMIT_DATA:
		return "memory"
	}
	return fmt.Sprint(resource)
}

// rlimits are the limits of each process, and what of them is to be shown.
//
// They stand in for the control groups that are missing. RLIMIT_DATA and not
// RLIMIT_AS, because runtimes reserve addresses that they never use.
// RLIMIT_NPROC counts the user's threads on the whole machine, so it means
// something only for a user of the run's own or in a namespace of users.
func rlimits(l Limits, p plan) (set []rlimit, shown []Limit) {
	set = []rlimit{{Resource: unix.RLIMIT_CORE}}
	add := func(resource int, value int64) {
		if value > 0 {
			set = append(set, rlimit{resource, uint64(value), uint64(value)})
			shown = append(shown, Limit{rlimitName(resource), float64(value), "rlimit"})
		}
	}
	add(unix.RLIMIT_NOFILE, l.OpenFiles)
	add(unix.RLIMIT_FSIZE, l.FileSize)
	if l.CPUTime > 0 {
		add(unix.RLIMIT_CPU, int64(math.Ceil(l.CPUTime.Seconds())))
		set[len(set)-1].Hard++ // first SIGXCPU, which says why, then SIGKILL
	}
	if !p.has(LayerMemory) {
		add(unix.RLIMIT_DATA, l.Memory)
	}
	switch {
	case p.has(LayerPIDs) || l.PIDs < 0:
	case p.has(LayerUID) || p.has(LayerUserNS):
		add(unix.RLIMIT_NPROC, l.PIDs)
	default:
		shown = append(shown, Limit{Name: "pids", Value: float64(l.PIDs)})
	}
	if !p.has(LayerCPU) && l.CPU > 0 {
		shown = append(shown, Limit{Name: "cpu", Value: l.CPU})
	}
	return set, shown
}
