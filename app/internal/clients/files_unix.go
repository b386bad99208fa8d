//go:build unix

package clients

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles returns how many files this process may have open; 0: no limit. The Go runtime has already raised the soft limit to
// the hard limit.
func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}
