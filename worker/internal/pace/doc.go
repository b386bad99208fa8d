// Package pace estimates how fast the attempts of a lane end, and so how many jobs to claim ahead.
package pace
