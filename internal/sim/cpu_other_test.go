//go:build !unix

package sim

import "time"

var began = time.Now()

// processorTime returns the elapsed time, on systems that do not report the CPU time of a process.
func processorTime() time.Duration { return time.Since(began) }
