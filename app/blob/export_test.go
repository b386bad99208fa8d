package blob

import "time"

// Hurry makes a folder wait for a client no longer than this.
func (f *Folder) Hurry(d time.Duration) { f.pace.Patience = d }

// Busy takes all places for uploads.
func (f *Folder) Busy() {
	for range maxComing {
		f.coming <- struct{}{}
	}
}

// SweepAt sweeps if it is time to.
func (f *Folder) SweepAt(now time.Time) { f.sweepSometimes(now) }

// MakeKey makes a key, as a node does that found none.
func (f *Folder) MakeKey() error { return f.makeKey() }

// Abandoned is the age from which files are swept.
const Abandoned = abandoned

// Hurry makes a bucket ask its service no longer than this.
func (b *Bucket) Hurry(d time.Duration) { b.within = d }

// MaxSpools is how many uses a spool has at once.
const MaxSpools = maxSpools
