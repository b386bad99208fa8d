package sandbox

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/child"
)

// rlimits returns the limits of each process, and those to show.
//
// They replace missing control groups. RLIMIT_DATA is used instead of RLIMIT_AS,
// because runtimes reserve addresses that they never use. RLIMIT_NPROC counts the
// user's threads on the whole machine, so it is useful only with a user of the
// run's own or in a user namespace.
func rlimits(l Limits, p plan) (set []child.Rlimit, shown []Limit) {
	set = []child.Rlimit{{Resource: unix.RLIMIT_CORE}}
	add := func(resource int, value int64) {
		if value > 0 {
			set = append(set, child.Rlimit{Resource: resource, Soft: uint64(value), Hard: uint64(value)})
			shown = append(shown, Limit{Name: child.RlimitName(resource), Value: float64(value), By: "rlimit"})
		}
	}
	add(unix.RLIMIT_NOFILE, l.OpenFiles)
	add(unix.RLIMIT_FSIZE, l.FileSize)
	if l.CPUTime > 0 {
		add(unix.RLIMIT_CPU, int64(math.Ceil(l.CPUTime.Seconds())))
		set[len(set)-1].Hard++ // first SIGXCPU, which tells the reason, then SIGKILL
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
