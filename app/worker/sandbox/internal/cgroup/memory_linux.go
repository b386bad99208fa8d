package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

// LeastMemory returns the least memory limit of this process's group and its parents.
func (h Tree) LeastMemory(most int64) int64 {
	file := "memory.max"
	if h.Version == 1 {
		file = "memory.limit_in_bytes"
	}
	for dir := h.Own; ; dir = filepath.Dir(dir) {
		if text := words(filepath.Join(dir, file)); len(text) == 1 { // "max" is not a number
			if n, err := strconv.ParseInt(text[0], 10, 64); err == nil && n > 0 && n < most {
				most = n
			}
		}
		if dir == h.root || !strings.HasPrefix(dir, h.root) || dir == "/" {
			return most
		}
	}
}
