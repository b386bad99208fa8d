//go:build !linux

package memory

// Use does nothing: only Linux has a folder in memory.
func Use() {}
