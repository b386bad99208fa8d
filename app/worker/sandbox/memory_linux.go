package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
)

// MachineMemory returns the memory of this machine in bytes, or the least limit of a control group around this process. 0: unknown.
func MachineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	most := int64(info.Totalram) * int64(info.Unit)
	trees, err := cgroup.ReadTrees("")
	if err != nil {
		return most
	}
	for _, h := range trees {
		most = h.LeastMemory(most)
	}
	return most
}
