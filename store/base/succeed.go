package base

import (
	"strconv"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Success is a successful attempt, as a row of a batch. Its job ends whatever the row of the job says, so that is not read first.
type Success struct {
	JobID     int64   `json:"job_id"`
	Lease     int64   `json:"lease"`
	Output    *string `json:"output"`
	StartedIn int64   `json:"started_in"` // microseconds since the claim; 0: unknown
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal"`
	LogCut    int     `json:"log_cut"`
}

// Succeeded has the fields of a job that settling its [Success] needs.
type Succeeded struct {
	Ref        job.Ref
	Queue      string
	Trigger    schedule.Trigger
	ScheduleID int64
	ClaimedAt  int64
	Nominal    int64
	DueAt      int64
	TaskID     int64
	Attempt    int
	Limited    int64 // 1: the job was under limit keys
}

// Placeholder returns the name of the nth argument of a statement, from 1.
func Placeholder(n int) string { return "$" + strconv.Itoa(n) }

// AnySession stands for the session of any lease. A finish in a transaction of the embedding program uses it, because the program
// need not name its session.
const AnySession = ""

// JobIDs returns the jobs of results, in their order.
func JobIDs(fs []job.Finish) []int64 {
	ids := make([]int64, len(fs))
	for i := range fs {
		ids[i] = fs[i].JobID
	}
	return ids
}

// Bit returns 1 for true and 0 for false, as columns hold it.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
