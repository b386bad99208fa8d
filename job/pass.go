package job

import "time"

// Fired is the result of one pass over the due schedules.
type Fired struct {
	Schedules int       // due schedules
	Jobs      int       // created jobs
	Now       time.Time // time of the pass
	NextAt    time.Time // when the next schedule is due; zero: none
}

// Promoted is the result of one pass over delayed jobs.
type Promoted struct {
	Jobs   int       // jobs made ready
	Now    time.Time // time of the pass
	NextAt time.Time // when the next job is due; zero: none

	// Rest is how long the next pass should wait, however much is due, so that heavy work leaves time for other writers.
	Rest time.Duration
}

// Released is the result of one pass over lost sessions and overdue jobs.
type Released struct {
	Sessions int  // given up
	Jobs     int  // settled as lost, or as timed out
	More     bool // there is more to do
}
