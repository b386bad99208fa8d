//go:build !linux && !darwin && !freebsd

package blob

// freeBytes is unknown on this platform.
func freeBytes(string) (free int64, known bool) { return 0, false }

// isFull is unknown on this platform. An upload to a full disk gets a general
// error, and still leaves nothing behind.
func isFull(error) bool { return false }
