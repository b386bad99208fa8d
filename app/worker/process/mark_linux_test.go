package process

import "testing"

// BenchmarkKillMarked is what looking for left-over processes costs.
func BenchmarkKillMarked(b *testing.B) {
	for b.Loop() {
		killMarked("nobody")
	}
}
