//go:build !linux

package process

import "github.com/belfry-run/belfry/worker"

// Init does nothing: the watch over commands needs Linux.
func Init() {}

func watchOver(*worker.Run, string) (started func(int), ended func() (late bool), err error) {
	return func(int) {}, func() bool { return false }, nil
}
