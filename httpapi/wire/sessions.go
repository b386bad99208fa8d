package wire

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// The bodies of the worker protocol. Client and server share them.
type (
	SessionClaim struct {
		Tickets []job.Ticket `json:"tickets,omitempty" doc:"Tickets that a broker delivered. Only their jobs are claimed, as far as possible; at most 100"`

		Want    map[string]int `json:"want,omitempty" doc:"Most jobs wanted per queue"`
		Ahead   map[string]int `json:"ahead,omitempty" doc:"How many of those wanted are more than the worker has free slots, and would wait in it; default: none"`
		Without []task.Kind    `json:"without,omitempty" doc:"Kinds of jobs that the worker runs and cannot begin just now"`
		Wait    core.Duration  `json:"wait,omitempty" doc:"How long to wait when there are none; more than 30s counts as 30s"`
	}
	SessionFinish struct {
		Attempts []job.Finish `json:"attempts" doc:"What came of them; at most 10000"`
	}
	SessionFinished struct {
		Attempts []job.Finished `json:"attempts" doc:"In the order of the question"`
	}
	SessionOutput struct {
		job.Ref
		task.Output
	}
	SessionStep struct {
		job.Ref
		job.NewStep
	}
	SessionLink struct {
		job.Ref
		job.Link
	}
	SessionProgress struct {
		Attempts []job.AttemptProgress `json:"attempts" doc:"At most 10000"`
	}
	SessionLog struct {
		Pieces []job.LogPiece `json:"pieces" doc:"At most 10000, of at most 64 KiB each"`
	}
)
