package wire

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// The bodies of the routes for attempts. Client and server share them.
type (
	BeatNumber struct {
		Seq int64 `json:"seq" minimum:"0" doc:"Larger than that of any heartbeat before"`
	}
	AttemptLog struct {
		Pieces []job.LogPiece `json:"pieces" doc:"Of this attempt, whatever they say; at most 10000, of at most 64 KiB each"`
	}
	OutputPlace struct {
		Link *task.SignedRequest `json:"link,omitempty" doc:"Where to send the bytes; missing when they are there already"`
	}
)
