package process

import "testing"

// BenchmarkKillMarked measures the search for leftover processes.
func BenchmarkKillMarked(b *testing.B) {
	for b.Loop() {
		killMarked("nobody")
	}
}
