//go:build !unix

package sim

import "time"

var began = time.Now()

// processorTime is the time that has passed, where the system does not tell what this process has used.
func processorTime() time.Duration { return time.Since(began) }
