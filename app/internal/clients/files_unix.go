//go:build unix

package clients

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles is how many files this process may have open; 0: without a bound. The start of a program in Go has raised it as
// far as that goes.
func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}
