// Package time gains a clock that can be set: see stepped_test.go.
package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// stepped points at the seconds by which the wall clock of this process is
// off, in a file that the tests write while the process runs.
var stepped = mapStep()

func mapStep() *int64 {
	path, ok := syscall.Getenv("BELFRY_E2E_CLOCK")
	if !ok {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("open " + path + ": " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map " + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}

func step() int64 { return atomic.LoadInt64(stepped) }
