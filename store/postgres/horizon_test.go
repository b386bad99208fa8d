package postgres

import "testing"

// The horizon never passes the begin of a transaction that runs, and comes
// close to it.
func TestHorizon(t *testing.T) {
	var h horizon
	const second = 1_000_000
	for i, c := range []struct {
		sample
		now, wanted int64
	}{
		{sample{begun: 1000 * second, oldest: 10, number: 10}, 1000 * second, 1000*second - longOpen}, // nothing known
		{sample{begun: 1001 * second, oldest: 11, number: 11}, 1001 * second, 1001*second - longOpen},
		{sample{begun: 1002 * second, oldest: 12, number: 14}, 1002 * second, 1002*second - longOpen},            // 12 runs
		{sample{begun: 1002*second + 10, oldest: 12, number: 15}, 1002*second + 10, 1002*second + 10 - longOpen}, // and runs on
		{sample{begun: 1002*second + 20, oldest: 14, number: 16}, 1002*second + 20, 1002 * second},               // 12 has ended, 14 not
		{sample{begun: 1002*second + 30, oldest: 17, number: 17}, 1002*second + 30, 1002*second + 20},
	} {
		if got := h.stable(c.sample, c.now).UnixMicro(); got != c.wanted {
			t.Errorf("sample %d: %d, want %d", i, got, c.wanted)
		}
	}
}

func TestHorizonKeepsFewSamplesBehindAnOldTransaction(t *testing.T) {
	var h horizon
	for i := range int64(10 * maxSamples) {
		h.stable(sample{begun: i, oldest: 1, number: 2 + i}, i)
	}
	if n := len(h.samples); n > maxSamples {
		t.Errorf("%d samples", n)
	}
}
