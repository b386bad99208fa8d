package program

import (
	"runtime"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// MachineMemory returns the memory of this machine, or of the control group of this process if that is less. 0: unknown.
func MachineMemory() int64 { return sandbox.MachineMemory() }

// MachineCPU returns how many CPUs this process may use.
func MachineCPU() float64 { return float64(runtime.GOMAXPROCS(0)) }
