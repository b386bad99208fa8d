package program

import (
	"runtime"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// MachineMemory is how much this machine has, or the control group of this process if that is less. 0: not known.
func MachineMemory() int64 { return sandbox.MachineMemory() }

// MachineCPU is how many processors this process may use.
func MachineCPU() float64 { return float64(runtime.GOMAXPROCS(0)) }
