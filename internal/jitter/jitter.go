// Package jitter spreads waits at random, so that processes that began together part. A simulation fixes it, so that its
// runs repeat.
package jitter

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

var fixed atomic.Pointer[func(n time.Duration) time.Duration]

// N is a random time from 0 up to n, and n is not among them. It panics if n is not positive.
func N(n time.Duration) time.Duration {
	if f := fixed.Load(); f != nil {
		return (*f)(n)
	}
	return rand.N(n)
}

// Fix has draw answer in place of chance, in this process, until release is called. Only tests use it.
func Fix(draw func(n time.Duration) time.Duration) (release func()) {
	before := fixed.Swap(&draw)
	return func() { fixed.Store(before) }
}
