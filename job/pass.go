package job

import "time"

// Fired is what one pass over the due schedules did.
type Fired struct {
	Schedules int       // schedules that were due
	Jobs      int       // jobs made
	Now       time.Time // the instant of the pass
	NextAt    time.Time // when the next schedule is due; zero: none
}

// Promoted is what one pass over the jobs for later did.
type Promoted struct {
	Jobs   int       // jobs made ready
	Now    time.Time // the instant of the pass
	NextAt time.Time // when the next one is due; zero: none
}

// Released is what one pass over dead sessions and overdue jobs did.
type Released struct {
	Sessions int  // given up
	Jobs     int  // settled as lost, or as timed out
	More     bool // there is more to do
}
