package child

import (
	"testing"
)

// A right that an older kernel does not know is an error; the kernel does not ignore it.
func TestLandlockRequestsOnlyRightsOfItsVersion(t *testing.T) {
	t.Parallel()
	for abi, want := range map[int]struct {
		access uint64
		size   uintptr
	}{1: {0x1fff, 8}, 2: {0x3fff, 8}, 3: {0x7fff, 8}, 4: {0x7fff, 16}, 5: {0xffff, 16}, 6: {0xffff, 24}, 7: {0xffff, 24}, 99: {0xffff, 24}} {
		if handled(abi) != want.access || rulesetSize(abi) != want.size {
			t.Errorf("version %d: %#x, %d bytes", abi, handled(abi), rulesetSize(abi))
		}
	}
}
