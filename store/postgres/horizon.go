package postgres

import (
	"sync"
	"time"
)

// horizon computes the instant up to which all transactions have ended.
//
// A transaction draws its number before it reads the clock (beginSQL, adoptSQL), and numbers are drawn in order. So a
// transaction with a larger number than a sample's has a later instant than the sample. A transaction with a smaller number has
// ended if the oldest running number is not smaller than the sample's. Then every transaction with an instant before the sample
// has ended.
type horizon struct {
	mu      sync.Mutex
	samples []sample
}

// sample holds the facts that a transaction read at its begin.
type sample struct {
	begun  int64 // microseconds, read before the number was drawn
	oldest int64 // number of the oldest running transaction
	number int64 // number of this transaction
}

const (
	maxSamples = 1024
	// longOpen bounds the lag of the horizon. Transactions that stay open longer, in any database of the server, are assumed to
	// make no jobs ready. If one does, a claim that looks everywhere finds these jobs.
	longOpen = int64(300 * time.Millisecond / time.Microsecond)
)

// stable adds a sample and returns the instant.
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
		h.samples = append(h.samples[:0], h.samples[ended-1:]...) // the last of them includes the others
	}
	if len(h.samples) >= maxSamples { // all wait for one old transaction: half of them suffice
		for i := range maxSamples / 2 {
			h.samples[i] = h.samples[2*i]
		}
		h.samples = h.samples[:maxSamples/2]
	}
	h.samples = append(h.samples, s)
	return time.UnixMicro(found)
}
