// Package pace estimates how fast the attempts of a consumer end, and from that
// how many jobs to claim ahead. [Pace] and [Pause] belong to one consumer, which
// guards them with its own lock.
package pace
