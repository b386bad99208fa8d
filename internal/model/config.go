package model

// Config is a small world: who is in it, and what may go wrong.
type Config struct {
	Workers  int
	Jobs     int   // asked for at the start; the first in order come first
	Attempts uint8 // that may fail before a job is exhausted
	Limit    int   // jobs of the queue that may run at once; 0: no limit

	// Split parts a claim into its look, by an old snapshot, and its act.
	Split bool
	// Slow calls travel: they or their answers may be late, be lost, and
	// survive their sender. Others take no time.
	SlowClaim, SlowRenew, SlowFinish bool
	// TTL is how many ticks a session lives without being renewed. 0: sessions
	// are there from the start, for ever.
	TTL int8
	// Loose workers have no fence: they may say anything at any time about any
	// lease that they ever had. That is all that the store can hear, and no
	// world in which jobs do not run twice.
	Loose bool
	// Alike takes states for the same in which two workers have changed
	// places. Fewer states, and traces that are hard to read.
	Alike bool

	// Ahead is a worker of one slot that claims jobs before it has it free for
	// them, and begins them later.
	Ahead bool

	Crash   bool // workers die and begin anew
	Stall   bool // workers freeze and go on
	Close   bool // workers leave
	Fails   int  // crashes and freezes in all; 0: no limit
	Errors  bool // attempts fail
	Lose    bool // leases are settled as lost at any time
	Repeat  bool // finishes arrive twice
	Cancel  bool // people cancel jobs
	Ask     bool // people ask for a job anew when it has ended
	Pause   bool // people pause and resume the schedule
	Plan    int  // nominal times of a schedule, a tick apart; at most Nominals
	Loop    bool // a schedule whose next time counts from the finish
	Overlap Overlap

	// Without switches off one of the guards that the protocol rests on, or
	// more. The checker must then find what it is there for.
	Without Guard
}

// Overlap is what a schedule does when the run before has not ended.
type Overlap uint8

// The overlaps that are modelled.
const (
	Skip Overlap = iota
	BufferOne
)

// Sizes of arrays, and ticks.
const (
	MaxJobs     = 3
	MaxWorkers  = 2
	MaxSessions = 3
	Nominals    = 3

	// claimWait is how many ticks after it was asked an answer to a claim is
	// still accepted, and settledAfter how many ticks after a lease was given
	// that answer has arrived or never will. A renewal may arrive at any time.
	claimWait    = 1
	settledAfter = 2
)

// Guard is something that the protocol rests on.
type Guard uint32

// The guards, by what the store or the worker does because of each.
const (
	UniqueLease         Guard = 1 << iota // a job that was leased since the look is left
	NumberAfterLock                       // a claim draws its number when it has locked the rows
	ClaimChecksAgain                      // what changed since the snapshot is judged as it is now
	FinishMatchesNumber                   // a finish is for one lease, not for the holder of the job
	FinishMatchesLocked                   // and finds it when the row is locked, not before
	CountFailures                         // a job that failed too often is not tried again
	ReleaseChecksAgain                    // a session that renewed meanwhile is not given up
	ClaimLocksSession                     // a session that has ended leases nothing
	ReleaseLooksAgain                     // release finds every lease of sessions that ended, however late it came
	HandBackLate                          // a claim has not settled before its answer must have arrived
	CancelLocksFirst                      // whether a job runs is looked up when its row is locked
	LimitLocksQueue                       // claims of a queue with a limit wait for each other
	WorkerFences                          // a worker that cannot renew stops before its session ends
	FenceFromSending                      // and counts from when it sent the renewal
	FenceAtWaking                         // and looks at the clock first when it was frozen
	LateClaimDropped                      // an answer to a claim that comes too late is not started
	SettledBefore                         // a lease is handed back if its claim had settled before the worker said what it has
	UniqueNominal                         // a nominal time has one row of occurrences
	FireLocksSchedule                     // a schedule that another node fired meanwhile is judged as it is now
	FireIsOne                             // the occurrence, its job and the next time are written together
	PauseWithdraws                        // a pause ends the runs that wait
	PauseLocksFirst                       // whether a run waits is looked up when its row is locked
	PauseMoves                            // a pause moves the high-water mark on
	ResumeSeesRuns                        // a resume leaves the next run to the one that is under way
	FollowLocksFirst                      // what follows from an end is judged when the schedule is locked
	FollowIsOne                           // and written together with the end
	FinalNeedsSlot                        // a job whose loss would be final is only claimed for a free slot
	AheadIsForgiven                       // a job that was claimed ahead and is not known to have begun is handed back, not lost
	ForgivenOnce                          // and that only if no worker had it before
	FreshAboveMark                        // a next time is above every nominal time that was decided
	lastGuard
)

var guardNames = [...]string{
	"UniqueLease", "NumberAfterLock", "ClaimChecksAgain", "FinishMatchesNumber", "FinishMatchesLocked", "CountFailures", "ReleaseChecksAgain",
	"ClaimLocksSession", "ReleaseLooksAgain", "HandBackLate", "CancelLocksFirst", "LimitLocksQueue", "WorkerFences", "FenceFromSending",
	"FenceAtWaking", "LateClaimDropped", "SettledBefore", "UniqueNominal", "FireLocksSchedule", "FireIsOne", "PauseWithdraws", "PauseLocksFirst",
	"PauseMoves", "ResumeSeesRuns", "FollowLocksFirst", "FollowIsOne",
	"FinalNeedsSlot", "AheadIsForgiven", "ForgivenOnce", "FreshAboveMark",
}

func (g Guard) String() string {
	out := ""
	for i := range guardNames {
		if g&(1<<i) != 0 {
			out += "+" + guardNames[i]
		}
	}
	if out == "" {
		return "nothing"
	}
	return out[1:]
}

// has reports that a guard is in force.
func (c Config) has(g Guard) bool { return c.Without&g == 0 }
