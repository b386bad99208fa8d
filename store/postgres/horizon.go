package postgres

import (
	"sync"
	"time"
)

// horizon knows up to which instant all transactions have ended.
//
// A transaction draws its number before it reads the clock (beginSQL,
// adoptSQL), and numbers are drawn in order. So one with a larger number than a
// sample's has a later instant than the sample; and one with a smaller number
// has ended once the oldest that runs is not smaller than the sample's. Then
// every transaction with an instant before the sample has ended.
type horizon struct {
	mu      sync.Mutex
	samples []sample
}

// sample is what a transaction saw when it began.
type sample struct {
	begun  int64 // microseconds, read before its number was drawn
	oldest int64 // number of the oldest transaction that ran
	number int64 // its own
}

const (
	maxSamples = 1024
	// longOpen is how far behind the horizon may fall. Beyond it, transactions
	// that stay open, in any database of the server, are taken to make no jobs
	// ready; if one does, a claim that looks everywhere finds them.
	longOpen = int64(300 * time.Millisecond / time.Microsecond)
)

// stable adds a sample and answers the instant.
func (h *horizon) stable(s sample, now int64) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := now - longOpen
	ended := 0
	for i, old := range h.samples {
		if old.number <= s.oldest {
			ended = i + 1
			found = max(found, old.begun)
		}
	}
	if ended > 1 {
		h.samples = append(h.samples[:0], h.samples[ended-1:]...) // the last of them says all that the others did
	}
	if len(h.samples) >= maxSamples { // they hang on one old transaction: fewer will do
		for i := range maxSamples / 2 {
			h.samples[i] = h.samples[2*i]
		}
		h.samples = h.samples[:maxSamples/2]
	}
	h.samples = append(h.samples, s)
	return time.UnixMicro(found)
}
