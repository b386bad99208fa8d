package child

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func RlimitName(resource int) string {
	switch resource {
	case unix.RLIMIT_CORE:
		return "core"
	case unix.RLIMIT_NOFILE:
		return "open files"
	case unix.RLIMIT_FSIZE:
		return "file size"
	case unix.RLIMIT_CPU:
		return "cpu time"
	case unix.RLIMIT_NPROC:
		return "pids"
	case unix.RLIMIT_DATA:
		return "memory"
	}
	return fmt.Sprint(resource)
}
