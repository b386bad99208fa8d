package sandbox

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineMemory is how many bytes this machine has, or the least that a control group around this process allows. 0: not known.
func MachineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	most := int64(info.Totalram) * int64(info.Unit)
	trees, err := readHierarchies("")
	if err != nil {
		return most
	}
	for _, h := range trees {
		most = h.leastMemory(most)
	}
	return most
}

// leastMemory is the least limit of this process's group and those above it.
func (h hierarchy) leastMemory(most int64) int64 {
	file := "memory.max"
	if h.version == 1 {
		file = "memory.limit_in_bytes"
	}
	for dir := h.own; ; dir = filepath.Dir(dir) {
		if text := words(filepath.Join(dir, file)); len(text) == 1 { // "max" is no number
			if n, err := strconv.ParseInt(text[0], 10, 64); err == nil && n > 0 && n < most {
				most = n
			}
		}
		if dir == h.root || !strings.HasPrefix(dir, h.root) || dir == "/" {
			return most
		}
	}
}
