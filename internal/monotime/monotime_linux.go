// Package monotime has times that two processes of one machine mean alike, however the clock is set. On Linux they are those
// of CLOCK_BOOTTIME or CLOCK_MONOTONIC; see [Now].
package monotime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the machine's clock that cannot be set, in nanoseconds.
func Now() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// At is a time by [Now]. Its own clock is read first: a process that
// is stopped between the two readings gives a time that is too early, never one that is too late.
func At(t time.Time) int64 {
	now := Now()
	return now + int64(time.Until(t))
}
