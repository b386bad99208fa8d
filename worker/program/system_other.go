//go:build !linux

package program

import (
	"errors"
	"syscall"
)

// Nothing of this is called where sandboxes do not work.

func selfPath(self string) string     { return self }
func childAttr() *syscall.SysProcAttr { return nil }
func hardenChild()                    {}
func limitFile(int64)                 {}
func quota(string, int64, int) error  { return errors.ErrUnsupported }
func unquota(string) error            { return nil }
func probeQuota(string) bool          { return false }
