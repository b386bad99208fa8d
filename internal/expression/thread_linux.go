package expression

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the thread that calls it.
func threadTime() (used time.Duration, known bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}
