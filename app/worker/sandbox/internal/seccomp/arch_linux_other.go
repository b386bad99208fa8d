//go:build linux && !amd64 && !arm64

package seccomp

// Without a list for this processor the layer does not work: the filter kills
// at the first call, and so the trial fails.
const (
	// Arch is the processor whose calls a filter knows. 0: there is no list for it.
	Arch         = 0
	foreignCalls = 0
)

var deniedCalls, deniedHere, sharedCalls []uint32
