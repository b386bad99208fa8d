//go:build !linux

package scratch

import (
	"errors"
	"io"
	"os"
)

// Bound refuses.
func Bound(string, int64, int) error { return errors.ErrUnsupported }

// Unbound has nothing to do.
func Unbound(string) error { return nil }

// Watch is never over.
func Watch(done <-chan struct{}, _ string, _ int64, _ int) bool {
	<-done
	return false
}

// Remove removes a folder.
func Remove(dir string) error { return os.RemoveAll(dir) }

// Outputs refuses.
func Outputs(string, OutputLimits, func(string, int64, io.Reader) error) (Left, error) {
	return Left{}, errors.New("sandbox: refused: there is no output without programs")
}
