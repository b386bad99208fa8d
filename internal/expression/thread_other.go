//go:build !linux

package expression

import "time"

// threadTime knows no processor time of a thread here.
func threadTime() (used time.Duration, known bool) { return 0, false }
