package base

import (
	"strconv"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// Success is an attempt that went well, as a batch carries it. Its job ends
// whatever its row says, so the row need not be read before.
type Success struct {
	JobID     int64   `json:"job_id"`
	Lease     int64   `json:"lease"`
	Output    *string `json:"output"`
	StartedIn int64   `json:"started_in"` // microseconds since the claim; 0: unknown
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal"`
	LogCut    int     `json:"log_cut"`
}

// Succeeded is what settling a [Success] needs to know of the job.
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
	Limited    int64 // 1: it was under keys of limits
}

func Placeholder(n int) string { return "$" + strconv.Itoa(n) }

// AnySession holds each lease: of a finish in a transaction of the program that
// has the store, which need not say who it is.
const AnySession = ""

func JobIDs(fs []job.Finish) []int64 {
	ids := make([]int64, len(fs))
	for i := range fs {
		ids[i] = fs[i].JobID
	}
	return ids
}

func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
