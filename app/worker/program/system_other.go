//go:build !linux

package program

import "syscall"

// These functions are not called on platforms without sandboxes.

func selfPath(self string) string     { return self }
func childAttr() *syscall.SysProcAttr { return nil }
func hardenChild()                    {}
func limitFile(int64)                 {}
func probeBound(string) bool          { return false }
