// Package lease keeps the time until which a session may act, and ends the work
// at that time. [Lease] belongs to one session; each renewal extends it, by the
// monotonic clock. Its first step cancels attempts and its second kills them, so
// that nothing runs when another worker may have the job.
package lease
