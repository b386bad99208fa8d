package model

// Config describes a small world: its workers and jobs, and the possible failures.
type Config struct {
	Workers  int
	Jobs     int   // requested at the start; the first in order come first
	Attempts uint8 // failures until a job is exhausted
	Limit    int   // most running jobs of the queue; 0: no limit

	// Split divides a claim into its read, from an old snapshot, and its act.
	Split bool
	// Slow calls take time: calls and answers may be late or lost, and may outlive
	// their sender. Other calls take no time.
	SlowClaim, SlowRenew, SlowFinish bool
	// TTL is how many ticks a session lives without a renewal. 0: sessions exist
	// from the start, forever.
	TTL int8
	// Loose workers have no fence: they may report anything at any time about any
	// lease that they ever had. This covers all calls that the store can receive.
	// In such a world jobs may run twice.
	Loose bool
	// Alike treats states as equal that differ only by an exchange of two workers.
	// That gives fewer states, and traces that are hard to read.
	Alike bool

	// Ahead gives a worker one slot. It claims jobs before the slot is free, and
	// begins them later.
	Ahead bool

	Crash   bool // workers crash and restart
	Stall   bool // workers freeze and continue
	Close   bool // workers close their sessions
	Fails   int  // most crashes and freezes in total; 0: no limit
	Errors  bool // attempts fail
	Lose    bool // leases are settled as lost at any time
	Repeat  bool // finishes arrive twice
	Cancel  bool // people cancel jobs
	Ask     bool // people request a job again after its end
	Pause   bool // people pause and resume the schedule
	Plan    int  // nominal times of a schedule, a tick apart; at most Nominals
	Loop    bool // a schedule whose next time counts from the finish
	Overlap Overlap

	// Without switches off one or more of the guards of the protocol. The checker
	// must then find the violation that each prevents.
	Without Guard
}

// Overlap is the policy of a schedule if the previous run has not ended.
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

	// claimWait is how many ticks after the request the answer to a claim is still
	// accepted. settledAfter is how many ticks after the grant of a lease that
	// answer has arrived, or never will. A renewal may arrive at any time.
	claimWait    = 1
	settledAfter = 2
)

// Guard is a rule on which the protocol depends.
type Guard uint32

// The guards, each with the behaviour of the store or worker that it requires.
const (
	UniqueLease         Guard = 1 << iota // a claim skips a job that was leased after the read
	NumberAfterLock                       // a claim draws its number after it has locked the rows
	ClaimChecksAgain                      // rows that changed after the snapshot are judged as they are now
	FinishMatchesNumber                   // a finish applies to one lease, not to the holder of the job
	FinishMatchesLocked                   // a finish finds its lease when the row is locked, not before
	CountFailures                         // a job that failed too often is not retried
	ReleaseChecksAgain                    // release keeps a session that renewed meanwhile
	ClaimLocksSession                     // an ended session leases nothing
	ReleaseLooksAgain                     // release finds every lease of ended sessions, however late it came
	HandBackLate                          // a claim has not settled before its answer must have arrived
	CancelLocksFirst                      // a cancel reads whether a job runs when its row is locked
	LimitLocksQueue                       // claims from a queue with a limit wait for each other
	WorkerFences                          // a worker that cannot renew stops before its session ends
	FenceFromSending                      // a worker counts the session from the sending of the renewal
	FenceAtWaking                         // a worker that was frozen reads the clock first
	LateClaimDropped                      // jobs of a claim whose answer comes too late are not started
	SettledBefore                         // a lease is handed back only if its claim had settled before the worker listed its holdings
	UniqueNominal                         // a nominal time has one row of occurrences
	FireLocksSchedule                     // a schedule that another node fired meanwhile is judged by its current row
	FireIsOne                             // the occurrence, its job and the next time are written together
	PauseWithdraws                        // a pause ends waiting runs
	PauseLocksFirst                       // a pause reads whether a run waits when its row is locked
	PauseMoves                            // a pause advances the high-water mark
	ResumeSeesRuns                        // a resume leaves the next run to the run under way
	FollowLocksFirst                      // the consequences of an end are judged when the schedule is locked
	FollowIsOne                           // the consequences of an end are written together with it
	FinalNeedsSlot                        // a job whose loss would be final is claimed only for a free slot
	AheadIsForgiven                       // a job that was claimed ahead and not reported as begun is handed back, not lost
	ForgivenOnce                          // a job is handed back so only if no worker had it before
	FreshAboveMark                        // a next time is after every decided nominal time
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

// has reports whether a guard is in force.
func (c Config) has(g Guard) bool { return c.Without&g == 0 }
