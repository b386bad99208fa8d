//go:build !linux

package process

import "github.com/belfry-run/belfry/worker"

// Init does nothing here: only Linux has what watches over commands.
func Init() {}

func watchOver(*worker.Run, string) (started func(int), ended func() (late bool), err error) {
	return func(int) {}, func() bool { return false }, nil
}
